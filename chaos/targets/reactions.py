"""How soon a fleet acts on what people change, by the recording and the workers' journals. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from fleet.devcluster.recording.journal import Entry
from shards.api.useragent import UserAgent
from shards.journal import Note
from shards.objects import Resource


class Reactions:
    """Takes in lines in order of time; a change is answered by the first reconcile of its object that ended well and
    whose view of the object's resource had reached it. Memory: one number a change that waits."""

    def __init__(self, primary: Resource) -> None:
        self._primary = str(primary)
        self._waiting: dict[str, list[tuple[int, float]]] = defaultdict(list)
        """Per UID: version and time of the changes that nobody has answered yet."""
        self._begun: dict[tuple[str, str], int] = {}
        """By member and UID: the version of the view that its running reconcile began with."""

    def hear(self, entry: Entry) -> None:
        if entry.resource != self._primary or not entry.write or entry.subresource:
            return
        if not entry.succeeded or UserAgent.parse(entry.user_agent) is not None:
            return
        if entry.removed:
            self._waiting.pop(entry.uid, None)
        elif entry.resource_version.isdigit():
            self._waiting[entry.uid].append((int(entry.resource_version), entry.time))

    def note(self, note: Note) -> Iterator[tuple[float, float]]:
        """Time of each change that is answered now, and seconds that it took."""
        if note.what == "started":
            seen = (note.views or {}).get(self._primary, "")
            self._begun[note.member, note.uid] = int(seen) if seen.isdigit() else 0
        elif note.what == "ended":
            seen_version = self._begun.pop((note.member, note.uid), 0)
            waiting = self._waiting.get(note.uid)
            if waiting and note.outcome == "success":
                rest = [each for each in waiting if each[0] > seen_version]
                yield from ((time, note.time - time) for version, time in waiting if version <= seen_version)
                self._waiting[note.uid] = rest


def percentile(values: Iterable[float], share: float) -> float:
    """Nearest rank; 0.0 of nothing."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0
