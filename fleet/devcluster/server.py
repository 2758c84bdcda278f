"""The API server: a request in, an answer or a stream out. HTTP and in-process clients share this one door."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping

import msgspec

from fleet.devcluster import statuses
from fleet.devcluster.answers import Answer
from fleet.devcluster.definitions import Definitions
from fleet.devcluster.discovery import discovery_answer
from fleet.devcluster.faults import AckLost, Faults
from fleet.devcluster.garbage import Garbage
from fleet.devcluster.reading import Reading
from fleet.devcluster.recorder import Recorder
from fleet.devcluster.requestlog import RequestLog
from fleet.devcluster.requests import Query, Request, Target
from fleet.devcluster.resources import NAMESPACES, Registry, ResourceType
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.storage import Storage
from fleet.devcluster.strategy import read_body
from fleet.devcluster.watching import Watching
from fleet.devcluster.writes import Writer
from fleet.devcluster.writing import Writing
from shards.errors import ConfigError
from shards.objects import Object, Resource


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
        definitions = Definitions(self.registry, self.storage, self.watching)
        self._definitions = definitions
        self._reading = Reading(self.settings, self.storage, self.watching, self._log)
        self._writing = Writing(self.settings, self.storage, self.writer, definitions, self._log)
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
            await self._reading.reach(request)
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
                return self._reading.watch(request, target, table)
            return self._reading.get(request, target, table)
        if request.method == "PUT":
            return self._writing.update(request, target, table)
        if request.method == "PATCH":
            return self._writing.patch(request, target, table)
        if request.method == "DELETE" and not target.subresource:
            return self._writing.delete(request, target, table)
        if request.method == "POST" and kind.custom:
            # The real server's handler of custom resources does not look at the name in the path of a create.
            return self._writing.create(request, target, table)
        raise statuses.method_not_allowed(kind, request.method)

    def _collection(self, request: Request, target: Target, kind: ResourceType) -> Answer:
        table = self.storage.table(kind)
        if request.method == "GET":
            if request.flag("watch"):
                return self._reading.watch(request, target, table)
            return self._reading.list(request, target, table)
        if request.method == "POST" and (target.namespace or not kind.namespaced):
            return self._writing.create(request, target, table)
        if request.method == "DELETE" and (target.namespace or not kind.namespaced):
            return self._writing.delete_collection(request, target, table)
        if kind.custom and request.method in ("PUT", "PATCH"):
            raise statuses.bad_request("name must be provided")
        raise statuses.method_not_allowed(kind, request.method)

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
