"""16 shards become 64 and 16 again under load, and the coordinator is killed in the middle of each; one shard is split
and merged again in between, which must not touch any other.

What counts: no overlap in the server's record, a whole cover after each reshard, untouched shards with the record that
they had. How long a key had no owner is told beside it.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from benchmarks.rebalancing.bench import Bench, NotReached, median_and_worst, on_each_server, say
from benchmarks.rebalancing.evidence import step_of
from benchmarks.rebalancing.servers import BenchServer
from benchmarks.rebalancing.stage import Stage, staged
from benchmarks.table import Row
from fleet.devcluster.judging.judge import judge
from fleet.records.coordination import CoordinationUnavailable
from fleet.records.record import Document, DocumentName, ShardMap, ShardRecord, ShardStatus
from fleet.resharding import Resharder, Wishes
from fleet.rules.handover import is_free
from fleet.rules.layout import is_settled
from shards.journal import Note
from shards.keyrange import SPACE, KeyRange

PODS = ("pod-0", "pod-1", "pod-2")
FEW, MANY = 16, 64
OBJECTS = 1_000
CHANGES_PER_SECOND = 50
RUNS = 20
CALM_RUNS = 5
"""So many times as well without a kill."""
LEASE_SECONDS = 8.0
LONGEST_SECONDS = 90.0
"""A reshard that has not ended by then is no reshard."""
MIDDLE_SECONDS = 1.0
"""The coordinator is killed at any moment up to so long after the write that begins a reshard."""


T = TypeVar("T")


@dataclass
class Times:
    """Of several reshards, in seconds. unowned: the longest of any key."""

    whole: list[float | None] = field(default_factory=list)
    unowned: list[float | None] = field(default_factory=list)


@dataclass
class Found:
    """Of all runs. gaps: of the hash space, without an owner after a reshard had ended. lapsed: memberships that ended
    while a single shard was cut, because the server did not answer for too long: what they lose, no reshard took."""

    calm: Times = field(default_factory=Times)
    killed: Times = field(default_factory=Times)
    gaps: int = 0
    lapsed: int = 0
    touched: int = 0
    untouched: int = 0
    kills: int = 0


async def measure(bench: Bench) -> list[Row]:
    async def on(server: BenchServer) -> list[Row]:
        async with staged(server, "resharding", bench.directory) as stage:
            found = await _runs(stage, bench)
            verdict = judge(stage.writes())
        where = f"{FEW} to {MANY} to {FEW} shards, {found.kills} coordinators killed, {server.name}"
        for finding in verdict.findings:
            say(f"{server.name}: {finding}")
        calm = found.calm.unowned
        touched = f"a split and a merge: moved of {found.untouched} shards not concerned, {server.name}"
        return [
            Row(f"reshard {where}: overlaps", verdict.overlap_violations + verdict.writes_after_release, "", 0),
            Row(f"reshard {where}: gaps after it has ended", found.gaps, "", 0),
            Row(touched, found.touched, "", 0),
            Row(f"memberships that lapsed meanwhile, {server.name}", found.lapsed, "", None),
            *median_and_worst(f"reshard {where}: until every shard is owned", found.killed.whole, "s", None),
            *median_and_worst(f"reshard {where}: a key without an owner", found.killed.unowned, "s", None),
            *median_and_worst(f"reshard, nobody killed, {server.name}: a key without an owner", calm, "s", None),
        ]

    return await on_each_server(bench, "resharding", on)


async def _runs(stage: Stage, bench: Bench) -> Found:
    await stage.depot.fill(bench.size(OBJECTS, 100))
    stage.configure(shards=FEW, per_pod=1, coordination={"leaseSeconds": LEASE_SECONDS})
    await stage.coordination.write_document(Document(DocumentName.CONFIG, stage.config.read_text(), ""))
    for pod in PODS:
        stage.start(pod)
    await stage.until_even([f"{pod}-0" for pod in PODS], FEW)
    found, rng = Found(), random.Random(16)
    async with stage.depot.busy(CHANGES_PER_SECOND):
        for run in range(bench.size(RUNS, 1)):
            for count in (MANY, FEW):
                kill_after = rng.uniform(0.0, MIDDLE_SECONDS)
                await _reshard(stage, Wishes(count=count), found, found.killed, kill_after=kill_after)
            await _cut_one(stage, found, rng)
            if run < CALM_RUNS:
                for count in (MANY, FEW):
                    await _reshard(stage, Wishes(count=count), found, found.calm, kill_after=None)
            whole, unowned = found.killed.whole[-2:], found.killed.unowned[-2:]
            say(f"{stage.server.name}: run {run + 1}: {whole} s, {unowned} s without an owner")
    return found


async def _reshard(
    stage: Stage, wishes: Wishes, found: Found, times: Times | None, *, kill_after: float | None
) -> ShardMap:
    """The map afterwards."""
    before = (await _map(stage)).boundaries
    began, old = time.time(), set((await _map(stage)).ranges)
    await Resharder(stage.coordination).ask(wishes)
    while (await _map(stage)).boundaries == before:
        _bounded(began)
        await asyncio.sleep(0.05)
    if kill_after is not None:
        await asyncio.sleep(kill_after)
        pod = stage.pods[await stage.coordinator_pod()]
        os.kill(pod.children()["agent"].pid, signal.SIGKILL)
        found.kills += 1
    while not _is_over(after := await _map(stage), await _shards(stage)):
        _bounded(began)
        await asyncio.sleep(0.1)
    before_look, now = await _epochs(stage), await _shards(stage)
    if await _epochs(stage) == before_look:
        found.gaps += _gaps(after, now)
    if times is not None:
        times.whole.append(time.time() - began)
        new = set(after.ranges)
        names = {str(each) for each in new}
        await stage.until(
            lambda: names <= stage.holders().keys(), within_seconds=LONGEST_SECONDS, what="every shard is open"
        )
        times.unowned.append(longest_unowned(stage.notes(), old - new, new - old, began))
    return after


async def _cut_one(stage: Stage, found: Found, rng: random.Random) -> None:
    """One range is split, and becomes one again."""
    shown = await _map(stage)
    whole = rng.choice(shown.ranges)
    before, epochs = await _shards(stage), await _epochs(stage)
    after = await _reshard(stage, Wishes(splits=((str(whole), None),)), found, None, kill_after=None)
    first, second = (each for each in after.ranges if each.overlaps(whole))
    shown_now = await _reshard(stage, Wishes(merges=((str(first), str(second)),)), found, None, kill_after=None)
    records, epochs_now = await _shards(stage), await _epochs(stage)
    lapsed = {name for name, epoch in epochs.items() if epochs_now.get(name) != epoch}
    found.lapsed += len(lapsed)
    for each, record in before.items():
        owner = record.holder.member if record.holder is not None else ""
        # The planner may move any shard at any time; a reshard gives none that stays another target.
        planned = shown.target_of(each) != shown_now.target_of(each)
        if record.status is ShardStatus.ACTIVE and each != whole and owner not in lapsed and not planned:
            found.untouched += 1
            found.touched += (record.epoch, record.holder) != (records[each].epoch, records[each].holder)


def longest_unowned(notes: Sequence[Note], left: Iterable[KeyRange], new: Iterable[KeyRange], since: float) -> float:
    """Seconds: from the moment at which the owner of a range took no keys any more, or the range that ended last of
    those that make up a new one, to the new one's open gate; the longest of all keys."""
    closed = {note.range: note.time for note in notes if step_of(note) == "draining" and note.time >= since}
    opened: dict[str, float] = {}
    for note in notes:
        if step_of(note) == "opened" and note.time >= since:
            opened.setdefault(note.range, note.time)
    pairs = [(str(one), str(other)) for one in left for other in new if one.overlaps(other)]
    return max((opened[other] - closed[one] for one, other in pairs if one in closed and other in opened), default=0.0)


def _is_over(shown: ShardMap, records: dict[KeyRange, ShardRecord]) -> bool:
    return is_settled(shown, records) and not _gaps(shown, records)


def _gaps(shown: ShardMap, records: dict[KeyRange, ShardRecord]) -> int:
    """Stretches of hashes that no active record with a holder covers, or that two do."""
    held = sorted(each for each, record in records.items() if record.holder is not None and not is_free(record, shown))
    ends = [0, *(each.last + 1 for each in held)]
    starts = [*(each.first for each in held), SPACE]
    return sum(end != start for end, start in zip(ends, starts, strict=True))


def _bounded(began: float) -> None:
    if time.time() - began > LONGEST_SECONDS:
        raise NotReached(f"a reshard has not ended after {LONGEST_SECONDS:g} s")


async def _map(stage: Stage) -> ShardMap:
    found = await _answered(stage.coordination.read_map)
    if found is None:
        raise NotReached("the fleet has no map")
    return found.map


async def _shards(stage: Stage) -> dict[KeyRange, ShardRecord]:
    return {record.range: record for record in await _answered(stage.coordination.list_shards)}


async def _epochs(stage: Stage) -> dict[str, int]:
    """Of all members: another one is another membership."""
    return {record.name: record.epoch for record in await _answered(stage.coordination.list_members)}


async def _answered(read: Callable[[], Awaitable[T]]) -> T:
    """On a machine that is as busy as this one, a request may find no answer."""
    until = time.monotonic() + LONGEST_SECONDS
    while True:
        try:
            return await read()
        except CoordinationUnavailable as error:
            if time.monotonic() > until:
                raise NotReached(str(error)) from error
