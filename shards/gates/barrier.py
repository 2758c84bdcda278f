"""One write of a reconcile, and what a view has to show of it. PURE."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from shards.objects import Key, ObjectName, Resource
from shards.stores.store import StoreReader
from shards.versions import comparable, must_be_one


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
    since: float | None = None
    """When it was first found, or last told, to be waiting."""

    def seen(self, view: StoreReader) -> bool:
        """Whether the view includes the write, or proves it past.

        Raises Incomparable for a view of another resource.
        """
        if view.resource is not self.resource:
            must_be_one(view.resource, self.resource)
        if self.phase is Phase.LANDED:
            return view.shows(self.name, self.uid, self.resource_version)
        if self.phase is Phase.DELETED:
            # Absence alone proves nothing: the view may not have seen the object yet.
            past = view.shows(self.name, self.uid, self.resource_version)
            # That it left the filter once is no proof either: it may have come back since.
            unknown = not comparable(self.resource_version)
            return view.name_of(self.uid) is None and (past or (unknown and view.gone(self.uid)))
        return False

    def missed(self, view: StoreReader) -> bool:
        """Of what is seen: whether the view told nobody, as it never held the object that was written, nor saw it go.

        It came and went between two lists. True also of an end that was seen too long ago to be known.
        """
        if self.phase is not Phase.LANDED or view.name_of(self.uid) is not None:
            return False
        return not view.saw_go(self.uid, self.resource_version)

    def __str__(self) -> str:
        return f"{self.resource} {self.name} {self.phase.value} {self.resource_version}".rstrip()
