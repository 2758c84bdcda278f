"""The API server: a request in, an answer or a stream out. HTTP and in-process clients share this one door."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from fleet.devcluster import patches, statuses
from fleet.devcluster.answers import Answer
from fleet.devcluster.definitions import Definitions
from fleet.devcluster.deletion import delete_options
from fleet.devcluster.discovery import discovery_answer
from fleet.devcluster.faults import AckLost, Faults
from fleet.devcluster.garbage import Garbage
from fleet.devcluster.listoptions import check_list_options, filter_of, version_of
from fleet.devcluster.lists import encoded_list, list_answer
from fleet.devcluster.recorder import Recorder
from fleet.devcluster.requestlog import RequestLog
from fleet.devcluster.requests import Query, Request, Target
from fleet.devcluster.resources import NAMESPACES, Registry, ResourceType
from fleet.devcluster.storage import Storage, Table, object_key
from fleet.devcluster.strategy import read_body
from fleet.devcluster.watching import Watching
from fleet.devcluster.writes import Outcome, Writer
from shards.errors import ConfigError
from shards.objects import Object, Resource

FRESHNESS_SECONDS = 3.0
"""How long a read waits for a resourceVersion that the server has not reached (the real server's figure)."""


@dataclass(slots=True, frozen=True)
class ServerSettings:
    """sharded_list_and_watch: the feature gate of KEP-5866; off: the parameter is ignored silently, as there.

    bookmark_seconds: between two bookmarks of one watch. watch_seconds: shortest life of a watch without
    timeoutSeconds; the longest is twice that. history_limit: commits per resource that a watch can go back.
    """

    sharded_list_and_watch: bool = True
    bookmark_seconds: float = 60.0
    watch_seconds: float = 1800.0
    history_limit: int = 10_000


class ApiServer:
    """One server with its storage. Used on one event loop."""

    def __init__(
        self,
        settings: ServerSettings | None = None,
        *,
        rng: random.Random | None = None,
        wall_seconds: Callable[[], float] = time.time,
        recorder: Recorder | None = None,
    ) -> None:
        """rng: for UIDs, generated names and the life of watches. wall_seconds: since 1970, for timestamps."""
        self.settings = settings or ServerSettings()
        self.rng = rng or random.Random()
        self.registry = Registry()
        self.storage = Storage(history_limit=self.settings.history_limit)
        self.recorder = recorder
        self.faults = Faults()
        self.watching = Watching(
            self.storage,
            self.faults,
            self.rng,
            bookmark_seconds=self.settings.bookmark_seconds,
            watch_seconds=self.settings.watch_seconds,
        )
        namespaces = self.storage.table(NAMESPACES)
        self.writer = Writer(self.storage, namespaces, self.rng, wall_seconds)
        self._log = RequestLog(recorder)
        self._definitions = Definitions(self.registry, self.storage, self.watching)
        self.garbage = Garbage(self.storage, self.registry, self.writer, self._log)
        for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
            self.writer.create(namespaces, "", {"metadata": {"name": name}})
        for each in self.registry:
            self.storage.table(each)

    # ------------------------------------------------------------------ the door

    async def handle(
        self,
        method: str,
        path: str,
        query: Query = (),
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Answers one request. headers: names in lower case. Raises AckLost where a fault swallows the answer."""
        request = Request(method, path, query, body, headers or {})
        try:
            await self._reach(request)
            answer = self._route(request)
        except statuses.StatusError as error:
            answer = Answer.failed(error)
            self._log.failed(request, error)
        if self.faults.lost_acks and self.faults.loses(request):
            if answer.stream is not None:
                answer.stream.close()
            raise AckLost(f"{method} {path}")
        return answer

    async def collect_garbage(self) -> int:
        """Deletes what lost all its owners, empties namespaces that end, and answers how many objects went."""
        return self.garbage.collect()

    def close(self) -> None:
        """Ends all watches."""
        self.watching.end()

    # ------------------------------------------------------------------ routing

    async def _reach(self, request: Request) -> None:
        """Waits for the version that a read asks for. Raises StatusError 504."""
        if request.method != "GET" or not request.query:
            return
        if request.flag("watch") and not request.flag("sendInitialEvents"):
            return
        wanted = version_of(request)
        if wanted <= self.storage.version:
            return
        deadline = asyncio.get_running_loop().time() + FRESHNESS_SECONDS
        while wanted > self.storage.version:
            if asyncio.get_running_loop().time() >= deadline:
                if request.flag("watch"):
                    return
                raise statuses.too_large(wanted, self.storage.version)
            await asyncio.sleep(0.05)

    def _route(self, request: Request) -> Answer:
        target = Target.parse(request.path)
        if target is None:
            return Answer(*discovery_answer(self.registry, request.path))
        kind = self.registry.get(target.resource)
        if kind is None:
            if self.registry.has_built_in(target.resource.group):
                raise statuses.no_such_resource()
            raise statuses.no_such_path()
        if bool(target.namespace) and not kind.namespaced:
            raise statuses.no_such_resource()
        if target.subresource not in ("", "status") or (target.subresource and not kind.status):
            raise statuses.no_such_subresource(kind, target.name)
        if target.name:
            if kind.namespaced and not target.namespace:
                raise statuses.no_such_resource()
            return self._one(request, target, kind)
        return self._collection(request, target, kind)

    def _one(self, request: Request, target: Target, kind: ResourceType) -> Answer:
        table = self.storage.table(kind)
        if request.method == "GET":
            if request.flag("watch"):
                return self._watch(request, target, table)
            return self._get(request, target, table)
        if request.method == "PUT":
            return self._update(request, target, table)
        if request.method == "PATCH":
            return self._patch(request, target, table)
        if request.method == "DELETE" and not target.subresource:
            return self._delete(request, target, table)
        if request.method == "POST" and kind.custom:
            # The real server's handler of custom resources does not look at the name in the path of a create.
            return self._create(request, target, table)
        raise statuses.method_not_allowed(kind, request.method)

    def _collection(self, request: Request, target: Target, kind: ResourceType) -> Answer:
        table = self.storage.table(kind)
        if request.method == "GET":
            if request.flag("watch"):
                return self._watch(request, target, table)
            return self._list(request, target, table)
        if request.method == "POST" and (target.namespace or not kind.namespaced):
            return self._create(request, target, table)
        if request.method == "DELETE" and (target.namespace or not kind.namespaced):
            return self._delete_collection(request, target, table)
        if kind.custom and request.method in ("PUT", "PATCH"):
            raise statuses.bad_request("name must be provided")
        raise statuses.method_not_allowed(kind, request.method)

    # ------------------------------------------------------------------ reads

    def _get(self, request: Request, target: Target, table: Table) -> Answer:
        stored = table.objects.get(object_key(target.namespace, target.name))
        if stored is None:
            raise statuses.not_found(table.kind, target.name)
        self._log.answered("get", request, target, 200, stored)
        return Answer(200, stored.raw)

    def _list(self, request: Request, target: Target, table: Table) -> Answer:
        check_list_options(request)
        wanted = filter_of(table.kind, target.namespace, request, sharded=self.settings.sharded_list_and_watch)
        body = list_answer(table, self.storage, wanted, request)
        self._log.answered("list", request, target, 200)
        return Answer(200, body)

    def _watch(self, request: Request, target: Target, table: Table) -> Answer:
        wanted = filter_of(table.kind, target.namespace, request, sharded=self.settings.sharded_list_and_watch)
        if target.name:
            wanted = wanted.named(target.name)
        stream = self.watching.open(request, table, wanted)
        self._log.answered("watch", request, target, 200)
        return Answer(200, stream=stream)

    # ------------------------------------------------------------------ writes

    def _create(self, request: Request, target: Target, table: Table) -> Answer:
        body = read_body(table.kind, request.body)
        outcome = self.writer.create(table, target.namespace, body, dry_run=request.dry_run)
        return self._written("create", request, target, table, outcome)

    def _update(self, request: Request, target: Target, table: Table) -> Answer:
        body = read_body(table.kind, request.body)
        outcome = self.writer.update(
            table, target.namespace, target.name, body, target.subresource, dry_run=request.dry_run
        )
        return self._written("update", request, target, table, outcome)

    def _patch(self, request: Request, target: Target, table: Table) -> Answer:
        change = patches.change_of(table.kind, request.content_type, request.body)
        outcome = self.writer.patch(
            table, target.namespace, target.name, change, target.subresource, dry_run=request.dry_run
        )
        return self._written("patch", request, target, table, outcome)

    def _delete(self, request: Request, target: Target, table: Table) -> Answer:
        options, dry_run = delete_options(request)
        outcome = self.writer.delete(table, target.namespace, target.name, options, dry_run=dry_run)
        if not dry_run:
            self._log.answered("delete", request, target, 200, outcome.stored, removed=outcome.removed)
            self._definitions.follow(table.kind, outcome)
        if not outcome.removed or table.kind.returns_deleted:
            return Answer(200, outcome.stored.raw)
        return Answer.deleted(table.kind, outcome.stored)

    def _delete_collection(self, request: Request, target: Target, table: Table) -> Answer:
        options, dry_run = delete_options(request)
        wanted = filter_of(table.kind, target.namespace, request, sharded=self.settings.sharded_list_and_watch)
        chosen = [each for each in table.scan(wanted.prefix) if wanted.admits(each)]
        version = self.storage.version
        for stored in chosen:
            outcome = self.writer.delete(table, stored.meta.namespace, stored.meta.name, options, dry_run=dry_run)
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

    # ------------------------------------------------------------------ for tests and tools

    def seed(self, resource: Resource, body: Object) -> Object:
        """Stores an object without a request: not recorded as one. Raises StatusError, ConfigError."""
        kind = self.registry.get(resource)
        if kind is None:
            raise ConfigError("resource", f"{resource} is not served; create its CustomResourceDefinition first")
        table = self.storage.table(kind)
        parsed = read_body(kind, msgspec.json.encode({"kind": kind.kind, "apiVersion": resource.api_version, **body}))
        outcome = self.writer.create(table, parsed["metadata"].get("namespace", ""), parsed)
        self._definitions.follow(kind, outcome)
        return outcome.stored.decode()
