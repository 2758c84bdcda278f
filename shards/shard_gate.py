"""The handover gate of one shard, for as long as somebody asks for it: the feature gate VersionGate may be switched on
or off while the shard runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from shards.errors import NotOwner
from shards.gates.handover_gate import HandoverGate
from shards.gates.watermark import Watermark
from shards.handover import until_open
from shards.keyrange import KeyRange
from shards.reconciling.engine import Engine
from shards.runtime import WorkerRuntime
from shards.shard_views import ShardView
from shards.stores.store import StoreReader

LAPSED_SECONDS = 1.0
"""Pause before the next try of a gate that is opened late, where the tenure had lapsed."""


class ShardGate:
    """Opened once, before the first reconcile of a controller for which the feature is on.

    A shard that was activated while it was off goes through the gate when it is switched on: its views may still be
    older than what the previous owner wrote. Its controllers begin nothing meanwhile. The views are shared, and so is
    the gate: on for one controller of the shard, all of them wait for it when the shard is activated.

    passed: it was open while somebody asked. Lives from `activate` to `close`.
    """

    def __init__(
        self,
        range: KeyRange,
        runtime: WorkerRuntime,
        views: Mapping[str, ShardView],
        engines: Sequence[Engine],
        moved: asyncio.Event,
    ) -> None:
        """moved: set when a view has."""
        self.passed = False
        self._range = range
        self._runtime = runtime
        self._views = views
        self._engines = engines
        self._moved = moved
        self._gate: HandoverGate | None = None
        self._changed = asyncio.Event()
        self._activating = False
        """`activate` waits: nothing runs yet that would have to be held."""
        self._passing: asyncio.Task[None] | None = None
        self._check: Callable[[], None] = _unchecked
        self._open_views: Callable[[], None] = _unchecked
        self._end_told = runtime.gates.tell(self._switched)

    @property
    def wanted(self) -> bool:
        return any(engine.parked.gated for engine in self._engines)

    @property
    def reason(self) -> str:
        """Why it is closed; "" when it is open, or not there yet."""
        return self._gate.reason(self._stores) if self._gate is not None and self.wanted else ""

    @property
    def leaves_mark(self) -> bool:
        """Whether the views include what previous owners did: only then do they say anything to the next one."""
        return self.passed or (self._gate is not None and self._gate.open(self._stores))

    async def activate(
        self,
        watermark: Watermark | None,
        previous_epoch: int,
        *,
        check: Callable[[], None],
        open_views: Callable[[], None],
    ) -> None:
        """Returns when it is open, or nobody asks for it. The arguments are those of `until_open`, and of a claim."""
        digests = {name: view.source.digest for name, view in self._views.items()}
        self._gate = HandoverGate(watermark, previous_epoch, digests)
        for name, view in self._views.items():
            if view.informer.blind:
                self._gate.demand_list(name)  # what is not seen reaches no mark
        self._check, self._open_views = check, open_views
        self._activating = True
        try:
            await self._pass(self._gate)
        finally:
            self._activating = False

    async def close(self) -> None:
        self._end_told()
        if self._passing is not None:
            self._passing.cancel()
            await asyncio.gather(self._passing, return_exceptions=True)

    async def _pass(self, gate: HandoverGate) -> None:
        """Until it is open, or nobody asks for it any more."""
        began = self._runtime.clock()
        while self.wanted and not self.passed:
            opening = asyncio.create_task(self._until_open(gate), name=f"gate {self._range.short}")
            try:
                await self._ended_or_unwanted(opening)
            finally:
                ended = opening.done()
                opening.cancel()
                await asyncio.wait({opening})
            if ended:
                how = opening.result()
                self.passed = True
                self._runtime.metrics.handover_seconds.labels(how).observe(self._runtime.clock() - began)

    async def _ended_or_unwanted(self, opening: asyncio.Task[str]) -> None:
        while self.wanted and not opening.done():
            self._changed.clear()
            switched = asyncio.create_task(self._changed.wait(), name=f"switch {self._range.short}")
            try:
                await asyncio.wait({opening, switched}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                switched.cancel()

    async def _until_open(self, gate: HandoverGate) -> str:
        return await until_open(
            gate,
            self._views,
            self._runtime,
            self._moved,
            self._range,
            check=self._check,
            open_views=self._open_views,
        )

    def _switched(self) -> None:
        """A feature gate was switched, here or elsewhere."""
        self._changed.set()
        closed = self._gate is not None and not self.passed and not self._activating
        for engine in self._engines:
            engine.tally.begin_anew()
            if closed and engine.parked.gated:
                engine.hold()
            else:
                engine.go_on()
        if closed and self.wanted and self._passing is None:
            self._passing = asyncio.create_task(self._pass_late(), name=f"late gate {self._range.short}")

    async def _pass_late(self) -> None:
        """The shard runs already. Whoever runs it stops it when its tenure is over; what lapsed may be renewed late."""
        assert self._gate is not None, "a shard that was not activated holds nothing"
        try:
            while True:
                try:
                    await self._pass(self._gate)
                    break
                except NotOwner:
                    await asyncio.sleep(LAPSED_SECONDS)
        finally:
            self._passing = None
        for engine in self._engines:
            if self.passed or not engine.parked.gated:
                engine.go_on()

    @property
    def _stores(self) -> Mapping[str, StoreReader]:
        return {name: view.store for name, view in self._views.items()}


def _unchecked() -> None: ...
