"""The keys of one engine that the gate holds back: when they are looked at, and the live reads that settle them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from shards.authoring.controller import Controller
from shards.errors import ShardError, asked_seconds
from shards.gates.own_writes import Barrier, Blocked
from shards.gates.parking import Parked, Parking
from shards.informers.namespaced_store import NamespacedReader
from shards.journal import Note
from shards.keyrange import KeyRange
from shards.objects import Key, Object, ObjectName, Resource, meta_of
from shards.ownership.fence import Fence
from shards.ownership.overlay import Live
from shards.ownership.view import Place, View, Views
from shards.queue.workqueue import WorkQueue
from shards.reconciling.gate_meters import GateMeters
from shards.runtime import WorkerRuntime

log = logging.getLogger(__name__)

SECONDS_PER_LOOK = 20e-6
"""Pause after a look at all keys that wait for a resource, per key: ten times what the look costs. Else, with ten
thousand keys parked, every event would cost a look at all of them."""


Relist = Callable[[Resource], asyncio.Future[str]]

BLIND_SECONDS = 10.0
"""Pause of a key whose namespace may not be seen; longer than a new list takes to bring its changes."""


class ParkedKeys:
    """What the engine holds back, without a failure, a slot, or an end that time alone could bring.

    relist: asks for a list of the resource's view that begins from then on. ring: makes the engine look.
    Invariant: a key of `overlays` is queued and will run on those objects without asking the gate, because a live read
    has just settled what it asked, in the history that its views are of.
    """

    def __init__(
        self,
        controller: Controller,
        shard: KeyRange,
        runtime: WorkerRuntime,
        stores: Views,
        queue: WorkQueue[Key],
        meters: GateMeters,
        *,
        relist: Relist,
        ring: Callable[[], None],
    ) -> None:
        self.parking = Parking(runtime.rng)
        self.overlays: dict[Key, dict[Place, Live]] = {}
        self.settling: dict[Key, asyncio.Task[None]] = {}
        self._controller = controller.name
        self._primary = controller.primary
        self._shard = shard
        self._runtime = runtime
        self._stores = stores
        self._queue = queue
        self._meters = meters
        self._relist = relist
        self._ring = ring
        self._listing: dict[Resource, asyncio.Future[str]] = {}
        self._moved: dict[Resource, None] = {}  # as a set, but in the order in which they moved
        self._look_at = 0.0
        self._regressions = {resource: store.regressions for resource, store in stores.items()}
        self._setbacks = 0
        """How often a history was seen to have gone back."""
        self._by_namespace = [store for store in stores.values() if isinstance(store, NamespacedReader)]

    def __len__(self) -> int:
        return len(self.parking)

    @property
    def gated(self) -> bool:
        """Whether anything is held back here now (feature gate VersionGate)."""
        return self._runtime.gates.version_gate(self._controller, self._shard)

    def release_all(self) -> None:
        """The gate was switched off: what it held back is ready. What was written stays on record."""
        now = self._runtime.clock()
        for key in tuple(self.parking.keys):
            self.parking.release(key)
            self._queue.add(key, now)

    def moved(self, resource: Resource) -> bool:
        """The view of the resource has moved. Whether somebody waits for it."""
        if not self.parking.keys and self._stores[resource].regressions == self._regressions[resource]:
            return False
        self._moved[resource] = None
        return True

    def look(self, fence: Fence, now: float) -> float | None:
        """Queues the keys whose views show all their writes by now. Returns when to look again; None: after a move."""
        if not self._moved:
            return None
        if now < self._look_at:
            return self._look_at
        looks = 0
        self._compare_histories(fence)
        for resource in self._moved:
            for key in self.parking.on(resource):
                looks += 1
                if fence.writes.shown(key, self._stores):
                    self._queue.add(key, now)
        self._moved.clear()
        self._look_at = now + looks * SECONDS_PER_LOOK
        return None

    def held_back(self, fence: Fence, key: Key, now: float, wake: Callable[[], None]) -> bool:
        """Whether the key, which the queue has just handed out, must wait; it is parked then, and done in the queue.

        wake: called when a live read has settled what the key waits for.
        """
        if self._by_namespace and self._out_of_sight(key):
            self._queue.add_after(key, BLIND_SECONDS, now)
            self._queue.done(key, now)
            return True
        self._compare_histories(fence)
        if key in self.overlays:
            return False
        blocked = fence.writes.blocked(key, self._stores)
        if blocked is None:
            self.parking.caught_up(key)
            return False
        if not self.gated:
            self._meters.not_held(blocked.resources)
            return False
        self._park(fence, key, blocked, now, wake)
        return True

    def overdue(self, fence: Fence, now: float) -> list[Key]:
        """Keys that nobody holds back, because nothing has woken them, though their last writes are not shown, or the
        end of what they deleted.

        Forgets what the views show by now, and what it remembers of keys that wait for nothing any more.
        """
        self.parking.sweep(lambda key: key in fence.writes)
        overdue = fence.writes.sweep(self._stores, now)
        if not self.gated:
            return []
        overdue += fence.doomed.sweep(self._stores, fence.writes, now)
        return [key for key in overdue if key not in self.parking.keys]

    def _out_of_sight(self, key: Key) -> bool:
        """Whether nobody knows what is going on in the key's namespace, so that nothing is decided about it."""
        blind = any(store.blind(key.namespace) for store in self._by_namespace)
        return blind and self.gated

    def take(self, key: Key) -> dict[Place, Live] | None:
        """The key runs. Returns the objects that were read live for it."""
        if not (self.parking.keys or self.overlays):
            return None
        overlay = self.overlays.pop(key, None)
        parked = self.parking.keys.get(key)
        if parked is not None:
            self._meters.released(self._runtime.clock() - parked.since)
            self.parking.release(key, lagging=overlay is not None)
        return overlay

    def give_up(self, key: Key) -> None:
        """The key is not to run any more: nobody holds it back, and what was read for it is of no use."""
        if self.parking.keys or self.overlays:
            self.overlays.pop(key, None)
            self.parking.release(key)

    async def close(self) -> None:
        """Cancels the live reads."""
        tasks = tuple(self.settling.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _compare_histories(self, fence: Fence) -> None:
        """Before every decision: changes of a list that went back are told one by one, and keys may run meanwhile."""
        for resource, store in self._stores.items():
            regressions = store.regressions
            if regressions != self._regressions[resource]:
                self._regressions[resource] = regressions
                fence.history_lost(resource)
        if fence.setbacks != self._setbacks:
            self._setbacks = fence.setbacks
            self.overlays.clear()

    def _ask_for_lists(self, fence: Fence) -> None:
        """Of what only a list can show, unless one is under way: what is needed since then is asked for after it."""
        levels = fence.writes.levels
        for resource in [each for each in levels.lists() if each not in self._listing]:
            listing = self._listing[resource] = self._relist(resource)
            listing.add_done_callback(partial(self._listed, fence, resource, levels.numbers))

    def _listed(self, fence: Fence, resource: Resource, number: int, listing: asyncio.Future[str]) -> None:
        del self._listing[resource]
        if not listing.cancelled():
            fence.writes.levels.listed(resource, number)
            self._moved[resource] = None
            self._ring()

    def _park(self, fence: Fence, key: Key, blocked: Blocked, now: float, wake: Callable[[], None]) -> None:
        known = self.parking.keys.get(key)
        probes = known.probes if known is not None else 0
        delay = self.parking.park(key, blocked, now)
        parked = self.parking.keys[key]
        self._meters.skipped(blocked.resources)
        # In this order: what the key waits for keeps the priority of the run that was to be.
        self._queue.add_after(key, delay, now)
        self._queue.done(key, now)
        if known is None:
            for resource in blocked.resources:
                self._runtime.metrics.parks.labels(self._controller, str(resource)).inc()
            if self._runtime.journal.on:
                views = {str(each): self._stores[each].resource_version for each in blocked.resources}
                self._runtime.journal.write(
                    Note(
                        "parked",
                        now,
                        controller=self._controller,
                        key=str(key),
                        uid=key.uid,
                        cause=blocked.reason,
                        views=views,
                    )
                )
        if blocked.whole:
            self._ask_for_lists(fence)
            return
        overdue = blocked.needs_read or now - parked.since >= self._runtime.settings.gate.live_read_after_seconds
        if overdue and parked.probes > probes and key not in self.settling:
            task = asyncio.create_task(self._settle(fence, key, parked, wake), name=f"live read {key}")
            self.settling[key] = task
            task.add_done_callback(lambda _: self.settling.pop(key, None))

    async def _settle(self, fence: Fence, key: Key, parked: Parked, wake: Callable[[], None]) -> None:
        """Reads live what the key's writes became; the key then runs once on what was read. Takes no slot."""
        setbacks = fence.setbacks
        try:
            overlay = await self._read_live(fence, key)
        except ShardError as error:
            now, asked = self._runtime.clock(), asked_seconds(error)
            self._queue.pause(key, asked, now)
            self.parking.pause(key, now, asked)
            log.warning("%s %s waits: %s; live read failed: %s", self._controller, key, parked.blocked.reason, error)
            return
        except Exception:  # an answer that is no object, say: it must cost this key only, and be asked for again
            self.parking.pause(key, self._runtime.clock())
            log.exception("live read of %s %s", self._controller, key)
            return
        self._compare_histories(fence)
        # A key that was freed meanwhile may have written again: what was read is too old for it then. So is what may
        # have been read in a history that is over.
        if overlay is not None and self.parking.keys.get(key) is parked and setbacks == fence.setbacks:
            self.overlays[key] = overlay
            self._queue.add(key, self._runtime.clock())
            wake()

    async def _read_live(self, fence: Fence, key: Key) -> dict[Place, Live] | None:
        """The objects of all writes that the view does not show; None when the budget does not allow it now."""
        overlay: dict[Place, Live] = {}
        for barrier in fence.writes.waiting(key, self._stores):
            place = (barrier.resource, barrier.name)
            if place not in overlay and not fence.live.affordable():
                fence.live.unaffordable()
                return None
            agent = fence.user_agent(View(self._primary, key, self._stores), barrier.resource, "gate")
            if not barrier.name.name:
                await self._find_nameless(fence, barrier, overlay, agent)
                continue
            if place not in overlay:
                held = fence.held(*place)
                found = await fence.live.read(*place, purpose="gate", user_agent=agent)
                fence.compare_read(barrier.resource, held, found)
                overlay[place] = self._seen_live(fence, barrier.resource, found, barrier.resource_version)
            self._settle_with(fence, barrier, overlay[place])
        return overlay

    async def _find_nameless(self, fence: Fence, barrier: Barrier, overlay: dict[Place, Live], agent: str) -> None:
        """A create with a generated name whose answer was lost: it is among the key's children, or never happened."""
        source = fence.sources[barrier.resource]
        if source.role == "owned":
            for child in await fence.live.children(barrier.resource, barrier.key, purpose="gate", user_agent=agent):
                meta = meta_of(child)
                name = ObjectName(meta.namespace, meta.name)
                overlay[barrier.resource, name] = self._seen_live(fence, barrier.resource, child, "")
                fence.writes.read(barrier.key, barrier.resource, name, meta.uid, meta.resource_version)
        fence.writes.failed(barrier)

    def _seen_live(self, fence: Fence, resource: Resource, found: Object | None, last_version: str) -> Live:
        if found is None:
            return Live(None, last_version)
        delivered = fence.reached(resource, meta_of(found))
        return Live(found, found["metadata"]["resourceVersion"], hidden=not delivered)

    def _settle_with(self, fence: Fence, barrier: Barrier, live: Live) -> None:
        found = live.object
        meta = None if found is None else meta_of(found)
        fence.writes.settle(barrier, meta, self._stores[barrier.resource], admitted=not live.hidden)
