"""What the reconciles of a played shard do: one act per change of an object, behind the real gate of own writes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from chaos.simulation.protocol.server import Thing
from chaos.simulation.protocol.shard_host import ShardHost
from chaos.simulation.protocol.things import THINGS, ThingWatcher, act_of, key_of, meta_of, name_of
from shards.errors import Conflict, Undrained
from shards.gates.own_writes import Barrier, OwnWrites
from shards.ownership.tenure import Tenure
from shards.reconciling.engine import NO_TENURE_SECONDS
from shards.versions import newest

THINK_SECONDS = 0.02
"""Most that a reconcile takes between its look at the view and its request; one in fifty takes ten times as long."""

STUBBORN = 0.004
"""Part of the reconciles that cannot be cancelled: who drains them has to end the process."""

ACT_SECONDS = 30.0
"""Longest request for an object: the transport's default."""


class Act:
    """One reconcile under way. thing: the object as it was decided on. stubborn: it cannot be cancelled."""

    __slots__ = ("barrier", "request", "stubborn", "tenure", "thing", "timer")

    def __init__(self, thing: Thing, tenure: Tenure, stubborn: bool) -> None:
        self.thing = thing
        self.tenure = tenure
        self.stubborn = stubborn
        self.timer: asyncio.TimerHandle | None = None
        self.request: Any = None
        self.barrier: Barrier | None = None


class Acts:
    """writes: the gate. highest: version of an object that was written. told: hears at the server of what it accepted.

    Runs between `begin` and `end`; one act per object at a time.
    """

    def __init__(self, watcher: ThingWatcher, host: ShardHost, told: Callable[[Act, Thing], None]) -> None:
        self.writes = OwnWrites()
        self.highest = ""
        self._watcher = watcher
        self._host = host
        self._told = told
        self._clock = host.process.clock
        self._tenure: Tenure | None = None
        self._running: dict[str, Act] = {}
        self._reading: dict[str, Any] = {}
        self._blocked: set[str] = set()
        self._lapsed: set[str] = set()
        """They wait for a late renewal: its answer may make the tenure valid again."""
        self._look_again: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    def begin(self, tenure: Tenure) -> None:
        """Every object is looked at once by its new owner."""
        self._tenure = tenure
        for uid in sorted(self._watcher.things):
            self.wake(uid)

    def wake(self, uid: str) -> None:
        """The object may have something to do."""
        tenure, thing = self._tenure, self._watcher.things.get(uid)
        if tenure is None or thing is None or uid in self._running or uid in self._reading:
            return
        blocked = self.writes.blocked(key_of(thing), {THINGS: self._watcher.store})
        if blocked is not None:
            self._blocked.add(uid)
            if blocked.needs_read:
                self._read(uid)
            return
        self._blocked.discard(uid)
        if thing.observed >= thing.generation:
            return
        if not tenure.valid(self._clock()):
            self._wait_for_tenure(uid)
            return
        rng = self._host.rng
        act = self._running[uid] = Act(thing, tenure, rng.random() < STUBBORN)
        self._idle.clear()
        think = THINK_SECONDS * rng.random() * (10 if rng.random() < 0.02 else 1)
        act.timer = asyncio.get_running_loop().call_later(think, self._send, act)

    def go_on(self) -> None:
        """The view has moved: what waited for it may run."""
        for uid in sorted(self._blocked):
            self.wake(uid)

    def _wait_for_tenure(self, uid: str) -> None:
        """As an engine does, which keeps its queue: a tenure that has lapsed is over only when its owner says so."""
        self._lapsed.add(uid)
        if self._look_again is None:
            self._look_again = asyncio.get_running_loop().call_later(NO_TENURE_SECONDS, self._wake_lapsed)

    def _wake_lapsed(self) -> None:
        self._look_again = None
        lapsed, self._lapsed = self._lapsed, set()
        for uid in sorted(lapsed):
            self.wake(uid)

    def _send(self, act: Act) -> None:
        act.timer = None
        thing, host = act.thing, self._host
        remaining = act.tenure.deadline() - self._clock()
        if remaining <= 0:  # R2
            self._over(act)
            return
        act.barrier = self.writes.begin(key_of(thing), THINGS, name_of(thing.uid), thing.uid, str(thing.version))
        conditional = thing.hash % 2 == 0
        act.request = host.wire.send(
            act_of(host.wire.server, thing, conditional=conditional, told=lambda stored: self._told(act, stored)),
            lambda answer, error: self._answered(act, answer, error),
            host.process,
            write=True,
            seconds=min(ACT_SECONDS, remaining),
        )

    def _answered(self, act: Act, stored: Thing | None, error: Exception | None) -> None:
        assert act.barrier is not None, "it was sent"
        if stored is not None:
            self.highest = newest(self.highest, str(stored.version))
            self.writes.landed(act.barrier, stored.uid, str(stored.version))
        elif isinstance(error, Conflict):
            self.writes.stale(act.barrier)
        else:
            self.writes.in_doubt(act.barrier)
        self._over(act)

    def _over(self, act: Act) -> None:
        uid = act.thing.uid
        if self._running.get(uid) is act:
            del self._running[uid]
            if not self._running:
                self._idle.set()
            self.wake(uid)

    def _read(self, uid: str) -> None:
        """What a write came to is not known: a live read tells."""
        host = self._host

        def done(found: Thing | None, error: Exception | None) -> None:
            self._reading.pop(uid, None)
            thing = self._watcher.things.get(uid)
            if error is None and found is not None and thing is not None:
                view = self._watcher.store
                for barrier in self.writes.waiting(key_of(thing), {THINGS: view}):
                    self.writes.settle(barrier, meta_of(found), view, admitted=True)
            self.wake(uid)

        self._reading[uid] = host.wire.send(
            lambda: host.wire.server.things.get(uid),
            done,
            host.process,
            write=False,
            seconds=2.0,
        )

    async def end(self, grace_seconds: float) -> None:
        """Nothing begins any more. What runs may end by itself, and is cancelled after the grace. Raises Undrained."""
        self._tenure = None
        if self._look_again is not None:
            self._look_again.cancel()
            self._look_again = None
        self._lapsed.clear()
        for request in self._reading.values():
            request.abandon()
        self._reading.clear()
        if self._running and grace_seconds > 0:
            try:
                async with asyncio.timeout(grace_seconds):
                    await self._idle.wait()
            except TimeoutError:
                pass
        stubborn = False
        for uid in sorted(self._running):
            act = self._running.pop(uid)
            stubborn = stubborn or act.stubborn
            if act.timer is not None:
                act.timer.cancel()
            if act.request is not None:
                act.request.give_up()
                assert act.barrier is not None, "it was sent"
                self.writes.in_doubt(act.barrier)
        self._idle.set()
        if stubborn:
            raise Undrained("a reconcile goes on")
