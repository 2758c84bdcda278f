"""The gate of one key: what its reconciles wrote, and whether its view shows that yet. PURE.

Design 4.1 (after KEP-5647). A gate answers "may this run on that view now?" anew each time, with >=; it never lets time
stand in for knowledge: what has waited too long is read live.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import NamedTuple

from shards.objects import Key, Meta, ObjectName, Resource, version_key
from shards.stores.store import StoreReader

Views = Mapping[Resource, StoreReader]


class Phase(Enum):
    """What is known about one write.

    SENT: on the wire. LANDED: answered, the object has a version. DELETED: answered, the object is gone.
    IN_DOUBT: no answer: only a live read tells. STALE: refused, in a way that proves the view wrong (a conflict), or
    carried out in a history that the server has lost: only a live read, or a later write of the same object that
    succeeds, ends it.
    """

    SENT = "sent"
    LANDED = "landed"
    DELETED = "deleted"
    IN_DOUBT = "in doubt"
    STALE = "refused as stale"


UNKNOWN = (Phase.SENT, Phase.IN_DOUBT)
"""Whether the write was carried out is not known."""

NEEDS_READ = (*UNKNOWN, Phase.STALE)
"""Nothing that a view shows ends these."""


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

    What a reconcile read live counts as written: the next one must not decide on less.

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
        for other in self._answered(barrier):
            later = other.uid == uid and version_key(other.resource_version) > version_key(resource_version)
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

    def in_doubt(self, barrier: Barrier) -> None:
        """The answer was lost."""
        barrier.phase = Phase.IN_DOUBT

    def stale(self, barrier: Barrier) -> None:
        """The server refused the write: the object is not as the view has it."""
        self._replace(barrier, Phase.STALE, barrier.uid, barrier.resource_version)

    def history_lost(self, resource: Resource) -> None:
        """The view of the resource went back: the server was restored, and versions from before mean nothing now.

        What was written there may or may not be part of the new history: only a live read tells.
        """
        for barriers in self._barriers.values():
            for each in barriers:
                if each.resource == resource and each.phase not in UNKNOWN:
                    each.phase, each.resource_version = Phase.STALE, ""

    def in_doubt_count(self, most: int) -> int:
        """How many writes lost their answer and were not read since, of the first `most` keys that have any."""
        first = islice(self._barriers.values(), most)
        return sum(each.phase is Phase.IN_DOUBT for barriers in first for each in barriers)

    def expects(self, key: Key, resource: Resource, uid: str) -> bool:
        """Whether the key waits until its view shows this object."""
        waiting = self._barriers.get(key, ())
        return any(each.phase is Phase.LANDED and (each.resource, each.uid) == (resource, uid) for each in waiting)

    def blocked(self, key: Key, views: Views) -> Blocked | None:
        """What the key must wait for; None when its view shows all its writes. Forgets those that it shows."""
        if key not in self._barriers:
            return None
        waiting = self.waiting(key, views)
        if not waiting:
            return None
        needs_read = any(each.phase in NEEDS_READ for each in waiting)
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
            self._replace(barrier, Phase.LANDED, live.uid, live.resource_version)
        elif live is None and barrier.uid and barrier.resource_version:
            self.deleted(barrier, barrier.uid, barrier.resource_version)
        elif held is not None and (live is None or live.uid != held.uid):
            self.deleted(barrier, held.uid, held.resource_version)  # a phantom: it has to leave the view
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
        past = self._answered(barrier)
        self._barriers[barrier.key] = [each for each in barriers if each not in past]

    def _drop(self, barrier: Barrier) -> None:
        kept = [each for each in self._barriers.get(barrier.key, ()) if each is not barrier]
        if kept:
            self._barriers[barrier.key] = kept
        else:
            self._barriers.pop(barrier.key, None)
