"""GET: objects, lists and watches."""

from __future__ import annotations

from dataclasses import dataclass, field

from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.reads.listoptions import filter_of, version_of, wants_initial_events
from fleet.devcluster.reads.lists import Lister, list_answer
from fleet.devcluster.reads.watching import Watching
from fleet.devcluster.recording.requestlog import RequestLog
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.storage.storage import Storage, Table, object_key
from fleet.devcluster.storage.watchcache import WatchCache
from fleet.devcluster.wire import statuses
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import Request, Target

FRESHNESS_SECONDS = 3.0
"""How long a read waits for a resourceVersion that the server has not reached (the real server's figure)."""

_VERSION_DIGITS = 20


@dataclass(slots=True)
class Reading:
    """Answers reads: from the front end's cache where the real server does, from the storage elsewhere."""

    settings: ServerSettings
    _storage: Storage
    _cache: WatchCache
    _watching: Watching
    _log: RequestLog
    _lister: Lister = field(init=False)

    def __post_init__(self) -> None:
        self._lister = Lister(self._storage, self._cache, self.settings)

    async def reach(self, request: Request) -> None:
        """Waits until the cache has what a read asks for, or for three seconds. To be called before the read."""
        if request.method != "GET" or not (request.query or self._cache.apart):
            return
        wanted = self._wanted_version(request)
        if wanted > self._cache.version:
            await self._cache.reaches(wanted, FRESHNESS_SECONDS)

    def get(self, request: Request, target: Target, table: Table, kind: ResourceType | None = None) -> Answer:
        """kind: the resource in the version that was asked for, where it may not be the stored one."""
        if request.option("resourceVersion"):
            version = version_of(request, single=True)
            if version > self._cache.version:
                raise self._lister.too_large(version)
            table = self._cache.table(table.kind)
        stored = table.objects.get(object_key(target.namespace, target.name))
        if stored is None:
            raise statuses.not_found(kind or table.kind, target.name)
        self._log.answered("get", request, target, 200, stored)
        foreign = kind is not None and kind.resource != table.kind.resource
        return Answer(200, kind.rendered(stored) if kind is not None and foreign else stored.raw)

    def list(self, request: Request, target: Target, table: Table, kind: ResourceType | None = None) -> Answer:
        """kind: see `get`."""
        asked = kind or table.kind
        wanted = filter_of(asked, target.namespace, request, sharded=self.settings.sharded_list_and_watch)
        body = list_answer(self._lister.view(table.kind, wanted, request), asked, wanted, request)
        self._log.answered("list", request, target, 200)
        return Answer(200, body)

    def watch(self, request: Request, target: Target, table: Table, kind: ResourceType | None = None) -> Answer:
        """kind: see `get`."""
        asked = kind or table.kind
        wanted = filter_of(asked, target.namespace, request, sharded=self.settings.sharded_list_and_watch)
        if target.name:
            wanted = wanted.named(target.name)
        stream = self._watching.open(request, asked, wanted)
        self._log.answered("watch", request, target, 200)
        return Answer(200, stream=stream)

    def _wanted_version(self, request: Request) -> int:
        """What the cache must have reached; 0 where anything will do. A malformed version is refused later."""
        watch = request.flag("watch")
        if watch and not wants_initial_events(request):
            return 0
        text = request.option("resourceVersion")
        if text:
            return int(text) if text.isdecimal() and len(text) < _VERSION_DIGITS else 0
        if self._cache.apart:
            target = Target.parse(request.path)
            if target is not None and (watch or not target.name):
                request.reached = self._storage.version
        return request.reached
