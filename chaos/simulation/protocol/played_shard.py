"""A shard without informers, queues and reconcile functions: what it sees and does is modelled, its gates are real."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

from chaos.simulation.happenings import Acted, Closed, Happening, Opened
from chaos.simulation.protocol.acts import Act, Acts
from chaos.simulation.protocol.server import Thing
from chaos.simulation.protocol.shard_host import ShardHost
from chaos.simulation.protocol.things import THINGS, ThingWatcher
from fleet.records.record import Holder
from shards.errors import NotOwner
from shards.gates.handover_gate import HandoverGate, mark_of
from shards.gates.watermark import Watermark
from shards.handover import until_open
from shards.keyrange import KeyRange
from shards.objects import Key
from shards.ownership.tenure import Tenure
from shards.queue.failing_keys import FailingKey
from shards.queue.waiting_keys import WaitingKey
from shards.reconciling.figures import Figures
from shards.reconciling.key_costs import Middle
from shards.versions import newest

VIEW = str(THINGS)
DIGEST = "simulated"
PATIENCE_SECONDS = 2.0
"""How long a gate waits for its watermark before it lists instead: the default of the fleet's config."""

_LOAD = dict.fromkeys(
    ("queue_depth", "parked", "failing", "waiting", "paused", "quarantined", "reconcile_seconds_per_second"), 0.0
)


class PlayedShard:
    """See `fleet.workers.owned_shard.OwnedShard`."""

    outdated = False

    def __init__(self, each: KeyRange, host: ShardHost) -> None:
        self.range = each
        self.open = False
        self._host = host
        self._clock = host.process.clock
        self._tenure: Tenure | None = None
        self._gate: HandoverGate | None = None
        self._moved = asyncio.Event()
        self._told_open = self._started = self._stopped = False
        self._watcher = ThingWatcher(
            each,
            host.wire,
            author=host.process,
            clock=self._clock,
            rng=host.rng,
            changed=self._changed,
            progressed=self._progressed,
        )
        self._acts = Acts(self._watcher, host, self._told)
        informer = SimpleNamespace(
            relist=self._watcher.relist, synced=SimpleNamespace(is_set=lambda: self._watcher.synced)
        )
        self._views: Mapping[str, Any] = {VIEW: SimpleNamespace(store=self._watcher.store, informer=informer)}
        self._stores = {VIEW: self._watcher.store}
        self._runtime = cast(
            "Any",
            SimpleNamespace(
                clock=self._clock,
                settings=SimpleNamespace(gate=SimpleNamespace(live_read_after_seconds=PATIENCE_SECONDS)),
            ),
        )

    # -- what its view says -----------------------------------------------------------------------------------------

    def _changed(self, uid: str) -> None:
        self._acts.wake(uid)

    def _progressed(self) -> None:
        self._moved.set()
        self._acts.go_on()

    def _open_view(self) -> None:
        if not self._started:
            self._started = True
            self._watcher.start()

    # -- what its owner asks ----------------------------------------------------------------------------------------

    async def prewarm(self) -> None:
        self._open_view()
        while not self._watcher.synced:
            self._moved.clear()
            await self._moved.wait()

    async def activate(self, tenure: Tenure, watermark: Watermark | None, *, previous_epoch: int) -> None:
        self._tenure = tenure
        self._gate = HandoverGate(watermark, previous_epoch, {VIEW: DIGEST})
        await until_open(
            self._gate,
            self._views,
            self._runtime,
            self._moved,
            self.range,
            check=lambda: self._check(tenure),
            open_views=self._open_view,
        )
        await self.prewarm()
        self._check(tenure)
        self.open = self._told_open = True
        host = self._host
        self._hear(
            Opened(
                host.wire.network.now,
                host.process.label,
                Holder(tenure.member, tenure.member_epoch),
                self.range,
                tenure.shard_epoch,
                lambda: self._clock.to_true(tenure.deadline()),
            )
        )
        self._acts.begin(tenure)

    def _check(self, tenure: Tenure) -> None:
        if self._stopped or not tenure.valid(self._clock()):
            raise NotOwner(f"the tenure of {self.range} ended before its gate was open")

    async def drain(self, grace_seconds: float) -> Watermark:
        self.open = False
        tenure = self._tenure
        assert tenure is not None, "only an activated shard is drained"
        try:
            await self._acts.end(min(grace_seconds, tenure.deadline() - self._clock()))
        finally:
            tenure.end()
        self._tell_closed()
        return self._watermark(tenure.shard_epoch)

    def _watermark(self, epoch: int) -> Watermark:
        """As `shards.handover.watermark_of`."""
        store, writes = self._watcher.store, self._acts.writes
        if self._gate is None or not self._gate.open(self._stores):
            return Watermark(epoch)
        barriers = writes.unseen({THINGS: store}).get(THINGS, [])
        certain = not store.regressions and THINGS not in writes.levels.lists() and self._watcher.synced
        mark = mark_of(DIGEST, THINGS, newest(store.highest_object_version, self._acts.highest), barriers)
        return Watermark(epoch, {VIEW: mark} if mark is not None and certain else {})

    async def stop(self) -> None:
        self._stopped = True
        self.open = False
        if self._tenure is not None:
            self._tenure.end()
        try:
            await self._acts.end(0.0)
        finally:
            self._watcher.close()
            self._moved.set()
        self._tell_closed()

    def _tell_closed(self) -> None:
        if self._told_open and self._tenure is not None:
            self._told_open = False
            host = self._host
            self._hear(Closed(host.wire.network.now, host.process.label, self.range, self._tenure.shard_epoch))

    def _told(self, act: Act, stored: Thing) -> None:
        """At the server: it has accepted an act."""
        tenure, host = act.tenure, self._host
        request = host.wire.server.request
        assert request is not None, "only requests act"
        host.hear(
            Acted(
                host.wire.network.now,
                host.process.label,
                Holder(tenure.member, tenure.member_epoch),
                self.range,
                tenure.shard_epoch,
                stored.hash,
                act.thing.version,
                stored.version,
                request.sent_at,
                request.late,
            )
        )

    def _hear(self, happening: Happening) -> None:
        if self._host.process.alive:
            self._host.hear(happening)

    # -- what it reports --------------------------------------------------------------------------------------------

    @property
    def closed(self) -> str:
        return "" if self.open else "its views are being listed"

    @property
    def view_age(self) -> float:
        return self._clock() - self._watcher.current_at

    def load(self) -> dict[str, float]:
        objects = float(len(self._watcher.things))
        return {"objects": objects, "reconciles_per_second": 0.0, "measured_seconds": 1000.0, **_LOAD}

    def middle(self) -> Middle | None:
        return None

    def failing(self, most: int) -> list[FailingKey]:
        return []

    def waiting(self, most: int) -> list[WaitingKey]:
        return []

    def generation_of(self, controller: str, key: Key) -> int | None:
        return None

    def figures(self) -> list[Figures]:
        return []

    def namespaces(self) -> Mapping[str, int]:
        return {}

    def measure(self) -> None: ...

    def pulse(self) -> dict[str, float]:
        return {}
