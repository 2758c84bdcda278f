"""The gate of a whole shard: what the next owner's views must have seen before it acts. PURE.

Design 4.2. The gate is asked anew each time, with >=: a list may bring a view back. Where the server's history went
back meanwhile, what the old owner left says nothing about the new one, and a list after that replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shards.gates.own_writes import UNKNOWN, Barrier, Phase
from shards.gates.watermark import ResourceMark, Unseen, Watermark
from shards.objects import Key, ObjectName, Resource
from shards.stores.store import StoreReader
from shards.versions import includes

MAX_UNSEEN = 100
"""More unseen writes of one resource than this, and the watermark carries no mark for it: a list is cheaper."""


def mark_of(digest: str, resource: Resource, highest: str, barriers: Iterable[Barrier]) -> ResourceMark | None:
    """The mark that the old owner leaves for one resource; None where the next owner must list instead.

    highest: highest version of an object that was received or written. barriers: writes that its view never showed.
    """
    unseen = []
    for each in barriers:
        if each.phase in UNKNOWN:
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
        self._regressions: dict[str, int] = {}
        """Of each view when it was looked at last."""
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

    def listed(self, view: str, resource_version: str, regressions: int = 0) -> None:
        """A consistent list that began after the claim is in the view. regressions: of the view, with that list."""
        self._marks.pop(view, None)
        self._lists[view] = resource_version
        self._regressions[view] = regressions

    def rearm(self, views: Mapping[str, StoreReader]) -> None:
        """To be called before each question: whose history went back since the last time needs another list."""
        for view, reader in views.items():
            if self._regressions.setdefault(view, reader.regressions) != reader.regressions:
                self._regressions[view] = reader.regressions
                self.demand_list(view)

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
            elif not includes(views[view].resource_version, version):
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
    if wanted and not view.reached(wanted):
        return f"is at {view.resource_version}, behind the watermark {wanted}"
    for each in mark.unseen:
        phase = Phase.DELETED if each.deleted else Phase.LANDED
        name = ObjectName(each.namespace, each.name)
        if each.resource != str(view.resource):
            return f"is asked about the old owner's write to {each.resource} {name}, of which it knows nothing"
        write = Barrier(_NO_KEY, Resource.parse(each.resource), name, each.uid, each.resource_version, phase)
        if not write.seen(view):
            return f"has not shown the old owner's write to {name}"
    return ""


_NO_KEY = Key("", "", "")
