"""A coordinator that is cut off at one of its requests, in the middle of one operation of its fleet.

An operation is played once without a cut, to learn which requests the coordinator makes in it. Then it is played again
for each request and each way to be cut off there. Another candidate stands by; time is virtual.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum

from fleet.backends.local import T, W
from fleet.backends.local_store import Faults
from fleet.records.coordination import CasConflict, CoordinationUnavailable
from fleet.records.object_names import Kind
from fleet.records.record import MemberRecord, ShardRecord, ShardStatus
from tests.unit.fleet.ownership import LEASE_SECONDS, Fleet, Wire, now

FIRST, SECOND = "agent", "agent-2"
PAUSE_SECONDS = 2.5 * LEASE_SECONDS
"""Long enough for the other candidate to take office, and to do what is to be done."""
READ = "read"


class Cut(StrEnum):
    """What happens at the request. A read has no KILLED_AFTER and no PAUSED_ON_THE_WIRE: they would be the same."""

    KILLED_BEFORE = "the process ends before it is sent"
    KILLED_AFTER = "it is carried out, and the process ends"
    PAUSED_BEFORE = "the process stands still before it looks at its deadline"
    PAUSED_ON_THE_WIRE = "the process stands still after that, and it arrives late"
    LOST = "it is carried out, and its answer never comes"
    HELD_BACK = "from here on its view shows nothing new"


WRITES_ONLY = {Cut.KILLED_AFTER, Cut.PAUSED_ON_THE_WIRE}

_what: ContextVar[str] = ContextVar("what a request is", default=READ)
_cut_here: ContextVar[bool] = ContextVar("whether it is the one that is cut", default=False)


@dataclass
class CutFaults(Faults):
    """requests: what was asked since it was armed. at: number of the one that is cut, -1 = none. cut_at: the reading
    then. die: ends the process."""

    at: int = -1
    cut: Cut = Cut.KILLED_BEFORE
    armed: bool = False
    requests: list[str] = field(default_factory=list)
    cut_at: float | None = None
    dead: bool = False
    die: Callable[[], None] = lambda: None

    async def reach(self) -> None:
        """Every request begins here."""
        what = _what.get()
        _what.set(READ)
        _cut_here.set(False)
        await self._stand_still()
        if self.armed and not self.dead:
            self.requests.append(what)
            if len(self.requests) - 1 == self.at:
                self.cut_at = now()
                _cut_here.set(True)
                if what == READ or self.cut not in (*WRITES_ONLY, Cut.LOST):
                    await self._cut_off()
        if self.dead:
            raise CoordinationUnavailable("the process has ended")
        await super().reach()

    async def _cut_off(self) -> None:
        if self.cut is Cut.LOST:
            raise CoordinationUnavailable("no answer came")
        if self.cut is Cut.KILLED_BEFORE:
            self.kill()
        elif self.cut is Cut.HELD_BACK:
            self.held = True
        else:
            await self._stand_still()

    def kill(self) -> None:
        self.dead = True
        self.die()

    async def _stand_still(self) -> None:
        """The whole process: whatever it asks while it is paused is asked afterwards."""
        paused = self.cut in (Cut.PAUSED_BEFORE, Cut.PAUSED_ON_THE_WIRE)
        if paused and self.cut_at is not None and now() < self.cut_at + PAUSE_SECONDS:
            await asyncio.sleep(self.cut_at + PAUSE_SECONDS - now())


class CutWire(Wire):
    """The client of the coordinator that is cut off."""

    def __init__(self, fleet: Fleet) -> None:
        self.cuts = CutFaults()
        super().__init__(fleet.store, self.cuts)
        self.latency = self._latency

    def _latency(self) -> float:
        on_the_wire = _cut_here.get() and self.cuts.cut is Cut.PAUSED_ON_THE_WIRE
        return PAUSE_SECONDS if on_the_wire else 0.0

    async def _write(self, kind: Kind, name: str, new: W, replaces: str, not_after: float | None) -> W:
        _what.set(f"write {kind} {name}")
        return await super()._write(kind, name, new, replaces, not_after)

    async def _delete(self, kind: Kind, name: str, record: MemberRecord | ShardRecord) -> None:
        _what.set(f"delete {kind} {name}")
        await super()._delete(kind, name, record)

    def _carried_out(self, act: Callable[[], T]) -> T:
        if not _cut_here.get() or self.cuts.cut not in (Cut.KILLED_AFTER, Cut.LOST):
            return super()._carried_out(act)
        try:
            act()
        except CasConflict as conflict:
            if self.cuts.cut is Cut.LOST:
                raise CoordinationUnavailable("no answer came", maybe_applied=True) from conflict
        if self.cuts.cut is Cut.KILLED_AFTER:
            self.cuts.kill()
        raise CoordinationUnavailable("no answer came", maybe_applied=True)


async def nothing(fleet: Fleet) -> None:
    """What needs no trigger."""


@dataclass(frozen=True)
class Operation:
    """begin: what makes the coordinator do it. done: whether it is done, beside what `unhealed` asks of every fleet.

    members: that are there before. within_seconds: after it began, cut off or not. from_the_start: it is the fleet's
    first assignment.
    """

    name: str
    begin: Callable[[Fleet], Awaitable[None]] = nothing
    done: Callable[[Fleet], bool] = lambda fleet: True
    members: tuple[str, ...] = ("a", "b")
    ranges: int = 2
    within_seconds: float = 2 * LEASE_SECONDS + 6
    from_the_start: bool = False


@dataclass(frozen=True)
class Played:
    """requests: of the coordinator, from the operation's begin until it was done. seconds: how long that took."""

    requests: list[str]
    seconds: float


async def play(operation: Operation, at: int = -1, cut: Cut = Cut.LOST) -> Played:
    """Plays it with the coordinator cut off at that request. Raises AssertionError for two owners of a key, and where
    the fleet is not whole in time and stays so."""
    fleet = Fleet(ranges=operation.ranges)
    wire = fleet.wires[FIRST] = CutWire(fleet)
    cuts = wire.cuts
    ends: list[asyncio.Task[None]] = []
    cuts.at, cuts.cut = at, cut
    cuts.die = lambda: ends.append(asyncio.create_task(fleet.crash(FIRST)))
    try:
        cuts.armed = operation.from_the_start
        fleet.coordinate(FIRST)
        for name in operation.members:
            fleet.start(name)
        if not operation.from_the_start:
            await fleet.all_open()
        await fleet.pass_seconds(0.5)
        fleet.coordinate(SECOND)
        if not operation.from_the_start:
            await fleet.pass_seconds(3)
        cuts.armed = True
        await operation.begin(fleet)

        def whole() -> bool:
            return operation.done(fleet) and not unhealed(fleet) and (at < 0 or cuts.cut_at is not None)

        took = await fleet.until(whole, operation.within_seconds, f"{operation.name}: whole again")
        requests = list(cuts.requests)
        if cuts.cut_at is not None:  # what was paused or held back goes on, and must do no harm
            await fleet.pass_seconds(max(0.0, cuts.cut_at + PAUSE_SECONDS - now()))
            wire.release()
            await fleet.pass_seconds(LEASE_SECONDS)
            await fleet.until(whole, LEASE_SECONDS, f"{operation.name}: whole when all is over")
        return Played(requests, took)
    finally:
        await asyncio.gather(*ends)
        await fleet.stop()


def unhealed(fleet: Fleet) -> str:
    """What is not as it should be when nothing is left to do; "" for a whole fleet."""
    if not fleet.store.of(Kind.MAP):
        return "there is no map"
    shown = fleet.map
    layout = set(shown.ranges)
    in_office = [each for each in fleet.coordinators.values() if each.in_office]
    if [each.epoch for each in in_office] != [shown.coordinator_epoch]:
        return f"{len(in_office)} coordinators are in office, the map is of epoch {shown.coordinator_epoch}"
    if shown.retiring or shown.lost:
        return f"retiring: {sorted(shown.retiring)}, lost: {sorted(shown.lost)}"
    if set(fleet.open()) != layout:
        return f"open: {sorted(fleet.open())}"
    for record in fleet.store.of(Kind.SHARD).values():
        assert isinstance(record, ShardRecord)
        if record.status is ShardStatus.ACTIVE and record.range not in layout:
            return f"{record.range} is active and in no layout"
    for each in layout:
        held = fleet.record(each)
        holder = held.holder if held is not None else None
        member = fleet.member(holder.member) if holder is not None else None
        if holder is None or member is None or member.epoch != holder.epoch or holder.member != shown.target_of(each):
            return f"{each} is held by {holder}, and meant for {shown.target_of(each)}"
    return ""
