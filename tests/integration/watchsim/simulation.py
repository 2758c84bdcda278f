"""Hours of faults between informers and a server, in virtual time, from a seed.

    python -m tests.integration.watchsim.simulation --seed 7 --hours 24

prints the figures of one run, and ends with 1 where an oracle has found something.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import random
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

import shards
from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.faults.words import Word
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.storage.storage import Snapshot
from shards.api.client import Transport
from shards.api.useragent import UserAgent
from shards.informers.feed import Feed
from shards.informers.informer import Informer
from shards.journal import NO_JOURNAL
from shards.keyrange import WHOLE, KeyRange, PartitionKey, ranges_from
from shards.settings import ScopeSettings
from shards.sharing.shared_informer import SharedInformer, SharedStreams
from shards.sharing.shared_stream import StreamMaker
from shards.stores.bodies import Bodies
from shards.testing.virtual_time import loop_seconds, run_virtually
from shards.versions import at_least
from shards.watching.source import FilterMode, Source
from tests.integration.watchsim.clients import SmallPages, Wrap
from tests.integration.watchsim.truth import Truth
from tests.integration.watchsim.weather import AGENT, Weather
from tests.integration.watchsim.witness import Witness
from tests.integration.watchsim.writers import CONFIG_MAPS, NAMESPACES, Writers

HEAL_SECONDS = 240.0
"""From the end of the last fault until every view must be equal to the server: a silence that is noticed after 75 s, a
pause of 60 s that a server asked for, a backoff of 30 s, and a list."""

GROWTH_BYTES = 256 * 1024
"""What the product's own allocations may grow by between the half and the end, beside its tombstones."""

TOMBSTONE_BYTES = 600
"""Of one remembered deletion in one view, with room; their number is bounded (`shards.stores.store.TOMBSTONES`)."""

_FROM_SHARDS = str(Path(shards.__file__).parent / "*")


@dataclass
class Figures:
    """What happened. findings: what must not have; empty in a right build. seconds where nothing else is said."""

    seed: int
    hours: float
    wall: float = 0.0
    faults: dict[str, int] = field(default_factory=dict)
    written: int = 0
    told: int = 0
    watches: int = 0
    lists: int = 0
    restores: int = 0
    compactions: int = 0
    calms: int = 0
    longest_heal: float = 0.0
    grown_kib: float = 0.0
    peak_tasks: int = 0
    findings: list[str] = field(default_factory=list)


class _Counting(SmallPages):
    """Counts what is asked of the server."""

    def __init__(self, server: ApiServer, figures: Figures) -> None:
        super().__init__(InProcessTransport(server, clock=loop_seconds))
        self._figures = figures

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        self._figures.lists += 1
        return await self.inner.request(method, path, **options)

    def stream(self, path: str, **options: Any) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        self._figures.watches += 1
        return self.inner.stream(path, **options)


@dataclass
class _Watched:
    informer: Feed
    witness: Witness
    truth: Truth
    task: asyncio.Task[None]


class Simulation:
    """One run. Everything random comes from the seed."""

    def __init__(
        self,
        seed: int,
        hours: float,
        *,
        wrap: Wrap = SmallPages,
        lasting: Sequence[Word] = (),
        mean_write_seconds: float = 2.0,
    ) -> None:
        """wrap: what stands between each informer and the server. lasting: faults that nothing heals."""
        self.figures = Figures(seed, hours)
        self._rng = random.Random(seed)
        self._wrap = wrap
        self._lasting = lasting
        settings = ServerSettings(bookmark_seconds=self._rng.choice((10.0, 60.0)), history_limit=400)
        self.server = ApiServer(settings, rng=random.Random(seed), wall_seconds=lambda: 1.0e9 + loop_seconds())
        self.replica = self.server.another("replica")
        self._writers = Writers(self.server, random.Random(seed + 1), mean_seconds=mean_write_seconds)
        self._watched: list[_Watched] = []
        self._streams_of_one = SharedStreams()
        self._bodies = Bodies()
        self._snapshot: Snapshot | None = None
        self._asked: list[tuple[str, int, asyncio.Future[str]]] = []
        self._tasks_at_first = 0

    async def run(self, *, measure_memory: bool = False) -> Figures:
        """measure_memory: traces allocations, which takes twice the time."""
        began = time.perf_counter()
        self._tasks_at_first = len(asyncio.all_tasks())
        writing = asyncio.create_task(self._writers.run(), name="writers")
        self._watched = [self._watch(number, source, namespace) for number, (source, namespace) in enumerate(_SOURCES)]
        self._heal()
        weather = Weather(self._rng, informers=_OWN + 1, replica=self.replica.name)
        try:
            await self._storm(weather, self.figures.hours * 1800.0)
            half = self._traced() if measure_memory else 0
            deleted = self._writers.deleted
            await self._storm(weather, self.figures.hours * 3600.0)
            if measure_memory:
                self._grown(self._traced() - half, self._writers.deleted - deleted)
        finally:
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing
            await self._stop()
        self._settle(began)
        return self.figures

    def _watch(self, number: int, source: Source, namespace: str) -> _Watched:
        truth = Truth(self.server, source, namespace)
        witness = Witness(f"{AGENT}-{number}", truth)
        transport = self._wrap(_Counting(self.server, self.figures))
        informer = (self._own if number < _OWN else self._shared)(
            transport, source, namespace, number, witness, lambda: witness.progressed(informer)
        )
        return _Watched(informer, witness, truth, asyncio.create_task(informer.run(), name=f"informer {number}"))

    def _own(
        self,
        transport: Transport,
        source: Source,
        namespace: str,
        number: int,
        witness: Witness,
        on_progress: Callable[[], None],
    ) -> Feed:
        return Informer(
            transport,
            source,
            handler=witness.changed,
            on_progress=on_progress,
            clock=loop_seconds,
            rng=random.Random(f"{self.figures.seed} {number}"),
            namespace=namespace,
            user_agent=f"fleet/test {AGENT}-{number}",
        )

    def _shared(
        self,
        transport: Transport,
        source: Source,
        namespace: str,
        number: int,
        witness: Witness,
        on_progress: Callable[[], None],
    ) -> Feed:
        """The parts of one stream: what the first one brings serves all."""
        agent = UserAgent("fleet/test", f"{AGENT}-{_OWN}", reason="informer")
        rng = random.Random(f"{self.figures.seed} shared")
        return SharedInformer(
            self._streams_of_one,
            StreamMaker(transport, loop_seconds, rng, None, agent, namespace),
            source,
            handler=witness.changed,
            on_progress=on_progress,
            clock=loop_seconds,
            journal=NO_JOURNAL,
            bodies=self._bodies,
        )

    # ------------------------------------------------------------------ bad weather

    async def _storm(self, weather: Weather, until: float) -> None:
        """Ends in calm, all views compared."""
        rounds = 0
        while loop_seconds() < until and not self.figures.findings:
            rounds += 1
            await self._round(weather)
            if rounds % 10 == 0:
                await self._calm()
        await self._calm()

    async def _round(self, weather: Weather) -> None:
        rng, faults = self._rng, self.server.faults
        held = []
        for _ in range(rng.choice((1, 1, 2, 3))):
            word, seconds = weather.draw()
            kind = type(word).__name__
            self.figures.faults[kind] = self.figures.faults.get(kind, 0) + 1
            injection = faults.inject(word)
            held.append((loop_seconds() + seconds, injection))
        for ends, injection in sorted(held, key=lambda each: each[0]):
            await self._elapse(ends)
            injection.release()
        await asyncio.sleep(rng.choice((0.0, 1.0, 30.0)))

    async def _elapse(self, until: float) -> None:
        """Until that time, with what happens at a server by itself in between."""
        while (left := until - loop_seconds()) > 0:
            await asyncio.sleep(min(left, self._rng.expovariate(1 / 30.0)))
            if self._rng.random() < 0.5:
                await self._happen()

    async def _happen(self) -> None:
        rng, server = self._rng, self.server
        match rng.randrange(12):
            case 0 | 1:
                server.watching.end()
            case 2:
                server.cache.restart()
            case 3 | 4:
                self.figures.compactions += 1
                server.storage.compact(watches=False)
            case 5:
                self.figures.compactions += 1
                server.storage.compact()
                if rng.random() < 0.5:
                    server.watching.end()
            case 6:
                for front in (server, self.replica):
                    front.settings.watch_expired_as_status = rng.random() < 0.5
                    front.settings.too_large_cause = rng.random() < 0.5
            case 7:
                server.settings.sharded_list_and_watch = rng.random() < 0.5
            case 8 | 9:
                each = rng.choice(self._watched)
                self._asked.append((str(server.storage.version), each.truth.restores, each.informer.relist()))
            case 10:
                self._snapshot = server.storage.snapshot()
            case _:
                await self._restore()

    async def _restore(self) -> None:
        """A backup. Where versions go back, nobody writes until the views have noticed: a version that was reached
        again means something else than before, and no client could tell."""
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is None:
            return
        self.figures.restores += 1
        storage = self.server.storage
        if self._rng.random() < 0.7:
            storage.restore(snapshot, bump=storage.version - snapshot.version + self._rng.randrange(1, 1000))
            return
        for each in self._watched:
            each.truth.restores += 1
        self._writers.pause()
        storage.restore(snapshot)
        await self._calm()

    # ------------------------------------------------------------------ calm

    async def _calm(self) -> None:
        """Everything is healed and nobody writes: the views have to become equal to the server."""
        self._heal()
        self._writers.pause()
        began = loop_seconds()
        while (differences := self._differences()) and loop_seconds() < began + HEAL_SECONDS:
            await asyncio.sleep(0.5)
        figures = self.figures
        figures.calms += 1
        figures.longest_heal = max(figures.longest_heal, loop_seconds() - began)
        figures.findings += differences
        for each in self._watched:
            figures.findings += each.witness.findings
            if each.task.done():
                figures.findings.append(f"an informer has ended: {each.task.exception()!r}")
        await asyncio.sleep(1.0)
        self._look_at_lists()
        self._look_at_tasks()
        self._writers.go_on()

    def _heal(self) -> None:
        self.server.faults.clear()
        for word in self._lasting:
            self.server.faults.inject(word)

    def _differences(self) -> list[str]:
        found: list[str] = []
        for each in self._watched:
            found += islice(each.witness.differences(each.informer), 3)
        late = sum(not future.done() for _, _, future in self._asked)
        return [*found, *([f"{late} lists that were asked for have not come"] if late else [])]

    def _look_at_lists(self) -> None:
        """Lists that were asked for are at least as new as the server was then, unless it was restored since."""
        asked, self._asked = self._asked, []
        for version, restores, future in asked:
            known = future.done() and restores == self._watched[0].truth.restores
            if known and not at_least(future.result(), version):
                self.figures.findings.append(f"a list at {future.result()} was asked for at {version}")

    def _look_at_tasks(self) -> None:
        """Beside the one that looks: the writers, two an informer, and no request that is still under way."""
        tasks = len(asyncio.all_tasks()) - self._tasks_at_first
        self.figures.peak_tasks = max(self.figures.peak_tasks, tasks)
        if tasks > 1 + 3 * len(self._watched):
            names = Counter(task.get_name().rstrip("0123456789") for task in asyncio.all_tasks())
            self.figures.findings.append(f"{tasks} tasks are left in calm: {dict(names)}")
        streams = self._streams()
        if streams > len(self._watched):
            self.figures.findings.append(f"{streams} watches of {len(self._watched)} informers are open in calm")

    def _streams(self) -> int:
        return len(self.server.watching.streams) + len(self.replica.watching.streams)

    # ------------------------------------------------------------------ the end

    async def _stop(self) -> None:
        for each in self._watched:
            each.task.cancel()
        await asyncio.gather(*(each.task for each in self._watched), return_exceptions=True)
        # Writes that a fault holds back land now; they belong to the network, not to the informers.
        self.server.faults.clear()
        for _ in range(10):
            await asyncio.sleep(0)

    def _settle(self, began: float) -> None:
        figures = self.figures
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if left:
            figures.findings.append(f"tasks are left at the end: {sorted(task.get_name() for task in left)[:5]}")
        if streams := self._streams():
            figures.findings.append(f"{streams} watches are open at the end")
        self.server.close()
        self.replica.close()
        figures.wall = round(time.perf_counter() - began, 1)
        figures.longest_heal = round(figures.longest_heal, 1)
        figures.written = self._writers.written
        figures.told = sum(each.witness.told for each in self._watched)

    def _traced(self) -> int:
        """Bytes that files of the product hold, garbage collected."""
        gc.collect()
        taken = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, _FROM_SHARDS)])
        return sum(each.size for each in taken.statistics("filename"))

    def _grown(self, by: int, deleted: int) -> None:
        self.figures.grown_kib = round(by / 1024, 1)
        allowed = GROWTH_BYTES + deleted * TOMBSTONE_BYTES * len(self._watched)
        if by > allowed:
            self.figures.findings.append(f"{by} bytes more are in use than at the half; {allowed} would be right")


def _source(covered: KeyRange, mode: FilterMode, labels: str = "") -> Source:
    return Source(CONFIG_MAPS, covered, PartitionKey.UID, ScopeSettings(label_selector=labels), mode, "primary")


_LOW, _HIGH = ranges_from((0, 1 << 63))
_SOURCES = (
    (_source(WHOLE, FilterMode.LOCAL), ""),
    (_source(_LOW, FilterMode.SHARD_SELECTOR), ""),
    (_source(_HIGH, FilterMode.LOCAL, "tier=front"), NAMESPACES[0]),
    (_source(_LOW, FilterMode.LOCAL), ""),
    (_source(_HIGH, FilterMode.LOCAL), ""),
)
"""Each with its namespace: everything; a half that the server filters, as long as it does; a filtered half of one
namespace, which objects enter and leave by their labels; both halves of one stream that they share."""

_OWN = 3
"""So many of them have a stream of their own."""


def simulate(
    seed: int,
    hours: float,
    *,
    wrap: Wrap = SmallPages,
    lasting: Sequence[Word] = (),
    mean_write_seconds: float = 2.0,
    measure_memory: bool = False,
) -> Figures:
    """One run on virtual time."""

    async def main() -> Figures:
        simulation = Simulation(seed, hours, wrap=wrap, lasting=lasting, mean_write_seconds=mean_write_seconds)
        return await simulation.run(measure_memory=measure_memory)

    if not measure_memory:
        return run_virtually(main())
    tracemalloc.start()
    try:
        return run_virtually(main())
    finally:
        tracemalloc.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="0: of the present time")
    parser.add_argument("--hours", type=float, default=24.0)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    seed = options.seed or int(time.time())
    figures = simulate(seed, options.hours, mean_write_seconds=4.0, measure_memory=True)
    print(msgspec.json.format(msgspec.json.encode(figures), indent=2).decode())
    sys.exit(bool(figures.findings))


if __name__ == "__main__":
    main()
