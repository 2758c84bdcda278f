"""POST, PUT, PATCH and DELETE: from a request to a write and its answer."""

from __future__ import annotations

from dataclasses import dataclass

from fleet.devcluster import patches
from fleet.devcluster.answers import Answer
from fleet.devcluster.definitions import Definitions
from fleet.devcluster.deletion import delete_options
from fleet.devcluster.listoptions import filter_of
from fleet.devcluster.lists import encoded_list
from fleet.devcluster.requestlog import RequestLog
from fleet.devcluster.requests import Request, Target
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.storage import Storage, Table
from fleet.devcluster.strategy import read_body
from fleet.devcluster.writes import Outcome, Writer


@dataclass(slots=True)
class Writing:
    """Answers writes."""

    settings: ServerSettings
    _storage: Storage
    _writer: Writer
    _definitions: Definitions
    _log: RequestLog

    def create(self, request: Request, target: Target, table: Table) -> Answer:
        body = read_body(table.kind, request.body)
        outcome = self._writer.create(table, target.namespace, body, dry_run=request.dry_run)
        return self._written("create", request, target, table, outcome)

    def update(self, request: Request, target: Target, table: Table) -> Answer:
        body = read_body(table.kind, request.body)
        outcome = self._writer.update(
            table, target.namespace, target.name, body, target.subresource, dry_run=request.dry_run
        )
        return self._written("update", request, target, table, outcome)

    def patch(self, request: Request, target: Target, table: Table) -> Answer:
        change = patches.change_of(table.kind, request.content_type, request.body)
        outcome = self._writer.patch(
            table, target.namespace, target.name, change, target.subresource, dry_run=request.dry_run
        )
        return self._written("patch", request, target, table, outcome)

    def delete(self, request: Request, target: Target, table: Table) -> Answer:
        options, dry_run = delete_options(request)
        outcome = self._writer.delete(table, target.namespace, target.name, options, dry_run=dry_run)
        if not dry_run:
            self._log.answered("delete", request, target, 200, outcome.stored, removed=outcome.removed)
            self._definitions.follow(table.kind, outcome)
        if not outcome.removed or table.kind.returns_deleted:
            return Answer(200, outcome.stored.raw)
        return Answer.deleted(table.kind, outcome.stored)

    def delete_collection(self, request: Request, target: Target, table: Table) -> Answer:
        options, dry_run = delete_options(request)
        wanted = filter_of(table.kind, target.namespace, request, sharded=self.settings.sharded_list_and_watch)
        chosen = [each for each in table.scan(wanted.prefix) if wanted.admits(each)]
        version = self._storage.version
        for stored in chosen:
            outcome = self._writer.delete(table, stored.meta.namespace, stored.meta.name, options, dry_run=dry_run)
            if not dry_run:
                self._log.answered("deletecollection", request, target, 200, outcome.stored, removed=outcome.removed)
                self._definitions.follow(table.kind, outcome)
        return Answer(200, encoded_list(table.kind, chosen, {"resourceVersion": str(version)}))

    def _written(self, verb: str, request: Request, target: Target, table: Table, outcome: Outcome) -> Answer:
        status = 201 if outcome.created else 200
        if not request.dry_run:
            self._log.answered(verb, request, target, status, outcome.stored, removed=outcome.removed)
            self._definitions.follow(table.kind, outcome)
        return Answer(status, outcome.stored.raw)
