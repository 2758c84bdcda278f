"""The watch cache of one front end: which state of the storage its lists and watches see.

A cache that nobody touches is the storage itself and costs nothing. One that lags, is frozen or lost a commit keeps
copies of the tables, which follow the storage later or never. Real caches were seen to do all of it: kubernetes issues
59848 (a replica that lags) and 123072 (one that lost a deletion for ever).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.storage.commits import Commit
from fleet.devcluster.storage.storage import Storage, TableKey, table_key
from fleet.devcluster.storage.tables import Table
from shards.objects import Resource

Hear = Callable[[Commit], None]


@dataclass(eq=False, slots=True)
class Loss:
    """Commits that a cache does not hear of. left: how many more; negative without limit. lost: how many so far."""

    predicate: Callable[[Commit], bool]
    left: int
    on_end: Callable[[Loss], None]
    lost: int = 0

    def end(self) -> None:
        """Later commits are heard again; what was lost stays lost until the cache restarts. Idempotent."""
        self.left = 0
        self.on_end(self)

    def takes(self, commit: Commit) -> bool:
        if not self.left or not self.predicate(commit):
            return False
        self.left -= 1
        self.lost += 1
        return True


@dataclass(eq=False, slots=True)
class Staleness:
    """One reason for which a cache is behind. lag_seconds: everything arrives so much later. frozen: nothing does."""

    lag_seconds: float
    frozen: bool
    on_end: Callable[[Staleness], None]

    def end(self) -> None:
        """What is due arrives at once, in order, unless there are other reasons. Idempotent."""
        self.on_end(self)


class WatchCache:
    """What one front end knows of a storage.

    since: no watch can begin before that version, as this cache did not live then. on_restart: called when the cache
    begins anew, when all watches of its front end must end.
    """

    def __init__(self, storage: Storage, since: int) -> None:
        self.since = since
        self.on_restart: list[Callable[[], None]] = []
        self._storage = storage
        self._hearers: dict[TableKey, dict[Hear, None]] = {}
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._copies: dict[TableKey, Table] | None = None
        self._version = 0
        self._queue: deque[tuple[float, Commit]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._own = Staleness(0.0, False, self._end_staleness)
        self._stale: dict[Staleness, None] = {self._own: None}
        self._lag_seconds = 0.0
        self._frozen = False
        self._losses: dict[Loss, None] = {}
        self._lacking = False  # something was lost, and stays lost
        storage.listeners.append(self._hear)
        storage.on_restore.append(self.restart)
        storage.on_drop.append(self._drop)
        storage.on_compact.append(self._forget)

    # ------------------------------------------------------------------ what reads see

    @property
    def apart(self) -> bool:
        """Whether it may differ from the storage."""
        return self._copies is not None

    @property
    def version(self) -> int:
        """The newest version that it has reached."""
        return self._storage.version if self._copies is None else self._version

    def table(self, kind: ResourceType) -> Table:
        """The table as this cache knows it. Not to be changed."""
        if self._copies is None:
            return self._storage.table(kind)
        key = table_key(kind.resource)
        found = self._copies.get(key)
        if found is None:
            # Of a resource that came after the copies were made: empty, and filled by the commits that are queued.
            found = self._copies[key] = Table(kind, self._version, self._storage.history_limit)
        # What arrives late may be of a resource that is gone: asking the storage for its table would make it anew.
        live = self._storage.find(kind.resource)
        if live is not None:
            found.kind = live.kind
        return found

    def listen(self, kind: ResourceType, hear: Hear) -> None:
        """hear: called for every commit of the resource when it arrives here."""
        self._hearers.setdefault(table_key(kind.resource), {})[hear] = None

    def unlisten(self, kind: ResourceType, hear: Hear) -> None:
        """Idempotent."""
        key = table_key(kind.resource)
        hearers = self._hearers.get(key, {})
        hearers.pop(hear, None)
        if not hearers:
            self._hearers.pop(key, None)

    async def reaches(self, version: int, timeout_seconds: float) -> bool:
        """Waits for a version; False where it does not come in time."""
        if self.version >= version:
            return True
        arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((version, arrived))
        try:
            await asyncio.wait_for(arrived, timeout_seconds)
        except TimeoutError:
            return False
        finally:
            self._waiting = [each for each in self._waiting if each[1] is not arrived]
        return True

    # ------------------------------------------------------------------ what tests and faults do to it

    @property
    def lag_seconds(self) -> float:
        """How much later than in the storage every commit arrives; may be changed at any time."""
        return self._own.lag_seconds

    @lag_seconds.setter
    def lag_seconds(self, seconds: float) -> None:
        self._own.lag_seconds = seconds
        self._settle()

    def freeze(self) -> None:
        """Nothing arrives any more until `thaw`."""
        self._own.frozen = True
        self._settle()

    def thaw(self) -> None:
        """What is due arrives at once, in order; idempotent."""
        self._own.frozen = False
        self._settle()

    def stale(self, *, lag_seconds: float = 0.0, frozen: bool = False) -> Staleness:
        """A reason to be behind, next to others: the longest lag counts, and one freeze is enough."""
        made = Staleness(lag_seconds, frozen, self._end_staleness)
        self._stale[made] = None
        self._settle()
        return made

    def lose(self, predicate: Callable[[Commit], bool], *, times: int = -1) -> Loss:
        """The matching commits never arrive: neither in lists nor in watches. times: how many, negative for all."""
        loss = Loss(predicate, times, self._end_loss)
        self._losses[loss] = None
        self._settle()
        return loss

    def restart(self) -> None:
        """Begins anew with what the storage holds, as a server that starts: watches end.

        What makes it stale stays, and so do losses that have not ended; what was lost is there again.
        """
        self._lacking = False
        apart = self._frozen or self._lag_seconds > 0 or bool(self._losses)
        self._queue.clear()
        self._stop_timer()
        self._copies = None
        self.since = self._storage.version
        if apart:
            self._take_copies()
        for end in tuple(self.on_restart):
            end()
        self._wake()

    # ------------------------------------------------------------------ how commits arrive

    def _hear(self, commit: Commit) -> None:
        if self._copies is None:
            hearers = self._hearers.get(table_key(commit.kind.resource))
            for hear in tuple(hearers) if hearers else ():
                hear(commit)
            if self._waiting:
                self._wake()
            return
        due = asyncio.get_running_loop().time() + self._lag_seconds if self._lag_seconds > 0 else 0.0
        self._queue.append((due, commit))
        self._deliver()

    def _settle(self) -> None:
        """Follows a change of what makes it stale, or of the losses."""
        self._frozen = any(each.frozen for each in self._stale)
        self._lag_seconds = seconds = max(each.lag_seconds for each in self._stale)
        now = asyncio.get_running_loop().time() if seconds > 0 else 0.0
        self._queue = deque((min(due, now + seconds), commit) for due, commit in self._queue)
        apart = self._frozen or seconds > 0 or bool(self._losses) or self._lacking
        if self._copies is None and apart:
            self._take_copies()
        self._stop_timer()
        self._deliver()
        if self._copies is not None and not (apart or self._queue):
            self._copies = None

    def _end_staleness(self, staleness: Staleness) -> None:
        if staleness is not self._own and staleness in self._stale:
            del self._stale[staleness]
            self._settle()

    def _end_loss(self, loss: Loss) -> None:
        if self._losses.pop(loss, self._losses) is None:
            self._lacking = self._lacking or loss.lost > 0
            self._settle()

    def _take_copies(self) -> None:
        self._version = self._storage.version
        self._copies = {table_key(table.kind.resource): table.copy() for table in self._storage.tables()}

    def _drop(self, resource: Resource) -> None:
        """A resource that is defined anew later begins with an empty cache."""
        if self._copies is not None:
            self._copies.pop(table_key(resource), None)

    def _forget(self, up_to: int, watches: bool) -> None:
        for table in (self._copies or {}).values():
            table.forget(min(up_to, self._version), watches=watches)

    def _deliver(self, reached: float = 0.0) -> None:
        """Lets the commits in whose time has come, and sets a timer for the next one.

        reached: the time that has come at least, as a timer may fire a rounding error early.
        """
        if self._frozen or not self._queue:
            return
        now = max(asyncio.get_running_loop().time(), reached) if self._queue[-1][0] > 0 else 0.0
        while self._queue and self._queue[0][0] <= now:
            self._arrive(self._queue.popleft()[1])
        if self._queue and self._timer is None:
            due = self._queue[0][0]
            self._timer = asyncio.get_running_loop().call_at(due, self._timed, due)
        self._wake()

    def _timed(self, due: float) -> None:
        self._timer = None
        self._deliver(due)

    def _arrive(self, commit: Commit) -> None:
        """The commit as this cache sees it: against what it holds itself, which may lack earlier commits."""
        self._version = commit.version
        for loss in tuple(self._losses):
            if loss.takes(commit):
                return
        table = self.table(commit.kind)
        if commit.new is None and commit.key not in table.objects:
            return
        seen = table.apply(commit.key, commit.version, commit.new)
        for hear in tuple(self._hearers.get(table_key(commit.kind.resource), ())):
            hear(seen)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wake(self) -> None:
        version = self.version
        for wanted, arrived in self._waiting:
            if version >= wanted and not arrived.done():
                arrived.set_result(None)
