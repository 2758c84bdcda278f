"""The API server: a request in, an answer or a stream out. HTTP and in-process clients share this one door."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping

from fleet.devcluster.backend import Backend
from fleet.devcluster.changes.podactions import PodActions
from fleet.devcluster.changes.scaling import Scaling
from fleet.devcluster.changes.writing import Writing
from fleet.devcluster.discovery.nonresource import NonResource
from fleet.devcluster.faults import Faults
from fleet.devcluster.faults.witness import witness_for
from fleet.devcluster.fields.manager import UNKNOWN, Manager
from fleet.devcluster.frontends import FrontEnd
from fleet.devcluster.printing.showing import Showing, failed_answer
from fleet.devcluster.reads.reading import Reading
from fleet.devcluster.reads.watching import Watching
from fleet.devcluster.recording.audit import audit_for
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.recording.requestlog import RequestLog
from fleet.devcluster.recording.requestmetrics import RequestMetrics
from fleet.devcluster.recording.tap import tap
from fleet.devcluster.routes import Routes
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.storage.watchcache import WatchCache
from fleet.devcluster.wire import statuses
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import BODY_LIMIT, Query, Request, Target
from shards.objects import Object, Resource

_LOG = logging.getLogger(__name__)
FIRST_NAME = "a"


class ApiServer:
    """One front end of a cluster: what a kube-apiserver has of its own, over a backend. Used on one event loop.

    It has a watch cache, watches, faults, metrics and an audit log; everything else is the backend's.
    """

    def __init__(
        self,
        settings: ServerSettings | None = None,
        *,
        backend: Backend | None = None,
        name: str = FIRST_NAME,
        recorder: Recorder | None = None,
        rng: random.Random | None = None,
        wall_seconds: Callable[[], float] = time.time,
    ) -> None:
        """backend: what it stands on; None: one of its own, made of settings, recorder, rng and wall_seconds.

        settings, recorder: those of the backend where they are left out. name: by which the fault `stale_replica`
        of other front ends sends requests here. Raises ConfigError for a name that is taken.
        """
        self.backend = backend or Backend(settings, rng=rng, wall_seconds=wall_seconds, recorder=recorder)
        self.settings = settings or self.backend.settings
        self.recorder = recorder or self.backend.recorder
        self.name = name
        self.rng, self.registry, self.storage = self.backend.rng, self.backend.registry, self.backend.storage
        self._audit = audit_for(self.settings, self.rng, self.backend.wall_seconds)
        self.faults = Faults(self.rng, witness_for(self.recorder))
        self.backend.front_ends.check(name)
        self.cache = WatchCache(self.storage, self.backend.watched_since)
        self.backend.front_ends.join(name, FrontEnd(self._answer, self.cache, self.faults.replicas))
        self.faults.lose, self.faults.replicas.make = self.cache.lose, self._stand_in
        self._stand_ins: list[ApiServer] = []
        self.watching = Watching(self.storage, self.cache, self.rng, self.settings)
        self.metrics = RequestMetrics(self.watching, self.storage.tables, self.registry)
        self._guard, self._accounts = self.backend.guard, self.backend.accounts
        self._log = RequestLog(self.recorder)
        self._reading = Reading(self.settings, self.storage, self.cache, self.watching, self._log)
        self._routes = self._made_routes()

    def another(
        self, name: str, settings: ServerSettings | None = None, *, recorder: Recorder | None = None
    ) -> ApiServer:
        """A further front end over the same backend. Raises ConfigError for a name that is taken.

        settings, recorder: those of this front end where they are left out.
        """
        settings, recorder = settings or self.settings, recorder or self.recorder
        return ApiServer(settings, backend=self.backend, name=name, recorder=recorder)

    def _made_routes(self) -> Routes:
        backend = self.backend
        writing = Writing(self.settings, backend.storage, backend.writer, backend.definitions.follow, self._log)
        return Routes(
            backend.registry,
            backend.storage,
            NonResource(backend.registry),
            self._reading,
            writing,
            PodActions(backend.writer, writing, backend.wall_seconds),
            Showing(backend.storage, backend.wall_seconds),
            backend.guard,
            self.metrics,
            Scaling(backend.writer, self._log),
        )

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
            self._guard.admit(request, target)
            if request.body is not None and len(request.body) > BODY_LIMIT:
                raise statuses.too_big(BODY_LIMIT)
            if request.method == "GET":
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

    def _stand_in(self, name: str) -> None:
        """A further front end, for a fault that makes one stale. It has been there as long as this one."""
        other = self.another(name)
        other.cache.since = self.cache.since
        self._stand_ins.append(other)

    def close(self) -> None:
        """Ends all watches, and the audit log."""
        self.watching.end()
        for each in self._stand_ins:
            each.close()
        if self._audit is not None:
            self._audit.close()

    # ------------------------------------------------------------------ the backend's, by a shorter way

    async def run_controllers(self) -> None:
        """Garbage collection and compaction, until cancelled; see `Backend.run_controllers`."""
        await self.backend.run_controllers()

    async def collect_garbage(self) -> int:
        """Deletes what lost all its owners, empties namespaces that end, and answers how many objects went."""
        return self.backend.garbage.collect()

    def seed(self, resource: Resource, body: Object, *, manager: Manager = UNKNOWN) -> Object:
        """Stores an object without a request: not recorded as one. Raises StatusError, ConfigError."""
        return self.backend.seed(resource, body, manager=manager)
