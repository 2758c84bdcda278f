"""The API server: a request in, an answer or a stream out. HTTP and in-process clients share this one door."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Mapping

import msgspec

from fleet.devcluster import statuses
from fleet.devcluster.access.accounts import DefaultAccounts
from fleet.devcluster.access.bootstrap import default_roles
from fleet.devcluster.access.guard import Guard
from fleet.devcluster.access.rbac import GROUP as RBAC_GROUP
from fleet.devcluster.answers import Answer
from fleet.devcluster.audit import audit_for
from fleet.devcluster.compaction import compact_for_ever
from fleet.devcluster.defaultobjects import default_objects
from fleet.devcluster.definitions import Definitions
from fleet.devcluster.faults import Faults
from fleet.devcluster.faults.witness import witness_for
from fleet.devcluster.fields.manager import UNKNOWN, Manager
from fleet.devcluster.garbage import Garbage
from fleet.devcluster.nonresource import NonResource
from fleet.devcluster.podactions import PodActions
from fleet.devcluster.printing.showing import Showing, failed_answer
from fleet.devcluster.reading import Reading
from fleet.devcluster.recorder import Recorder
from fleet.devcluster.requestlog import RequestLog
from fleet.devcluster.requestmetrics import RequestMetrics
from fleet.devcluster.requests import BODY_LIMIT, Query, Request, Target
from fleet.devcluster.resources import NAMESPACES, Registry
from fleet.devcluster.routes import Routes
from fleet.devcluster.scaling import Scaling
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.storage import Storage
from fleet.devcluster.strategy import read_body
from fleet.devcluster.tap import tap
from fleet.devcluster.watchcache import WatchCache
from fleet.devcluster.watching import Watching
from fleet.devcluster.writes import Writer
from fleet.devcluster.writing import Writing
from shards.errors import ConfigError
from shards.objects import Object, Resource

_LOG = logging.getLogger(__name__)
_SELF = Manager("kube-apiserver")
"""Of what the server writes on its own."""


class ApiServer:
    """One server with its storage. Used on one event loop."""

    def __init__(
        self,
        settings: ServerSettings | None = None,
        *,
        rng: random.Random | None = None,
        wall_seconds: Callable[[], float] = time.time,
        recorder: Recorder | None = None,
        beside: ApiServer | None = None,
        name: str = "",
    ) -> None:
        """rng: for UIDs, generated names and the life of watches. wall_seconds: since 1970, for timestamps.

        beside: a server whose storage, resources and controllers this one shares, as a further front end with a cache,
        watches, faults and settings of its own.
        name: by which the fault `stale_replica` of the other one sends requests here.
        """
        self.settings = settings or ServerSettings()
        self.rng = rng or random.Random()
        self.registry: Registry = beside.registry if beside else Registry()
        self.storage: Storage = beside.storage if beside else Storage(history_limit=self.settings.history_limit)
        self.recorder = recorder
        self.faults = Faults(self.rng, witness_for(recorder))
        self.cache = WatchCache(self.storage)
        self.faults.lose = self.cache.lose
        self.watching = Watching(self.storage, self.cache, self.rng, self.settings)
        self._log = RequestLog(recorder)
        namespaces = self.storage.table(NAMESPACES)
        self.writer: Writer = (
            beside.writer if beside else Writer(self.storage, namespaces, self.rng, wall_seconds, self.registry.get)
        )
        definitions = beside._definitions if beside else Definitions(self.registry, self.storage, self.writer)
        self._definitions: Definitions = definitions
        self._nonresource = NonResource(self.registry)
        self._reading = Reading(self.settings, self.storage, self.cache, self.watching, self._log)
        self._writing = Writing(self.settings, self.storage, self.writer, definitions, self._log)
        self.garbage: Garbage = (
            beside.garbage if beside else Garbage(self.storage, self.registry, self.writer, self._log, self.settings)
        )
        self.guard: Guard = (
            beside.guard
            if beside
            else Guard(self.storage, self.registry, self.rng, wall_seconds, self.settings.admin_token)
        )
        self.metrics = RequestMetrics(self.watching, self.storage.tables, self.registry)
        self._audit = audit_for(self.settings, self.rng, wall_seconds)
        self._routes = Routes(
            self.registry,
            self.storage,
            self._nonresource,
            self._reading,
            self._writing,
            PodActions(self.writer, self._writing, wall_seconds),
            Showing(self.storage, wall_seconds),
            self.guard,
            self.metrics,
            Scaling(self.writer, self._log),
        )
        self._accounts: DefaultAccounts | None = beside._accounts if beside else None
        if beside is not None:
            if name:
                beside.faults.routes[name] = self._answer
            return
        for each in self.registry:  # before the first write, so that the history of every table begins at the start
            self.storage.table(each)
        for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
            self.writer.create(namespaces, "", {"metadata": {"name": name}})
        if self.guard.enabled:
            for role in default_roles():
                self.seed(Resource(RBAC_GROUP, "v1", f"{role['kind'].lower()}s"), role, manager=_SELF)
        if self.settings.default_objects:
            for resource, body in default_objects():
                self.seed(resource, body, manager=_SELF)
        if self.settings.default_accounts:
            self._accounts = DefaultAccounts(self.storage, self.seed)

    # ------------------------------------------------------------------ the door

    async def handle(
        self,
        method: str,
        path: str,
        query: Query = (),
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Answers one request. headers: names in lower case. Raises ConnectionLost where a fault takes the answer."""
        request = Request(method, path, query, body, headers or {})
        return tap(self.recorder, request, await self.faults.carry(request, self._answer))

    async def _answer(self, request: Request) -> Answer:
        began = time.perf_counter()
        received_seconds = self._audit.now() if self._audit is not None else 0.0
        target = Target.parse(request.path)
        try:
            self.guard.admit(request, target)
            if request.body is not None and len(request.body) > BODY_LIMIT:
                raise statuses.too_big(BODY_LIMIT)
            await self._reading.reach(request)
            answer = self._routes.answer(request, target)
        except statuses.StatusError as error:
            self._log.failed(request, error)
            request.warnings += error.warnings
            answer = failed_answer(request, error)
        except RecursionError:
            # Bodies are measured where they are decoded; this is for what grows deep by other ways.
            failure = statuses.bad_request("exceeded max depth")
            self._log.failed(request, failure)
            answer = failed_answer(request, failure)
        except Exception as error:
            _LOG.exception("%s %s failed inside the server", request.method, request.path)
            failure = statuses.internal_error(str(error) or type(error).__name__)
            self._log.failed(request, failure)
            answer = failed_answer(request, failure)
        if request.warnings:
            answer.warnings = request.warnings
        self.metrics.count(request, target, answer.status, time.perf_counter() - began)
        if self._audit is not None and target is not None:
            self._audit.finished(request, target, answer, received_seconds)
        if self._accounts is not None:
            self._accounts.catch_up()
        return answer

    async def run_controllers(self) -> None:
        """What the control plane does on its own, garbage collection and compaction, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.garbage.run(), name="garbage collection")
            group.create_task(compact_for_ever(self.storage, self.settings.compaction_seconds), name="compaction")

    async def collect_garbage(self) -> int:
        """Deletes what lost all its owners, empties namespaces that end, and answers how many objects went."""
        return self.garbage.collect()

    def close(self) -> None:
        """Ends all watches, and the audit log."""
        self.watching.end()
        if self._audit is not None:
            self._audit.close()

    # ------------------------------------------------------------------ for tests and tools

    def seed(self, resource: Resource, body: Object, *, manager: Manager = UNKNOWN) -> Object:
        """Stores an object without a request: not recorded as one. Raises StatusError, ConfigError."""
        kind = self.registry.get(resource)
        if kind is None:
            raise ConfigError("resource", f"{resource} is not served; create its CustomResourceDefinition first")
        table = self.storage.table(kind)
        parsed = read_body(kind, msgspec.json.encode({"kind": kind.kind, "apiVersion": resource.api_version, **body}))
        outcome = self.writer.create(table, parsed["metadata"].get("namespace", ""), parsed, manager=manager, kind=kind)
        self._definitions.follow(kind, outcome)
        return outcome.stored.decode()
