"""The gate of one key: what its reconciles wrote, and whether its view shows that yet. PURE.

Design 4.1 (after KEP-5647). A gate answers "may this run on that view now?" anew each time, with >=; it never lets time
stand in for knowledge: what has waited too long is read live. Its memory is bounded: what is written beyond that is
known by the version that the view as a whole has to reach, and nothing is destroyed meanwhile.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from shards.gates.barrier import NEEDS_READ, UNKNOWN, Barrier, Phase
from shards.gates.levels import Levels
from shards.gates.missed import Missed
from shards.objects import Key, Meta, ObjectName, Resource
from shards.stores.store import StoreReader
from shards.versions import includes

__all__ = ["NEEDS_READ", "UNKNOWN", "Barrier", "Blocked", "OwnWrites", "Phase"]

Views = Mapping[Resource, StoreReader]


MOST_BARRIERS = 16_384
"""Writes that one controller in one shard remembers one by one, about half a kilobyte each. A reconcile that makes ten
thousand children in one run is still within it."""

OVERDUE_SECONDS = 75.0
"""A write that a view has not shown for so long may never be shown: a watch that is silent is replaced by then."""


class Blocked(NamedTuple):
    """Why a key must wait. resources: those whose progress could end it. needs_read: no progress can, only a read.

    whole: views must move as a whole, and reads of single objects end nothing.
    """

    reason: str
    resources: frozenset[Resource]
    needs_read: bool
    whole: bool = False


class OwnWrites:
    """The writes of one controller's reconciles in one shard that its view has not shown yet.

    What a reconcile read live counts as written: the next one must not decide on less.

    most: barriers that are kept. One whose answer comes beyond that is replaced by a level of its key, which takes one
    entry a resource however many there are: so memory is bounded by that, the requests on the wire, and the keys.

    Invariants: a key has an entry only while it has a barrier; per key, resource and name there is at most one barrier
    whose answer came, the latest (what shows the latest shows the earlier ones), and one more that was refused. `_held`
    counts all barriers.
    """

    def __init__(self, most: int = MOST_BARRIERS) -> None:
        self.levels = Levels()
        self._most = most
        self._held = 0
        self._barriers: OrderedDict[Key, list[Barrier]] = OrderedDict()
        self._missed = Missed(OVERDUE_SECONDS)

    def __len__(self) -> int:
        """Number of keys with barriers."""
        return len(self._barriers)

    def __contains__(self, key: Key) -> bool:
        """Whether the key waits for anything, as far as is known."""
        return key in self._barriers or key in self.levels

    def full(self, key: Key) -> bool:
        """Whether writes are not remembered one by one any more, all of them or those of the key."""
        return self._held >= self._most or key in self.levels

    def begin(self, key: Key, resource: Resource, name: ObjectName, uid: str, resource_version: str = "") -> Barrier:
        """Before the request is sent. uid and resource_version: of the snapshot that the write is based on."""
        barrier = Barrier(key, resource, name, uid, resource_version)
        self._barriers.setdefault(key, []).append(barrier)
        self._held += 1
        return barrier

    def landed(self, barrier: Barrier, uid: str, resource_version: str) -> None:
        """The answer came: the object is at this version."""
        for other in self._answered(barrier) if len(self._barriers.get(barrier.key, ())) > 1 else ():
            later = other.uid == uid and other.resource_version != resource_version
            later = later and includes(other.resource_version, resource_version)
            if other.phase is Phase.LANDED and later:
                self._drop(barrier)  # two writes at a time, whose answers came in the other order
                return
        self._replace(barrier, Phase.LANDED, uid, resource_version)

    def read(self, key: Key, resource: Resource, name: ObjectName, uid: str, resource_version: str) -> None:
        """A reconcile of the key was given the object live, at this version; the view will deliver it."""
        self.landed(self.begin(key, resource, name, uid, resource_version), uid, resource_version)

    def deleted(self, barrier: Barrier, uid: str, resource_version: str) -> None:
        """The answer came: the object is gone. resource_version: the last one that is known of it, "" for none."""
        self._replace(barrier, Phase.DELETED, uid, resource_version)

    def failed(self, barrier: Barrier) -> None:
        """The write was certainly not carried out, or no view will ever show it."""
        self._drop(barrier)

    def outside(self, barrier: Barrier, uid: str, view: StoreReader) -> None:
        """The view will never show the object that is there now, or none is. uid: of that, "" for none.

        Nothing is waited for, unless the view holds another one of that name: a phantom, which has to leave it.
        """
        held = view.version_of(barrier.name)
        if held is not None and held[0] != uid:
            self.deleted(barrier, *held)
        else:
            self.failed(barrier)

    def in_doubt(self, barrier: Barrier) -> None:
        """The answer was lost."""
        barrier.phase = Phase.IN_DOUBT
        self._bound(barrier, "")

    def stale(self, barrier: Barrier) -> None:
        """The server refused the write: the object is not as the view has it."""
        self._replace(barrier, Phase.STALE, barrier.uid, barrier.resource_version)

    def history_lost(self, resource: Resource) -> None:
        """The view of the resource went back: the server was restored, and versions from before mean nothing now.

        What was written there may or may not be part of the new history. A list that begins from now on tells, of all
        keys at once, and all of them wait for it; of what was not answered only a live read does, as before.
        """
        self.levels.distrust(resource)
        for key, barriers in list(self._barriers.items()):
            self._keep(key, [each for each in barriers if each.resource != resource or each.phase in UNKNOWN])
            for each in self._barriers.get(key, ()):
                if each.resource == resource:
                    each.resource_version = ""

    def in_doubt_count(self, most: int) -> int:
        """How many writes lost their answer and were not read since, of the first `most` keys that have any."""
        first = islice(self._barriers.values(), most)
        return sum(each.phase is Phase.IN_DOUBT for barriers in first for each in barriers)

    def expects(self, key: Key, resource: Resource, uid: str) -> bool:
        """Whether the key waits until its view shows this object, or may do so: beyond the bound nobody knows."""
        if key in self.levels:
            return True
        waiting = self._barriers.get(key, ())
        return any(each.phase is Phase.LANDED and (each.resource, each.uid) == (resource, uid) for each in waiting)

    def blocked(self, key: Key, views: Views) -> Blocked | None:
        """What the key must wait for; None when its view shows all its writes. Forgets those that it shows."""
        closed = self.levels.closed(key, views) if self.levels else None
        if closed:
            return Blocked("; ".join(f"{of} {why}" for of, why in closed.items()), frozenset(closed), False, True)
        if key not in self._barriers:
            return None
        waiting = self.waiting(key, views)
        if not waiting:
            return None
        needs_read = any(each.phase in NEEDS_READ for each in waiting)
        return Blocked(str(waiting[0]), frozenset(each.resource for each in waiting), needs_read)

    def shown(self, key: Key, views: Views) -> bool:
        """Whether the views show all of the key's writes. It may be asked long before the key runs."""
        if self.levels and self.levels.closed(key, views):
            return False
        return all(each.seen(views[each.resource]) for each in self._barriers.get(key, ()))

    def waiting(self, key: Key, views: Views) -> tuple[Barrier, ...]:
        """The key's writes that its view does not show. Forgets the others."""
        known = self._barriers.get(key, ())
        barriers = [each for each in known if not each.seen(views[each.resource])]
        if len(barriers) != len(known):
            self._keep(key, barriers)
        return tuple(barriers)

    def settle(self, barrier: Barrier, live: Meta | None, view: StoreReader, *, admitted: bool) -> None:
        """A live read answered for the barrier's name. live: what is there now; admitted: the view's filter passes it.

        The barrier now waits for what the read saw; the key may run once before, on the objects that were read.
        """
        if live is not None and (admitted or view.name_of(live.uid) is not None):
            self._replace(barrier, Phase.LANDED, live.uid, live.resource_version)
        elif live is None and barrier.uid and barrier.resource_version:
            self.deleted(barrier, barrier.uid, barrier.resource_version)
        else:
            self.outside(barrier, "" if live is None else live.uid, view)

    def sweep(self, views: Views, now: float, limit: int = 100) -> list[Key]:
        """Forgets what the views show by now, for up to `limit` keys, in turn: a key that never runs again would
        keep its last write for ever.

        Returns those of them that have been waiting for OVERDUE_SECONDS, each again after as long. The event that shows
        their write may be lost, and nothing else may ever wake them. And those that wrote what no view tells of:
        see `Missed`.
        """
        overdue = []
        for key in list(islice(self._barriers, limit)):
            known = self._barriers[key]
            waiting = self.waiting(key, views)
            if len(waiting) != len(known):
                self._note_missed(known, views, now)
            if not waiting:
                continue
            self._barriers.move_to_end(key)
            for barrier in waiting:
                barrier.since = now if barrier.since is None else barrier.since
            if any(barrier.since is not None and now - barrier.since >= OVERDUE_SECONDS for barrier in waiting):
                overdue.append(key)
                for barrier in waiting:
                    barrier.since = now
        self.levels.sweep(views, limit)
        return list(dict.fromkeys(overdue + self._missed.due(now)))

    def _note_missed(self, barriers: list[Barrier], views: Views, now: float) -> None:
        for each in barriers:
            view = views[each.resource]
            if each.seen(view) and each.missed(view):
                self._missed.note(each.key, each.uid, now)

    def unseen(self, views: Views) -> dict[Resource, list[Barrier]]:
        """All writes that the views do not show, by resource; for the watermark."""
        found: dict[Resource, list[Barrier]] = {}
        for key in list(self._barriers):
            for barrier in self.waiting(key, views):
                found.setdefault(barrier.resource, []).append(barrier)
        return found

    def _answered(self, barrier: Barrier) -> list[Barrier]:
        """The other barriers of the same object whose answers came."""
        return [
            each
            for each in self._barriers.get(barrier.key, ())
            if each is not barrier
            and each.phase not in UNKNOWN
            and (each.resource, each.name) == (barrier.resource, barrier.name)
        ]

    def _replace(self, barrier: Barrier, phase: Phase, uid: str, resource_version: str) -> None:
        barriers = self._barriers.get(barrier.key, [])
        if barrier not in barriers:
            return  # it was seen and forgotten while a live read asked for it; a later write may stand in its place
        barrier.phase, barrier.uid, barrier.resource_version = phase, uid, resource_version
        if len(barriers) > 1:
            past = self._answered(barrier)
            if phase is Phase.STALE:  # nothing was written: what was before is to be seen still
                past = [each for each in past if each.phase is Phase.STALE]
            self._keep(barrier.key, [each for each in barriers if each not in past])
        self._bound(barrier, resource_version if phase is Phase.LANDED else "")

    def _bound(self, barrier: Barrier, version: str) -> None:
        """Beyond the bound its key waits for the view as a whole instead. version: that shows it, "" if none does."""
        if self._held > self._most:
            self._drop(barrier)
            self.levels.lift(barrier.key, barrier.resource, version)

    def _drop(self, barrier: Barrier) -> None:
        self._keep(barrier.key, [each for each in self._barriers.get(barrier.key, ()) if each is not barrier])

    def _keep(self, key: Key, barriers: list[Barrier]) -> None:
        self._held += len(barriers) - len(self._barriers.get(key, ()))
        if barriers:
            self._barriers[key] = barriers
        else:
            self._barriers.pop(key, None)
