"""GET, PUT and PATCH of the scale subresource."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from fleet.devcluster.causes import Cause
from fleet.devcluster.changes.patches import APPLY_PATCH, check_type, patch_of
from fleet.devcluster.changes.preconditions import check_name
from fleet.devcluster.changes.remarks import remarks_on
from fleet.devcluster.changes.strategy import read_body
from fleet.devcluster.changes.wanted import read_wanted
from fleet.devcluster.changes.writeoptions import manager_of
from fleet.devcluster.changes.writes import Writer
from fleet.devcluster.fields.applying import Application, Conflicts
from fleet.devcluster.fields.ledger import Entries, Holder, Ledger
from fleet.devcluster.fields.scaleowners import SCALE_VERSION, Paths, owners_of_object, owners_of_scale
from fleet.devcluster.fields.sets import MEMBER, FieldSet
from fleet.devcluster.fields.updating import owners_after
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.kinds.scale import ScaleFault, ScalePaths, scale_of, scaled
from fleet.devcluster.kinds.structure import Structure
from fleet.devcluster.recording.requestlog import RequestLog
from fleet.devcluster.storage.storage import Stored, Table, object_key
from fleet.devcluster.wire import patchstatuses, statuses
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import Request, Target
from shards.objects import Object, Resource

_NUMBER: Final = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
"""Not as published: a number that is 0 is left out, and nobody owns it."""
SCALE: Final = ResourceType(
    Resource("autoscaling", "v1", "scales"),
    "Scale",
    fields=frozenset(("kind", "apiVersion", "metadata", "spec", "status")),
    structure=Structure({"type": "object", "properties": {"spec": _NUMBER, "status": _NUMBER}}, {}),
)
_UNOWNED: Final[FieldSet] = {"f:status": MEMBER}
_UNSET = -(2**31)


@dataclass(frozen=True, slots=True)
class _Scaled:
    """The object whose scale is asked for. scale: as it is. entries: of its managedFields. places: see scaleowners."""

    kind: ResourceType
    paths: ScalePaths
    stored: Stored
    body: Object
    scale: Object
    entries: Entries | None
    places: Paths

    @property
    def owners(self) -> Ledger:
        """Of the number."""
        return owners_of_scale(self.entries, self.places)


@dataclass(frozen=True, slots=True)
class _Change:
    """What a request makes of a scale. owners: of its number, afterwards."""

    scale: Object
    owners: Ledger

    @property
    def replicas(self) -> int:
        found: int = (self.scale.get("spec") or {}).get("replicas", 0)
        return found


@dataclass(slots=True)
class Scaling:
    """Answers requests for the scale of an object."""

    _writer: Writer
    _log: RequestLog

    def answer(self, request: Request, target: Target, kind: ResourceType, paths: ScalePaths, table: Table) -> Answer:
        """Raises StatusError."""
        if request.method == "GET":
            stored = _stored(target, kind, table)
            self._log.answered("get", request, target, 200, stored)
            return Answer(200, msgspec.json.encode(_shown(kind, paths, kind.decoded(stored))))
        if request.method == "PUT":
            scale = self._read(request, kind)
            check_name(scale["metadata"], target.name)
            subject = self._subject(target, kind, paths, table)
            change = self._updated(request, subject, scale)
        else:
            check_type(kind, request.content_type)
            subject = self._subject(target, kind, paths, table)
            if request.content_type == APPLY_PATCH:
                change = self._applied(request, target, subject)
            else:
                patch = patch_of(SCALE, request)
                scale = patch.read(patch.change(subject.scale))
                check_name(scale["metadata"], target.name)
                change = self._updated(request, subject, scale)
        _check(kind, paths, target.name, change.replicas)
        return self._written(request, target, table, subject, change)

    def _subject(self, target: Target, kind: ResourceType, paths: ScalePaths, table: Table) -> _Scaled:
        stored = _stored(target, kind, table)
        body = kind.decoded(stored)
        entries = stored.decode()["metadata"].get("managedFields")
        scale = _shown(kind, paths, body, strict=False)
        return _Scaled(kind, paths, stored, body, scale, entries, self._places(kind, paths))

    def _updated(self, request: Request, subject: _Scaled, scale: Object) -> _Change:
        new = {**scale, "spec": dict(scale.get("spec") or {})}
        if not new["spec"].get("replicas"):
            new["spec"].pop("replicas", None)
        manager = self._writer.stamped(manager_of(request, "scale"), SCALE)
        return _Change(scale, owners_after(subject.owners, subject.scale, new, manager, _structure, _UNOWNED))

    def _applied(self, request: Request, target: Target, subject: _Scaled) -> _Change:
        manager = self._writer.stamped(manager_of(request, "scale", apply=True), SCALE)
        wanted = read_wanted(SCALE, request.body or b"", validation=request.field_validation, warnings=request.warnings)
        owners, old = subject.owners, subject.scale
        if subject.kind.custom and Holder.of(manager) in owners:
            raise patchstatuses.unconverted_scale(wanted["metadata"])
        try:
            application = Application(old, wanted, manager, _structure, _UNOWNED, SCALE.structure)
            scale, after = application.result(owners, force=request.flag("force"))
        except Conflicts as conflicts:
            raise patchstatuses.apply_conflict(conflicts.each()) from None
        if subject.kind.custom and scale["spec"] != old["spec"]:
            raise patchstatuses.unconverted_scale(wanted["metadata"])
        check_name(scale["metadata"], target.name)
        return _Change(scale, after)

    def _written(self, request: Request, target: Target, table: Table, subject: _Scaled, change: _Change) -> Answer:
        kind, paths, stored = subject.kind, subject.paths, subject.stored
        body = scaled(paths, subject.body, change.replicas)
        version = change.scale["metadata"].get("resourceVersion") or str(stored.version)
        body["metadata"] = {**body["metadata"], "resourceVersion": version}
        entries = owners_of_object(subject.entries, change.owners, subject.places, kind.resource.api_version)
        outcome = self._writer.scale(kind, table, stored, body, entries, dry_run=request.dry_run)
        request.warnings += remarks_on(kind, outcome.stored, outcome.replaced)
        if not request.dry_run:
            verb = "update" if request.method == "PUT" else "patch"
            self._log.answered(verb, request, target, 200, outcome.stored, removed=outcome.removed)
        return Answer(200, msgspec.json.encode(_shown(kind, paths, kind.decoded(outcome.stored), strict=False)))

    def _places(self, kind: ResourceType, paths: ScalePaths) -> Paths:
        """Where the number is, in each version of the resource."""

        def place(api_version: str) -> tuple[str, ...] | None:
            if api_version == kind.resource.api_version:
                return paths.spec
            group, _, version = api_version.rpartition("/")
            other = self._writer.types(Resource(group, version, kind.resource.plural))
            if other is None or not kind.custom:
                return None if other is None else paths.spec
            return () if other.scale is None else other.scale.spec

        return place

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


def _stored(target: Target, kind: ResourceType, table: Table) -> Stored:
    stored = table.objects.get(object_key(target.namespace, target.name))
    if stored is None:
        raise statuses.not_found(kind, target.name)
    return stored


def _shown(kind: ResourceType, paths: ScalePaths, body: Object, *, strict: bool = True) -> Object:
    """strict: a custom resource without the field has no scale."""
    try:
        scale = scale_of(paths, body)
    except ScaleFault as fault:
        raise statuses.internal_error(str(fault)) from None
    if kind.custom and "replicas" not in scale["spec"] and _is_absent(paths, body):
        if strict:
            raise statuses.internal_error(f'the spec replicas field "{paths.spec_text}" does not exist')
        scale["spec"]["replicas"] = _UNSET
    return scale


def _structure(api_version: str) -> Structure | None:
    return SCALE.structure if api_version == SCALE_VERSION else None


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
