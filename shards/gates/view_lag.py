"""How far a view is behind what its controller knows to have happened. PURE."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from shards.stores.store import StoreReader
from shards.versions import at_least

MOST_MARKS = 128
"""Versions that are remembered at once. More, while a view stands still for long, would only say it more finely."""


@dataclass(slots=True)
class ViewLag:
    """Since when one view does not show a version that somebody knows of; told by looks, and as exact as these are
    frequent."""

    _marks: deque[tuple[float, str]] = field(default_factory=deque)
    """Versions that the view does not show, with the time of the look at which each was new; oldest first."""

    def look(self, now: float, known: str, view: StoreReader) -> float:
        """Seconds for which the view has been behind; 0.0 when it is not. known: the highest version that is known
        to exist, "" for none. After one that is lower than before (a restored server) it begins anew."""
        marks = self._marks
        if not known or (marks and not at_least(known, marks[-1][1])):
            marks.clear()
        if known and (not marks or marks[-1][1] != known) and len(marks) < MOST_MARKS:
            marks.append((now, known))
        while marks and _shows(view, marks[0][1]):
            marks.popleft()
        return now - marks[0][0] if marks else 0.0


def _shows(view: StoreReader, version: str) -> bool:
    """An object of that version counts too: of several namespaces one may be ahead of what is known of all of them."""
    return view.reached(version) or at_least(view.highest_object_version, version)
