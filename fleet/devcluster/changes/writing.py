"""POST, PUT, PATCH and DELETE: from a request to a write and its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fleet.devcluster.changes.deleteoptions import delete_options
from fleet.devcluster.changes.patches import APPLY_PATCH, check_type, patch_of
from fleet.devcluster.changes.remarks import remarks_on
from fleet.devcluster.changes.strategy import read_body
from fleet.devcluster.changes.wanted import read_wanted
from fleet.devcluster.changes.writeoptions import manager_of
from fleet.devcluster.changes.writes import Writer
from fleet.devcluster.fields.applying import Conflicts
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.reads.continuation import Continuation
from fleet.devcluster.reads.listoptions import filter_of, version_of
from fleet.devcluster.reads.lists import encoded_list
from fleet.devcluster.recording.requestlog import RequestLog
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.storage.outcome import Outcome
from fleet.devcluster.storage.storage import Storage, Table
from fleet.devcluster.wire import patchstatuses
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import Request, Target
from shards.objects import Object


@dataclass(slots=True)
class Writing:
    """Answers writes. kind: of the request's version, where that is not the one that is stored.

    _follow: called with every write that was not only tried, so that what depends on the object can follow.
    """

    settings: ServerSettings
    _storage: Storage
    _writer: Writer
    _follow: Callable[[ResourceType, Outcome], None]
    _log: RequestLog

    def create(self, request: Request, target: Target, table: Table, kind: ResourceType | None = None) -> Answer:
        kind = kind or table.kind
        manager = manager_of(request)
        body = self._body(kind, request)
        outcome = self._writer.create(
            table, target.namespace, body, dry_run=request.dry_run, manager=manager, kind=kind
        )
        return self._written("create", request, target, table, outcome, kind)

    def update(self, request: Request, target: Target, table: Table, kind: ResourceType | None = None) -> Answer:
        kind = kind or table.kind
        manager = manager_of(request, target.subresource)
        body = self._body(kind, request)
        outcome = self._writer.update(
            table,
            target.namespace,
            target.name,
            body,
            target.subresource,
            dry_run=request.dry_run,
            manager=manager,
            kind=kind,
        )
        return self._written("update", request, target, table, outcome, kind)

    def patch(self, request: Request, target: Target, table: Table, kind: ResourceType | None = None) -> Answer:
        kind = kind or table.kind
        content_type = request.content_type
        check_type(kind, content_type)
        if content_type == APPLY_PATCH:
            return self._apply(request, target, table, kind)
        manager = manager_of(request, target.subresource)
        patch = patch_of(kind, request)
        outcome = self._writer.patch(
            table,
            target.namespace,
            target.name,
            patch.change,
            target.subresource,
            read=patch.read,
            dry_run=request.dry_run,
            manager=manager,
            kind=kind,
        )
        return self._written("patch", request, target, table, outcome, kind)

    def _apply(self, request: Request, target: Target, table: Table, kind: ResourceType) -> Answer:
        manager = manager_of(request, target.subresource, apply=True)
        wanted = read_wanted(kind, request.body or b"", validation=request.field_validation, warnings=request.warnings)
        try:
            outcome = self._writer.apply(
                table,
                target.namespace,
                target.name,
                wanted,
                target.subresource,
                force=request.flag("force"),
                dry_run=request.dry_run,
                manager=manager,
                kind=kind,
            )
        except Conflicts as conflicts:
            raise patchstatuses.apply_conflict(conflicts.each()) from None
        return self._written("patch", request, target, table, outcome, kind)

    def delete(self, request: Request, target: Target, table: Table, kind: ResourceType | None = None) -> Answer:
        kind = kind or table.kind
        options, dry_run = delete_options(request)
        outcome = self._writer.delete(table, target.namespace, target.name, options, dry_run=dry_run, asked=kind)
        status = 202 if options.orphan_dependents is False and not outcome.removed else 200
        if not dry_run:
            self._log.answered("delete", request, target, status, outcome.stored, removed=outcome.removed)
            self._follow(table.kind, outcome)
        if not outcome.removed or kind.returns_deleted:
            return Answer(status, _shown(kind, table, outcome))
        return Answer.deleted(kind, outcome.stored.meta)

    def delete_collection(
        self, request: Request, target: Target, table: Table, kind: ResourceType | None = None
    ) -> Answer:
        kind = kind or table.kind
        wanted = filter_of(kind, target.namespace, request, sharded=self.settings.sharded_list_and_watch)
        options, dry_run = delete_options(request, collection=True)
        version_of(request)
        if token := request.option("continue"):
            Continuation.decode(token)
        chosen = [each for each in table.scan(wanted.prefix) if wanted.admits(each)]
        version = self._storage.version
        for stored in chosen:
            outcome = self._writer.delete(table, stored.meta.namespace, stored.meta.name, options, dry_run=dry_run)
            if not dry_run:
                self._log.answered("deletecollection", request, target, 200, outcome.stored, removed=outcome.removed)
                self._follow(table.kind, outcome)
        return Answer(200, encoded_list(kind, chosen, {"resourceVersion": str(version)}, stored_as=table.kind))

    @staticmethod
    def _body(kind: ResourceType, request: Request) -> Object:
        return read_body(
            kind,
            request.body,
            content_type=request.content_type,
            validation=request.field_validation,
            warnings=request.warnings,
        )

    def _written(
        self, verb: str, request: Request, target: Target, table: Table, outcome: Outcome, kind: ResourceType
    ) -> Answer:
        status = 201 if outcome.created else 200
        request.warnings += remarks_on(kind, outcome.stored, outcome.replaced)
        if not request.dry_run:
            self._log.answered(verb, request, target, status, outcome.stored, removed=outcome.removed)
            self._follow(table.kind, outcome)
        return Answer(status, _shown(kind, table, outcome))


def _shown(kind: ResourceType, table: Table, outcome: Outcome) -> bytes:
    """The object in the version of the request."""
    return outcome.stored.raw if kind.resource == table.kind.resource else kind.rendered(outcome.stored)
