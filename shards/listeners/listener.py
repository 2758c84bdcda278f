"""Who is told of a view's changes: one controller, by one route to keys of its primaries.

Routes of this package run at once. An author's mapping function may be slow, and may fail: its changes wait, one entry
for each object whatever happens to it, and are worked off in slices between other tasks of the loop. So it holds up
neither the stream nor another controller, and what waits is bounded. States that an object had in between are kept as
far as they can lead to other keys: a reconcile may have read one of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator

from shards.clock import Clock
from shards.listeners.handlers import Route
from shards.objects import Key, Meta, ObjectName
from shards.stores.hooks import FAILED, NO_HOOK_METERS, Hook, HookMeters
from shards.stores.store import Change, StoreReader

log = logging.getLogger(__name__)

WAITING = 65_536
"""Objects whose changes wait for one listener. More, and every primary is woken instead."""

STATES = 8
"""Different states of one object that wait. More, and every primary is woken instead."""

SLICE_SECONDS = 0.005
SLICE_OBJECTS = 256
"""The same where the clock stands still (virtual time)."""


class _Waiting:
    """What is not handed over of one object. states: by what a mapping function can tell them apart by."""

    __slots__ = ("low_priority", "states")

    def __init__(self, *, low_priority: bool) -> None:
        self.low_priority = low_priority
        self.states: dict[object, Meta] = {}


class Listener:
    """Turns changes into keys, for one controller.

    active: whether keys are taken at all; changes before are not kept, since every primary is queued once then.
    add: takes a key, and whether it may wait behind others. progressed: what to call when the view has moved and its
    changes have been routed. everything: all primaries.
    """

    def __init__(
        self,
        name: str,
        route: Route,
        *,
        active: Callable[[], bool],
        add: Callable[[Key, bool], None],
        progressed: Callable[[], None],
        everything: Callable[[], Iterable[Key]],
        clock: Clock,
        meters: HookMeters = NO_HOOK_METERS,
    ) -> None:
        """name: the controller's."""
        self.name = name
        self._map = Hook(f"map of {name}", route.find, clock, NO_HOOK_METERS if route.quick else meters)
        self._route = route
        self._active = active
        self._add = add
        self._progressed = progressed
        self._everything = everything
        self._clock = clock
        self._waiting: OrderedDict[ObjectName, _Waiting] = OrderedDict()
        self._present: Iterator[Key] | None = None
        self._all: Iterator[Key] | None = None
        self._store: StoreReader | None = None
        self._progress_due = self._scheduled = self._closed = False

    @property
    def synced(self) -> bool:
        """Whether all that it was told has been handed over."""
        return not self._waiting and self._present is None and self._all is None

    @property
    def waiting(self) -> int:
        """Objects whose changes were not handed over yet."""
        return len(self._waiting)

    @property
    def listening(self) -> bool:
        return not self._closed and self._active()

    def changed(self, change: Change) -> None:
        if not self.listening:
            return
        if self._route.quick:
            for key in self._route.keys(change):
                self._add(key, change.initial)
            return
        self._keep([meta for meta in (change.old, change.new) if meta is not None], change.initial)
        self._schedule()

    def progressed(self) -> None:
        """The view has moved. Told once what came before has been routed: what waits for it may run then."""
        if self.synced:
            self._progressed()
        else:
            self._progress_due = True

    def catch_up(self, store: StoreReader) -> None:
        """It came late: it is told what the view holds now, at low priority, in slices."""
        if not self._active():
            return
        self._store = store
        self._present = store.each_key()
        self._schedule()

    def close(self) -> None:
        """Nothing is handed over any more, whatever waits."""
        self._closed = True
        self._waiting.clear()
        self._present = self._all = None

    # -- what waits --------------------------------------------------------------------------------------------------

    def _keep(self, states: list[Meta], initial: bool) -> None:
        name = ObjectName(states[-1].namespace, states[-1].name)
        held = self._waiting.get(name)
        if held is None:
            held = self._waiting[name] = _Waiting(low_priority=initial)
        held.low_priority = held.low_priority and initial
        for meta in states:
            # The last one of those that look alike: a function sees the newest version.
            held.states[_look(meta)] = meta
        if len(self._waiting) > WAITING or len(held.states) > STATES:
            log.warning("%s is too slow for its view's changes: every primary is woken instead", self._map.name)
            self._waiting.clear()
            self._all = iter(self._everything())

    def _schedule(self) -> None:
        if not self._scheduled and not self._closed:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        self._scheduled = False
        until = self._clock() + SLICE_SECONDS
        for _ in range(SLICE_OBJECTS):
            if not self._one():
                break
            if self._clock() >= until:
                break
        if not self.synced:
            self._schedule()
        elif self._progress_due and not self._closed:
            self._progress_due = False
            self._progressed()

    def _one(self) -> bool:
        """Hands over what waits longest. False: nothing waits."""
        if self._all is not None:
            key = next(self._all, None)
            if key is None:
                self._all = None
            else:
                self._add(key, True)
        elif self._waiting:
            _, held = self._waiting.popitem(last=False)
            for meta in held.states.values():
                self._hand_over(meta, held.low_priority)
        elif self._present is not None:
            self._hand_over_next(self._present)
        else:
            return False
        return True

    def _hand_over_next(self, present: Iterator[Key]) -> None:
        key = next(present, None)
        if key is None:
            self._present = None
            return
        meta = None if self._store is None else self._store.meta(ObjectName(key.namespace, key.name))
        if meta is not None:
            self._hand_over(meta, True)

    def _hand_over(self, meta: Meta, low_priority: bool) -> None:
        """Of what fails for one state, other states, objects and controllers are not touched."""
        keys = self._map.run(meta, f"{meta.namespace}/{meta.name}", dict.fromkeys)
        if keys is not FAILED:
            for key in keys:
                self._add(key, low_priority)


def _look(meta: Meta) -> object:
    labels = tuple(sorted((meta.labels or {}).items()))
    annotations = tuple(sorted((meta.annotations or {}).items()))
    gone = meta.deletion_timestamp is not None
    return meta.uid, labels, annotations, meta.owner_references, meta.generation, gone
