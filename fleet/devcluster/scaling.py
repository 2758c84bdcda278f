"""GET, PUT and PATCH of the scale subresource."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from fleet.devcluster import statuses
from fleet.devcluster.answers import Answer
from fleet.devcluster.causes import Cause
from fleet.devcluster.fields.applying import Conflicts
from fleet.devcluster.fields.ledger import Holding
from fleet.devcluster.fields.manager import Manager
from fleet.devcluster.fields.sets import MEMBER, FieldSet
from fleet.devcluster.fields.wanted import read_wanted
from fleet.devcluster.outcome import Outcome
from fleet.devcluster.patches import APPLY_PATCH, check_type, patch_of
from fleet.devcluster.preconditions import check_name
from fleet.devcluster.remarks import remarks
from fleet.devcluster.requestlog import RequestLog
from fleet.devcluster.requests import Request, Target
from fleet.devcluster.resources import ResourceType
from fleet.devcluster.scale import ScaleFault, ScalePaths, scale_of, scaled
from fleet.devcluster.storage import Stored, Table, object_key
from fleet.devcluster.strategy import read_body
from fleet.devcluster.writeoptions import manager_of
from fleet.devcluster.writes import Writer
from shards.objects import Object, Resource

SCALE: Final = ResourceType(
    Resource("autoscaling", "v1", "scales"),
    "Scale",
    fields=frozenset(("kind", "apiVersion", "metadata", "spec", "status")),
)
_NUMBER: Final[FieldSet] = {"f:spec": {"f:replicas": MEMBER}}
_UNSET = -(2**31)


@dataclass(slots=True)
class Scaling:
    """Answers requests for the scale of an object."""

    _writer: Writer
    _log: RequestLog

    def answer(self, request: Request, target: Target, kind: ResourceType, paths: ScalePaths, table: Table) -> Answer:
        """Raises StatusError."""
        if request.method == "GET":
            stored = self._stored(target, kind, table)
            self._log.answered("get", request, target, 200, stored)
            return Answer(200, msgspec.json.encode(self._shown(kind, paths, stored)))
        if request.content_type == APPLY_PATCH and request.method == "PATCH":
            check_type(kind, request.content_type)
            return self._applied(request, target, kind, paths, table)
        if request.method == "PUT":
            scale = self._read(request, kind)
            check_name(scale["metadata"], target.name)
            stored = self._stored(target, kind, table)
        else:
            check_type(kind, request.content_type)
            stored = self._stored(target, kind, table)
            patch = patch_of(SCALE, request)
            scale = patch.read(patch.change(self._shown(kind, paths, stored, strict=False)))
            check_name(scale["metadata"], target.name)
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        _check(kind, paths, target.name, replicas)
        return self._written(request, target, kind, paths, table, stored, scale, replicas)

    def _written(
        self,
        request: Request,
        target: Target,
        kind: ResourceType,
        paths: ScalePaths,
        table: Table,
        stored: Stored,
        scale: Object,
        replicas: int,
    ) -> Answer:
        body = scaled(paths, kind.decoded(stored), replicas)
        version = scale["metadata"].get("resourceVersion") or str(stored.version)
        body["metadata"] = {**body["metadata"], "resourceVersion": version}
        outcome = self._writer.update(
            table,
            target.namespace,
            target.name,
            body,
            "scale",
            dry_run=request.dry_run,
            manager=manager_of(request, "scale"),
            kind=kind,
        )
        return self._answered(request, target, kind, paths, table, outcome)

    def _applied(self, request: Request, target: Target, kind: ResourceType, paths: ScalePaths, table: Table) -> Answer:
        """An apply of a scale is an apply of its number to the object."""
        manager = manager_of(request, "scale", apply=True)
        scale = read_wanted(SCALE, request.body or b"", validation=request.field_validation, warnings=request.warnings)
        stored = self._stored(target, kind, table)
        check_name(scale["metadata"], target.name)
        metadata = {"name": target.name, "namespace": target.namespace}
        if version := scale["metadata"].get("resourceVersion"):
            metadata["resourceVersion"] = version
        wanted: Object = {"apiVersion": kind.resource.api_version, "kind": kind.kind, "metadata": metadata}
        replicas = (scale.get("spec") or {}).get("replicas")
        if replicas is not None:
            wanted = scaled(paths, wanted, replicas)
        outcome = self._tried(request, table, target, kind, wanted, manager, dry_run=True)
        # A conflict is told before a number that is wrong.
        shown = self._shown(kind, paths, outcome.stored, strict=False)
        if kind.custom and shown["spec"] != self._shown(kind, paths, stored, strict=False)["spec"]:
            raise statuses.unconverted_scale(scale["metadata"])
        _check(kind, paths, target.name, shown["spec"].get("replicas", 0))
        if not request.dry_run:
            outcome = self._tried(request, table, target, kind, wanted, manager, dry_run=False)
        return self._answered(request, target, kind, paths, table, outcome)

    def _tried(
        self,
        request: Request,
        table: Table,
        target: Target,
        kind: ResourceType,
        wanted: Object,
        manager: Manager,
        *,
        dry_run: bool,
    ) -> Outcome:
        try:
            return self._writer.apply(
                table,
                target.namespace,
                target.name,
                wanted,
                "scale",
                force=request.flag("force"),
                dry_run=dry_run,
                manager=manager,
                kind=kind,
            )
        except Conflicts as conflicts:
            through = {
                holder: Holding(_NUMBER, SCALE.resource.api_version, held.time)
                for holder, held in conflicts.fields.items()
            }
            raise statuses.apply_conflict(Conflicts(through).each()) from None

    def _answered(
        self, request: Request, target: Target, kind: ResourceType, paths: ScalePaths, table: Table, outcome: Outcome
    ) -> Answer:
        request.warnings += remarks(kind, table, outcome, dry_run=request.dry_run)
        if not request.dry_run:
            verb = "update" if request.method == "PUT" else "patch"
            self._log.answered(verb, request, target, 200, outcome.stored, removed=outcome.removed)
        return Answer(200, msgspec.json.encode(self._shown(kind, paths, outcome.stored, strict=False)))

    @staticmethod
    def _stored(target: Target, kind: ResourceType, table: Table) -> Stored:
        stored = table.objects.get(object_key(target.namespace, target.name))
        if stored is None:
            raise statuses.not_found(kind, target.name)
        return stored

    @staticmethod
    def _read(request: Request, kind: ResourceType) -> Object:
        try:
            return read_body(
                SCALE,
                request.body,
                content_type=request.content_type,
                validation=request.field_validation,
                warnings=request.warnings,
            )
        except statuses.StatusError as error:
            if kind.custom and error.code == 400:
                why = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
                raise statuses.bad_request(why) from None
            raise

    @staticmethod
    def _shown(kind: ResourceType, paths: ScalePaths, stored: Stored, *, strict: bool = True) -> Object:
        """strict: a custom resource without the field has no scale."""
        body = kind.decoded(stored)
        try:
            scale = scale_of(paths, body)
        except ScaleFault as fault:
            raise statuses.internal_error(str(fault)) from None
        if kind.custom and "replicas" not in scale["spec"] and _is_absent(paths, body):
            if strict:
                raise statuses.internal_error(f'the spec replicas field "{paths.spec_text}" does not exist')
            scale["spec"]["replicas"] = _UNSET
        return scale


def _is_absent(paths: ScalePaths, body: Object) -> bool:
    found: object = body
    for name in paths.spec:
        found = found.get(name) if isinstance(found, dict) else None
    return found is None


def _check(kind: ResourceType, paths: ScalePaths, name: str, replicas: int) -> None:
    if replicas == _UNSET:
        raise statuses.bad_request(f'the spec replicas field "{paths.spec_text}" cannot be empty')
    if replicas < 0 and not kind.custom:
        why = f"Invalid value: {replicas}: must be greater than or equal to 0"
        raise statuses.invalid(SCALE, name, [Cause("FieldValueInvalid", why, "spec.replicas")])
