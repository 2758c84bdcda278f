"""Version gates: what holds a key, or a whole shard, back until its view is fresh enough. PURE.

Design 4.1 (own writes, after KEP-5647) and 4.2 (handover). A gate answers "may this run on that view now?" anew each
time, with >=; it never remembers that a version was reached, because a list may bring a view back, and never lets time
stand in for knowledge: what has waited too long is read live.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import NamedTuple

from shards.objects import Key, Meta, ObjectName, Resource, at_least
from shards.store import StoreReader
from shards.watermark import ResourceMark, Unseen, Watermark

Views = Mapping[Resource, StoreReader]

FIRST_PROBE_SECONDS = 0.1
LONGEST_PROBE_SECONDS = 5.0
TICK_SECONDS = 0.001
"""A look this much too early counts as due: sums of floating-point seconds would ask for a look in 1e-13 s."""

MAX_UNSEEN = 100
"""More unseen writes of one resource than this, and the watermark carries no mark for it: a list is cheaper."""


class Phase(Enum):
    """What is known about one write.

    SENT: on the wire. LANDED: answered, the object has a version. DELETED: answered, the object is gone.
    IN_DOUBT: no answer: only a live read tells. STALE: refused, in a way that proves the view wrong (a conflict): only
    a live read, or a later write of the same object that succeeds, ends it.
    """

    SENT = "sent"
    LANDED = "landed"
    DELETED = "deleted"
    IN_DOUBT = "in doubt"
    STALE = "refused as stale"


_UNKNOWN = (Phase.SENT, Phase.IN_DOUBT)
_NEEDS_READ = (*_UNKNOWN, Phase.STALE)


@dataclass(slots=True, eq=False)
class Barrier:
    """One write of one reconcile, from before its request until the view shows it.

    uid: "" while unknown (a create). resource_version: LANDED: the write's; else the last one known of the object
    before, "" where there is none.
    """

    key: Key
    resource: Resource
    name: ObjectName
    uid: str
    resource_version: str
    phase: Phase = Phase.SENT

    def seen(self, view: StoreReader) -> bool:
        """Whether the view includes the write, or proves it past."""
        if self.phase is Phase.LANDED:
            return view.shows(self.name, self.uid, self.resource_version)
        if self.phase is Phase.DELETED:
            if view.name_of(self.uid) is not None:
                return False
            # Absence alone proves nothing: the view may not have seen the object yet.
            past = bool(self.resource_version) and view.shows(self.name, self.uid, self.resource_version)
            return past or view.gone(self.uid)
        return False

    def __str__(self) -> str:
        return f"{self.resource} {self.name} {self.phase.value} {self.resource_version}".rstrip()


class Blocked(NamedTuple):
    """Why a key must wait. resources: those whose progress could end it. needs_read: no progress can, only a read."""

    reason: str
    resources: frozenset[Resource]
    needs_read: bool


class OwnWrites:
    """The writes of one controller's reconciles in one shard that its view has not shown yet.

    Invariants: a key has an entry only while it has a barrier; per key, resource and name there is at most one barrier
    whose answer came, the latest (what shows the latest shows the earlier ones).
    """

    def __init__(self) -> None:
        self._barriers: OrderedDict[Key, list[Barrier]] = OrderedDict()

    def __len__(self) -> int:
        """Number of keys with barriers."""
        return len(self._barriers)

    def begin(self, key: Key, resource: Resource, name: ObjectName, uid: str, resource_version: str = "") -> Barrier:
        """Before the request is sent. uid and resource_version: of the snapshot that the write is based on."""
        barrier = Barrier(key, resource, name, uid, resource_version)
        self._barriers.setdefault(key, []).append(barrier)
        return barrier

    def landed(self, barrier: Barrier, uid: str, resource_version: str) -> None:
        """The answer came: the object is at this version."""
        self._replace(barrier, Phase.LANDED, uid, resource_version)

    def deleted(self, barrier: Barrier, uid: str, resource_version: str) -> None:
        """The answer came: the object is gone. resource_version: the last one that is known of it, "" for none."""
        self._replace(barrier, Phase.DELETED, uid, resource_version)

    def failed(self, barrier: Barrier) -> None:
        """The write was certainly not carried out, or no view will ever show it."""
        self._drop(barrier)

    def in_doubt(self, barrier: Barrier) -> None:
        """The answer was lost."""
        barrier.phase = Phase.IN_DOUBT

    def stale(self, barrier: Barrier) -> None:
        """The server refused the write: the object is not as the view has it."""
        self._replace(barrier, Phase.STALE, barrier.uid, barrier.resource_version)

    def blocked(self, key: Key, views: Views) -> Blocked | None:
        """What the key must wait for; None when its view shows all its writes. Forgets those that it shows."""
        if key not in self._barriers:
            return None
        waiting = self.waiting(key, views)
        if not waiting:
            return None
        needs_read = any(each.phase in _NEEDS_READ for each in waiting)
        return Blocked(str(waiting[0]), frozenset(each.resource for each in waiting), needs_read)

    def shown(self, key: Key, views: Views) -> bool:
        """Whether the views show all of the key's writes. Forgets nothing: it may be asked long before the key runs."""
        return all(each.seen(views[each.resource]) for each in self._barriers.get(key, ()))

    def waiting(self, key: Key, views: Views) -> tuple[Barrier, ...]:
        """The key's writes that its view does not show. Forgets the others."""
        barriers = [each for each in self._barriers.get(key, ()) if not each.seen(views[each.resource])]
        if barriers:
            self._barriers[key] = barriers
        else:
            self._barriers.pop(key, None)
        return tuple(barriers)

    def settle(self, barrier: Barrier, live: Meta | None, view: StoreReader, *, admitted: bool) -> None:
        """A live read answered for the barrier's name. live: what is there now; admitted: the view's filter passes it.

        The barrier now waits for what the read saw; the key may run once before, on the objects that were read.
        """
        held = view.meta(barrier.name)
        if live is not None and (admitted or view.name_of(live.uid) is not None):
            self.landed(barrier, live.uid, live.resource_version)
        elif live is None and barrier.uid:
            self.deleted(barrier, barrier.uid, barrier.resource_version)
        elif live is None and held is not None:
            self.deleted(barrier, held.uid, held.resource_version)
        else:
            self.failed(barrier)

    def sweep(self, views: Views, limit: int = 100) -> None:
        """Forgets what the views show by now, for up to `limit` keys, in turn: a key that never runs again would
        keep its last write for ever."""
        for key in list(islice(self._barriers, limit)):
            if self.waiting(key, views):
                self._barriers.move_to_end(key)

    def unseen(self, views: Views) -> dict[Resource, list[Barrier]]:
        """All writes that the views do not show, by resource; for the watermark."""
        found: dict[Resource, list[Barrier]] = {}
        for key in list(self._barriers):
            for barrier in self.waiting(key, views):
                found.setdefault(barrier.resource, []).append(barrier)
        return found

    def _replace(self, barrier: Barrier, phase: Phase, uid: str, resource_version: str) -> None:
        barriers = self._barriers.get(barrier.key, [])
        if barrier not in barriers:
            return  # it was seen and forgotten while a live read asked for it; a later write may stand in its place
        barrier.phase, barrier.uid, barrier.resource_version = phase, uid, resource_version
        self._barriers[barrier.key] = [
            each
            for each in barriers
            if each is barrier
            or each.phase in _UNKNOWN
            or (each.resource, each.name) != (barrier.resource, barrier.name)
        ]

    def _drop(self, barrier: Barrier) -> None:
        kept = [each for each in self._barriers.get(barrier.key, ()) if each is not barrier]
        if kept:
            self._barriers[barrier.key] = kept
        else:
            self._barriers.pop(barrier.key, None)


@dataclass(slots=True)
class Parked:
    """One key that is held back. due: when it is looked at again, though nothing moved. Times in boot seconds."""

    blocked: Blocked
    since: float
    due: float
    probes: int = 0


@dataclass(slots=True)
class Parking:
    """The keys that a gate holds back, and when to look at each again. No failure is counted and no slot is taken.

    Invariant: _on[resource] holds exactly the keys in `keys` whose blocked.resources contain it.
    """

    rng: random.Random
    keys: dict[Key, Parked] = field(default_factory=dict)
    _on: dict[Resource, dict[Key, None]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.keys)

    def park(self, key: Key, blocked: Blocked, now: float) -> float:
        """Holds the key back. Returns the seconds (above zero) until it must be looked at again, whatever happens.

        The delay doubles from 100 ms to 5 s with each look that was due, not with looks that an event caused.
        """
        parked = self.keys.get(key)
        if parked is None:
            parked = self.keys[key] = Parked(blocked, now, now + self._delay(0))
        elif now >= parked.due - TICK_SECONDS:
            parked.probes += 1
            parked.due = now + self._delay(parked.probes)
        self._unlink(key, parked.blocked)
        parked.blocked = blocked
        for resource in blocked.resources:
            self._on.setdefault(resource, {})[key] = None
        return parked.due - now

    def pause(self, key: Key, now: float) -> None:
        """A live read for the key failed: the next look is a long delay away. Without effect on a key that was freed
        meanwhile."""
        parked = self.keys.get(key)
        if parked is not None:
            parked.due = now + self._delay(64)

    def release(self, key: Key) -> None:
        """The key may run."""
        parked = self.keys.pop(key, None)
        if parked is not None:
            self._unlink(key, parked.blocked)

    def on(self, resource: Resource) -> tuple[Key, ...]:
        """The keys that progress of this resource could free."""
        return tuple(self._on.get(resource, ()))

    def _unlink(self, key: Key, blocked: Blocked) -> None:
        for resource in blocked.resources:
            keys = self._on.get(resource)
            if keys is not None:
                keys.pop(key, None)
                if not keys:
                    del self._on[resource]

    def _delay(self, probes: int) -> float:
        return min(FIRST_PROBE_SECONDS * 2.0 ** min(probes, 10), LONGEST_PROBE_SECONDS) * self.rng.uniform(0.8, 1.0)


def mark_of(digest: str, resource: Resource, highest: str, barriers: Iterable[Barrier]) -> ResourceMark | None:
    """The mark that the old owner leaves for one resource; None where the next owner must list instead.

    highest: highest version of an object that was received or written. barriers: writes that its view never showed.
    """
    unseen = []
    for each in barriers:
        if each.phase in _UNKNOWN:
            return None
        if each.phase is Phase.STALE:
            continue  # nothing was written, and the next owner's view stands on its own
        deleted = each.phase is Phase.DELETED
        name = each.name
        unseen.append(
            Unseen(str(resource), name.namespace, name.name, each.uid, each.resource_version, deleted=deleted)
        )
    return None if len(unseen) > MAX_UNSEEN else ResourceMark(digest, highest, tuple(unseen))


class HandoverGate:
    """Opens a shard for its new owner: when its views include all that the old owner saw or did (design 4.2).

    watermark: what the old owner left, None for nothing. expected_epoch: the shard epoch before this claim; a watermark
    of another epoch is not the last owner's. digests: of this owner's views, by the name that the marks use.

    A view without a usable mark opens by a consistent list that began after the claim; tell it with `listed`.
    """

    def __init__(self, watermark: Watermark | None, expected_epoch: int, digests: Mapping[str, str]) -> None:
        usable = watermark is not None and watermark.epoch == expected_epoch
        self._marks: dict[str, ResourceMark] = {}
        self._lists: dict[str, str] = {}
        """Version of the list that replaces the mark, "" while it is outstanding. Disjoint from _marks; together they
        hold every view."""
        for view, digest in digests.items():
            mark = watermark.marks.get(view) if watermark is not None and usable else None
            if mark is not None and mark.digest == digest:
                self._marks[view] = mark
            else:
                self._lists[view] = ""

    def needs_list(self, view: str) -> bool:
        """Whether only a list can open the gate of this view, and none was reported yet."""
        return self._lists.get(view) == ""

    def demand_list(self, view: str) -> None:
        """The mark is not reached in time: a list replaces it."""
        self._marks.pop(view, None)
        self._lists[view] = ""

    def listed(self, view: str, resource_version: str) -> None:
        """A consistent list that began after the claim is in the view."""
        self._marks.pop(view, None)
        self._lists[view] = resource_version

    def open(self, views: Mapping[str, StoreReader]) -> bool:
        """Whether reconciles may begin on these views, now."""
        return not self.reason(views)

    def reason(self, views: Mapping[str, StoreReader]) -> str:
        """Why the gate is closed; "" when it is open."""
        return "; ".join(f"{view}: {why}" for view, why in self.closed(views).items())

    def closed(self, views: Mapping[str, StoreReader]) -> dict[str, str]:
        """The views that keep the gate closed, with the reason."""
        closed = {}
        for view, version in self._lists.items():
            if not version:
                closed[view] = "waits for a list that began after the claim"
            elif not at_least(views[view].resource_version, version):
                closed[view] = f"is behind its own list at {version}"
        for view, mark in self._marks.items():
            why = _lag(views[view], mark)
            if why:
                closed[view] = why
        return closed


def _lag(view: StoreReader, mark: ResourceMark) -> str:
    """What of the mark the view does not include; "" when it includes all."""
    if not view.resource_version:
        return "has no complete list"
    wanted = mark.resource_version
    if wanted and not at_least(view.resource_version, wanted) and not at_least(view.highest_object_version, wanted):
        return f"is at {view.resource_version}, behind the watermark {wanted}"
    for each in mark.unseen:
        phase = Phase.DELETED if each.deleted else Phase.LANDED
        name = ObjectName(each.namespace, each.name)
        write = Barrier(_NO_KEY, _NO_RESOURCE, name, each.uid, each.resource_version, phase)
        if not write.seen(view):
            return f"has not shown the old owner's write to {name}"
    return ""


_NO_KEY = Key("", "", "")
_NO_RESOURCE = Resource("", "", "")
