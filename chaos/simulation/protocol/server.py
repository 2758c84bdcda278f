"""The API server of a simulated fleet: records and objects, their history, and front ends that may lag.

What has to be current (reads, lists, writes) goes to the store. Watches are fed by a front end, as late as that is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple, Protocol

from chaos.simulation.happenings import Happening, Restored, Written
from chaos.simulation.process import Process
from chaos.simulation.protocol.network import Network
from fleet.backends.local_store import LocalStore, Step, Unreadable
from shards.errors import Expired

OBJECTS = "objects"
"""The collection of the objects that the fleet works on; those of records are called by their kinds."""


HISTORIES = 8
"""Versions of two histories are lower and higher, and never the same: the few writes of a small fleet would meet a
reused one again and again, of which a server with others who write gives out hardly any (docs/simulation.md)."""


class Event(NamedTuple):
    """One step of a collection. found None: deleted."""

    at: float
    collection: Hashable
    name: str
    found: object
    version: int


class Stream(Protocol):
    """An open watch, as the server sees it."""

    def push(self, event: Event) -> None: ...

    def break_off(self) -> None: ...


class Arrived(Protocol):
    """A request that has arrived. author: the process that sent it, at `sent_at` in true seconds."""

    act: Callable[[], Any]
    author: Process
    sent_at: float
    late: bool


class FrontEnd:
    """One of the processes that the server consists of. lag_seconds: how much it is behind; None: for good."""

    def __init__(self, network: Network) -> None:
        self.versions: dict[Hashable, int] = {}
        self._network = network
        self._lag: float | None = 0.0
        self._coming: deque[Event] = deque()
        self._streams: dict[Hashable, list[Stream]] = {}

    def happened(self, event: Event) -> None:
        """In the order in which it happens."""
        if self._lag == 0 and not self._coming:
            self._take(event)
            return
        self._coming.append(event)
        if self._lag is not None:
            self._network.at(event.at + self._lag, self._catch_up)

    def lag(self, seconds: float | None) -> None:
        self._lag = seconds
        if seconds is not None:
            for event in self._coming:
                self._network.at(max(event.at + seconds, self._network.now), self._catch_up)

    def _catch_up(self) -> None:
        coming, now = self._coming, self._network.now
        while coming and self._lag is not None and coming[0].at + self._lag <= now + 1e-9:
            self._take(coming.popleft())

    def _take(self, event: Event) -> None:
        self.versions[event.collection] = event.version
        for stream in tuple(self._streams.get(event.collection, ())):
            stream.push(event)

    def open(self, collection: Hashable, stream: Stream) -> None:
        self._streams.setdefault(collection, []).append(stream)

    def close(self, collection: Hashable, stream: Stream) -> None:
        streams = self._streams.get(collection, [])
        if stream in streams:
            streams.remove(stream)

    def restart(self) -> None:
        """It begins anew on a store that was restored: every watch breaks."""
        coming, self._coming = self._coming, deque()
        for event in coming:
            if event.collection is OBJECTS:
                self._take(event)
        self.versions = {OBJECTS: self.versions.get(OBJECTS, 0)}
        streams, self._streams = self._streams, {}
        for each in streams.values():
            for stream in each:
                stream.break_off()


class Thing(NamedTuple):
    """An object that the fleet works on. hash: of its key. generation: how often its owner outside changed it.
    observed: the last generation that was acted on."""

    uid: str
    hash: int
    version: int
    generation: int
    observed: int


class Server:
    """hear: is told of every write. now in true seconds."""

    def __init__(self, network: Network, replicas: int, hear: Callable[[Happening], None]) -> None:
        self.network = network
        self.store = LocalStore(revision=HISTORIES, step=HISTORIES)
        self.store.listeners.append(self._stepped)
        self.things: dict[str, Thing] = {}
        self.revision = 1
        """Of the objects: they have a history of their own, which no restore ends."""
        self.front_ends = [FrontEnd(network) for _ in range(replicas)]
        self.brown_out = False
        self.history = 0
        """How often it was restored."""
        self._restored_to = 0
        """The version at which the present history of the records began."""
        self._log: dict[Hashable, list[Event]] = {}
        self.hear = hear
        self.request: Arrived | None = None
        """The one that is being carried out; None for what people do."""
        self._backups: list[tuple[float, LocalStore]] = [(0.0, self.store.backup())]

    def carry_out(self, request: Arrived) -> Any:
        """A request has arrived. Raises what the server answers."""
        self.request = request
        try:
            return request.act()
        finally:
            self.request = None

    # -- records ----------------------------------------------------------------------------------------------------

    def _stepped(self, step: Step | None) -> None:
        if step is None:
            return
        now, request = self.network.now, self.request
        author, sent_at = (request.author.label, request.sent_at) if request is not None else ("hand", now)
        before = None if isinstance(step.before, Unreadable) else step.before
        after = None if isinstance(step.found, Unreadable) else step.found
        found = None if isinstance(step.found, Unreadable) else step.found
        self._happened(Event(now, step.kind, step.name, found, int(step.at)))
        self.hear(Written(now, author, step.kind, step.name, before, after, sent_at))

    def backup(self) -> None:
        """What the store is now can be gone back to."""
        self._backups.append((self.network.now, self.store.backup()))

    def restore(self, back_seconds: float) -> None:
        """Its records go back to the last backup before; the objects are somebody else's matter, and stay."""
        wanted = self.network.now - back_seconds
        _, backup = next((each for each in reversed(self._backups) if each[0] <= wanted), self._backups[0])
        self.history += 1
        backup.revision += self.history % HISTORIES - backup.revision % HISTORIES
        self.store.restore(backup)
        self._restored_to = self.store.revision
        self._log = {OBJECTS: self._log.get(OBJECTS, [])}
        self._backups = [(0.0, backup)]
        self.hear(Restored(self.network.now))
        for each in self.front_ends:
            each.restart()

    # -- objects ----------------------------------------------------------------------------------------------------

    def put_thing(self, thing: Thing) -> Thing:
        """Over whatever is there, at a new version."""
        self.revision += 1
        stored = self.things[thing.uid] = thing._replace(version=self.revision)
        self._happened(Event(self.network.now, OBJECTS, thing.uid, stored, stored.version))
        return stored

    # -- history ----------------------------------------------------------------------------------------------------

    def version(self, collection: Hashable) -> str:
        """At which the collection is now."""
        return str(self.revision if collection is OBJECTS else self.store.revision)

    def _happened(self, event: Event) -> None:
        self._log.setdefault(event.collection, []).append(event)
        for each in self.front_ends:
            each.happened(event)

    def since(self, front_end: FrontEnd, collection: Hashable, version: int) -> list[Event]:
        """What the front end knows to have happened after that version. Raises Expired: after a restore a server starts
        with an empty cache of events, and cannot say what there was between an earlier version and the backup."""
        if collection is not OBJECTS and version < self._restored_to:
            raise Expired(410, "Expired", "too old resource version")
        found = []
        for event in reversed(self._log.get(collection, ())):
            if event.version <= version:
                break
            if event.version <= front_end.versions.get(collection, 0):
                found.append(event)
        return found[::-1]

    def listing(self, collection: Hashable) -> tuple[Mapping[str, object], str]:
        """A consistent list: everything by name, and the version at which that is complete."""
        if collection is OBJECTS:
            return dict(self.things), str(self.revision)
        return self.store.of(collection), str(self.store.revision)  # type: ignore[arg-type]  # a kind of records
