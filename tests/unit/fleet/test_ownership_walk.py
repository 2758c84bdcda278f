"""Random faults on a whole fleet, in virtual time: no two members may ever act on one key, and every range comes back.

One seed gives one history. A failing seed is a test of its own: `pytest -k 'walk and 17'`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from fleet.backends.local import W
from fleet.backends.local_store import LocalStore
from fleet.office import registrar
from fleet.records.object_names import Kind
from fleet.records.record import MemberRecord, ShardMap, ShardRecord
from fleet.rules import handover
from fleet.rules.layout import relaid
from fleet.rules.membership import MemberWatch
from shards.keyrange import PartitionKey, equal_boundaries
from tests.unit.fleet.ownership import Fleet, now

pytestmark = pytest.mark.looptime(noop_cycles=0)

MEMBERS = ("a", "b", "c")
AGENTS = ("agent-1", "agent-2")
LEASE_SECONDS = 2.0
WALK_SECONDS = 8.0
HEAL_SECONDS = 14.0
"""Bound for everything to be owned again, once nothing goes wrong any more: the worst is a chain of an election, a
suspicion of its own view (R12), a fence, and a lost record that waits for every member's word."""


class Walk:
    """What goes wrong, when, and for how long, all drawn from the seed. log: for whoever reads a failure."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.fleet = Fleet(ranges=4, lease_seconds=LEASE_SECONDS, leave_seconds=2.0)
        self.log: list[str] = []
        self.healing: set[asyncio.Task[None]] = set()
        self.leaving: dict[str, asyncio.Task[None]] = {}
        self.deletions = self.rng.randrange(4)
        self.reshards = self.rng.choice([0, 1, 1, 2])

    def say(self, what: str) -> None:
        self.log.append(f"{now():8.3f} {what}")

    @property
    def running(self) -> list[str]:
        """Those whose process runs, and will not end by itself."""
        return [name for name in (*MEMBERS, *AGENTS) if name in self.fleet.tasks and name not in self.leaving]

    def up(self) -> str:
        return self.rng.choice(self.running)

    def start(self, name: str, *, reaped: bool = False) -> None:
        """A process starts: a member or an agent, on a wire with delays of its own."""
        wire = self.fleet.wire(name)
        slow = self.rng.random() * 0.05
        wire.faults.lag_seconds = self.rng.choice([0.0, 0.0, 0.05, 0.5])
        wire.latency = lambda: self.rng.random() * slow + (0.4 if self.rng.random() < 0.02 else 0.0)
        if name in AGENTS:
            self.fleet.coordinate(name, reaped=reaped)
        else:
            self.fleet.start(name, reaped=reaped, supervisor=f"{name}/{self.rng.randrange(2)}" if not reaped else "")

    def later(self, seconds: float, act: Callable[[], Awaitable[None]]) -> None:
        async def wait() -> None:
            await asyncio.sleep(seconds)
            await act()

        task = asyncio.create_task(wait())
        self.healing.add(task)
        task.add_done_callback(self.healing.discard)

    # -- faults -----------------------------------------------------------------------------------------------------

    async def crash(self) -> None:
        name = self.up()
        pause = self.rng.choice([0.0, 0.1, 1.0, 4.0]) * self.rng.random()
        self.say(f"{name} dies for {pause:.3f} s")
        await self.fleet.crash(name)

        async def again() -> None:
            self.say(f"{name} starts")
            self.start(name)

        self.later(pause, again)

    async def leave(self) -> None:
        name = self.up()
        if name in AGENTS:
            return
        self.say(f"{name} leaves")
        self.fleet.leave(name)
        task = self.leaving[name] = self.fleet.tasks[name]

        async def again() -> None:
            await asyncio.wait([task])
            del self.leaving[name], self.fleet.tasks[name], self.fleet.workers[name]
            self.say(f"{name} has left and starts again")
            self.start(name)

        self.later(0.0, again)

    async def cut_off(self) -> None:
        name, pause = self.up(), 5.0 * self.rng.random()
        self.say(f"{name} is cut off for {pause:.3f} s")
        self.interrupt([name], pause)

    async def blackout(self) -> None:
        pause = 4.0 * self.rng.random() ** 2
        self.say(f"the store is down for {pause:.3f} s")
        self.interrupt([*MEMBERS, *AGENTS], pause)

    def interrupt(self, names: Sequence[str], seconds: float) -> None:
        """Neither requests nor news get through."""
        wires = [self.fleet.wire(name) for name in names]
        for wire in wires:
            wire.faults.unavailable = wire.faults.held = True

        async def back() -> None:
            for wire in wires:
                wire.faults.unavailable = False
                wire.release()

        self.later(seconds, back)

    async def lag(self) -> None:
        name = self.up()
        self.fleet.faults(name).lag_seconds = self.rng.choice([0.0, 0.05, 0.5, 1.5])
        self.say(f"{name} sees everything {self.fleet.faults(name).lag_seconds} s late")

    async def blindfold(self) -> None:
        name, pause = self.up(), 3.0 * self.rng.random()
        wire = self.fleet.wire(name)
        self.say(f"{name} sees nothing new for {pause:.3f} s")
        wire.faults.held = True

        async def back() -> None:
            wire.release()

        self.later(pause, back)

    async def lose_answers(self) -> None:
        name = self.up()
        faults = self.fleet.faults(name)
        faults.lost_answers, faults.lost_requests = self.rng.randrange(3), self.rng.randrange(2)
        self.say(f"{name} loses {faults.lost_answers} answers and {faults.lost_requests} requests")

    async def delete(self) -> None:
        """By hand. Not the map and a record at once: who deletes everything is told so in the docs."""
        if not self.deletions or not self.fleet.store.of(Kind.MAP):
            return
        self.deletions -= 1
        kind = self.rng.choice([Kind.SHARD, Kind.SHARD, Kind.SHARD, Kind.MEMBER, Kind.MAP])
        if kind is Kind.SHARD and self.rng.random() < 0.5:  # somebody notices late
            await self.blindfold()
            await self.retarget()
        names = sorted(self.fleet.store.of(kind))
        if names:
            name = self.rng.choice(names)
            self.say(f"somebody deletes {kind} {name}")
            self.fleet.edit(kind, name, None)

    async def empty_holder(self) -> None:
        names = sorted(self.fleet.store.of(Kind.SHARD))
        if names and self.deletions:
            self.deletions -= 1
            name = self.rng.choice(names)
            record = self.fleet.store.of(Kind.SHARD)[name]
            self.say(f"somebody empties the holder of {name}")
            self.fleet.edit(Kind.SHARD, name, replace(record, holder=None, holder_text=""))  # type: ignore[type-var]

    async def reshard(self) -> None:
        """As a coordinator does it: another layout in one write, what leaves it goes to `retiring` (R7)."""
        if self.reshards and self.fleet.store.of(Kind.MAP) and not self.fleet.map.retiring:
            self.reshards -= 1
            count, key = self.rng.choice([1, 2, 3, 6]), self.rng.choice([PartitionKey.UID, *PartitionKey])
            new = relaid(self.fleet.map, equal_boundaries(count), key, {})
            await self.write_map(new, f"a reshard to {count} ranges by {key}")

    async def retarget(self) -> None:
        """A plan that moves what need not move."""
        if self.fleet.store.of(Kind.MAP):
            if self.rng.random() < 0.3:
                await self.lose_answers()
            old = self.fleet.map
            targets = tuple(self.rng.choice([target, *MEMBERS]) for target in old.targets)
            await self.write_map(replace(old, targets=targets), f"new targets {''.join(targets)}")

    async def write_map(self, new: ShardMap, what: str) -> None:
        wire = self.fleet.wire("planner")
        stored = await wire.read_map()
        assert stored is not None
        if stored.map.version == new.version:
            self.say(what)
            await wire.write_map(replace(new, version=new.version + 1), stored.version)

    # -- the walk ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        for name in (*AGENTS, *MEMBERS):
            self.start(name)
        await self.fleet.pass_seconds(1.5)
        acts = [self.crash, self.crash, self.leave, self.cut_off, self.blackout, self.lag, self.blindfold]
        acts += [self.lose_answers, self.lose_answers, self.delete, self.empty_holder, self.reshard]
        acts += [self.retarget] * 4
        until = now() + WALK_SECONDS
        while now() < until:
            if self.running:
                await self.rng.choice(acts)()
            await self.fleet.pass_seconds(self.rng.choice([0.0, 0.02, 0.3, 1.5]) * self.rng.random())
        self.say("nothing goes wrong any more")
        while self.healing:
            await self.fleet.pass_seconds(0.1)
        for wire in self.fleet.wires.values():
            faults = wire.faults
            faults.lag_seconds, faults.unavailable, faults.lost_answers, faults.lost_requests = 0.0, False, 0, 0
            wire.release()
        await self.fleet.all_open(within_seconds=HEAL_SECONDS)
        assert self.fleet.deaths == []


async def walk_along(seed: int) -> None:
    """Raises AssertionError with the history when a promise is broken."""
    walk = Walk(seed)
    try:
        await walk.run()
    except AssertionError as failure:
        raise AssertionError("\n".join([str(failure), *walk.log])) from failure
    finally:
        for task in walk.healing:
            task.cancel()
        await walk.fleet.stop()


@pytest.mark.parametrize("seed", range(30))
async def test_a_random_walk_never_gives_a_key_to_two_and_ends_with_every_range_owned(seed: int) -> None:
    await walk_along(seed)


def claim_what_is_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "is_free", lambda *args, **kwargs: True)


def claim_without_comparing(monkeypatch: pytest.MonkeyPatch) -> None:
    put = LocalStore.put

    def overwrite(self: LocalStore, kind: Kind, name: str, new: W, replaces: str) -> W:
        found = self.records.get((kind, name))
        record: object = new
        if found is not None and isinstance(record, ShardRecord) and record.holder is not None:
            return put(self, kind, name, new, found.version)
        return put(self, kind, name, new, replaces)

    monkeypatch.setattr(LocalStore, "put", overwrite)


def fence_the_living(monkeypatch: pytest.MonkeyPatch) -> None:
    def hasty(self: MemberWatch, members: Mapping[str, MemberRecord], now: float) -> list[str]:
        return [name for name, each in members.items() if each.holder and now - self.sightings[name].since > 0.3]

    def unchecked(live: MemberRecord | None, *timer: object, **known: object) -> MemberRecord | None:
        return replace(live, holder=None, epoch=live.epoch + 1) if live is not None else None

    monkeypatch.setattr(MemberWatch, "silent", hasty)
    monkeypatch.setattr(registrar, "fence", unchecked)


@pytest.mark.parametrize(
    ("broken", "first_seed"), [(claim_what_is_not_free, 0), (claim_without_comparing, 11), (fence_the_living, 8)]
)
async def test_a_walk_finds_a_rule_that_was_removed(
    broken: Callable[[pytest.MonkeyPatch], None], first_seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """first_seed: one that found it when this was written, so that the search is short."""
    broken(monkeypatch)
    for seed in range(first_seed, first_seed + 60):
        try:
            await walk_along(seed)
        except AssertionError as failure:
            if "may act on" in str(failure):
                return
    pytest.fail("sixty walks found nothing")
