"""Objects that a key deleted and that linger: something holds them for now, and their end is still to be seen. PURE.

The view shows that they are going, so that no gate waits any more, and an author who sees it returns and waits for the
end. Where the event that tells of it is lost, nothing else ever would (prometheus-operator 8309).
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice
from typing import NamedTuple

from shards.gates.own_writes import OVERDUE_SECONDS, OwnWrites, Views
from shards.objects import Key, ObjectName, Resource

MOST = 4096
"""Objects that are remembered; a forgotten one's end is found by the audit of its view."""


class Doom(NamedTuple):
    """One object that lingers. key: of whoever deleted it."""

    key: Key
    resource: Resource
    name: ObjectName
    uid: str


class Doomed:
    """What the keys of one controller in one shard have deleted, and the views have not seen the end of.

    Memory: one small record an object, at most MOST of them.
    """

    def __init__(self) -> None:
        self._since: OrderedDict[Doom, float] = OrderedDict()
        """When each was deleted, or last asked for. In that order."""

    def __len__(self) -> int:
        return len(self._since)

    def begin(self, doom: Doom, now: float) -> None:
        """It was deleted, and lingers."""
        self._since[doom] = now
        self._since.move_to_end(doom)
        if len(self._since) > MOST:
            self._since.popitem(last=False)

    def sweep(self, views: Views, writes: OwnWrites, now: float, limit: int = 100) -> list[Key]:
        """Forgets those that the views do not hold any more, for up to `limit` of them.

        Returns the keys of those that have lingered for OVERDUE_SECONDS, each again after as long: their views are
        taken to be wrong about them (`writes`), so that a live read settles it before the key runs.
        """
        keys = []
        for doom, since in list(islice(self._since.items(), limit)):
            held = views[doom.resource].version_of(doom.name)
            if held is None or held[0] != doom.uid:
                del self._since[doom]
            elif now - since >= OVERDUE_SECONDS:
                self.begin(doom, now)
                writes.stale(writes.begin(doom.key, doom.resource, doom.name, *held))
                keys.append(doom.key)
        return keys
