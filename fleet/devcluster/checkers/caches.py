"""I14, I16 and I18: what the views of workers hold, how it changes, and how old it is."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from functools import lru_cache

from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.informers import Collection, closed_by, collection_in
from fleet.devcluster.invariants.invariant import FAULTS, NOTES, Invariant
from fleet.devcluster.invariants.weather import Weather, kind_of
from fleet.devcluster.recording.journal import HIDDEN, Entry
from shards.api.useragent import UserAgent
from shards.journal import Note
from shards.keyrange import KeyRange, fnv1a64

_hash = lru_cache(maxsize=100_000)(fnv1a64)
_range = lru_cache(maxsize=10_000)(KeyRange.parse)

Slot = tuple[str, int]
"""(kind, top byte of the hash of a UID): what views are compared with is found by it."""

_SLOT_BITS = 56


_COMPARED = ("whole", "namespace")
"""What a view says of itself where it is known which objects belong into it."""


def _slots(kind: str, covered: KeyRange) -> Iterator[Slot]:
    return ((kind, slot) for slot in range(covered.first >> _SLOT_BITS, (covered.last >> _SLOT_BITS) + 1))


class CacheEqualsServer(Invariant):
    """What a view of primaries holds is what the server held at the view's version: the same objects of the range, at
    the same versions. What the journal does not know the past of is not compared: an object before its first line, and
    a view from which a fault has hidden events since its last list.

    A worker may have seen a write before its line is in the server's journal. So a view is kept until the journal has
    gone well past it.
    """

    id = "I14"
    sentence = "A cache equals the server, at the version that it says it has reached."
    what = "objects in dumped views"
    needs = (NOTES,)
    also = (FAULTS,)

    _PAST = 100
    """Versions. A deletion has none of its own: its line may stand behind those of later writes."""

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._histories: dict[Slot, dict[str, list[tuple[int, str]]]] = defaultdict(dict)
        """Per UID: (version, its text), in order; "" before it was created and once it is gone."""
        self._namespaces: dict[str, str] = {}
        """Of objects, by UID."""
        self._highest = 0
        self._views: deque[Note] = deque()
        self._hidden: set[Collection] = set()
        self._listed_since: set[Collection] = set()
        """Views that had a list of their own since events of a shared stream were hidden."""
        self._listed_again: set[Collection] | None = None
        """Views that were listed since the server went back last; None: it never did."""

    def hears_gap(self, entry: Entry) -> None:
        self._histories.clear()
        self._namespaces.clear()
        self._views.clear()

    def hears_restored(self, entry: Entry) -> None:
        """Versions begin again, lower; until it lists, a view shows what was before."""
        self._highest = 0
        self._listed_again = set()

    def hears_fault(self, entry: Entry) -> None:
        agent = UserAgent.parse(entry.user_agent)
        if entry.verb == HIDDEN and agent is not None:
            hidden = Collection(agent.member, agent.range, entry.resource)
            self._hidden.add(hidden)
            self._listed_since = {each for each in self._listed_since if not hidden.feeds(each)}

    def hears_write(self, entry: Entry, agent: UserAgent | None) -> None:
        if entry.status >= 500:
            # It may have been carried out: what is known of the kind may be old.
            for each in [each for each in self._histories if each[0] == kind_of(entry.resource)]:
                del self._histories[each]
        version = int(entry.resource_version) if entry.resource_version.isdecimal() else 0
        # A real server answers the removal of a custom resource without its version.
        if not entry.succeeded or not entry.uid or not (version or entry.removed):
            return
        slot = kind_of(entry.resource), _hash(entry.uid) >> _SLOT_BITS
        history = self._histories[slot].setdefault(entry.uid, [])
        self._namespaces[entry.uid] = entry.namespace
        self._highest = max(self._highest, version)
        if entry.verb == "create":
            history.append((0, ""))
        if entry.removed:
            # The deletion's own version is later than everything before it, other deletions too, and need not be in
            # the answer.
            self._highest += 1
            history.append((self._highest, ""))
        elif not history or (history[-1][0] < version and not _gone(history)):
            history.append((version, entry.resource_version))
        while self._views and self._highest >= int(self._views[0].version) + self._PAST:
            view = self._views.popleft()
            compared, wrong = self._compare(view)
            self.checks += compared
            for what in wrong:
                self.found(view.time, what)

    def hears_note(self, note: Note) -> None:
        where = collection_in(note).anyhow
        if note.what == "listed":
            self._hidden.discard(where)
            self._listed_since.add(where)
            if self._listed_again is not None:
                self._listed_again.add(where)
        if note.what != "view" or note.outcome not in _COMPARED or note.objects is None:
            return
        if not note.version.isdecimal() or (self._listed_again is not None and where not in self._listed_again):
            return
        if where not in self._hidden and (where.shared not in self._hidden or where in self._listed_since):
            self._views.append(note)

    def pending(self, end: float) -> list[str]:
        return [what for view in self._reached() for what in self._compare(view)[1]]

    def checks_by(self, end: float) -> int:
        return self.checks + sum(self._compare(view)[0] for view in self._reached())

    def _reached(self) -> list[Note]:
        return [view for view in self._views if int(view.version) <= self._highest]

    def _known(self, view: Note) -> Iterator[tuple[str, list[tuple[int, str]], int]]:
        """UID and history of each object that can be compared, and how much of it lies before the view's version."""
        covered, reached = _range(view.range), int(view.version)
        here = view.key if view.outcome == "namespace" else None
        for slot in _slots(kind_of(view.resource), covered):
            for uid, history in self._histories.get(slot, {}).items():
                if here is not None and self._namespaces.get(uid) != here:
                    continue
                at = bisect_right(history, reached, key=lambda each: each[0])
                if at and _hash(uid) in covered:
                    yield uid, history, at

    def _compare(self, view: Note) -> tuple[int, list[str]]:
        """How many objects were compared, and what is wrong."""
        objects, compared, wrong = view.objects or {}, 0, []
        for uid, history, at in self._known(view):
            held, wanted = objects.get(uid, ""), history[at - 1][1]
            if wanted and held.isdecimal() and history[at - 1][0] < int(held) <= int(view.version):
                continue  # a write that the journal does not know of: somebody went past the proxy
            compared += 1
            going = not held and at < len(history) and not history[at][1]
            if held != wanted and not going:
                where = f"the view of {view.resource} {view.range} on {view.member}, at {view.version},"
                wrong.append(f"{where} has {uid} at {held or 'no version'}; the server had {wanted or 'none'}")
        return compared, wrong


def _gone(history: Sequence[tuple[int, str]]) -> bool:
    """For good: the answer to a write of before may come behind that of the removal."""
    version, text = history[-1]
    return bool(version) and not text


class Alternating(Invariant):
    """Per UID and view: an object is added when it was not there, and modified or deleted when it was."""

    id = "I16"
    sentence = "In the stream of a view's changes, additions and deletions of an object alternate."
    what = "changes of views"
    needs = (NOTES,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._there: dict[Collection, dict[str, bool]] = defaultdict(dict)
        self._unsure: set[str] = set()
        """Members whose journals lost lines: what was not told of since may be there or not."""

    def hears_note(self, note: Note) -> None:
        closed = closed_by(note)
        if closed is not None:
            for where in [each for each in self._there if closed(each)]:
                del self._there[where]
        if note.what == "lost":
            self._unsure.add(note.member)
        elif note.what == "begin":
            self._unsure.discard(note.member)
        elif note.what == "change":
            self._changed(note)

    def _changed(self, note: Note) -> None:
        there = self._there[collection_in(note)]
        known = there.get(note.uid, None if note.member in self._unsure else False)
        self.checks += known is not None
        if known is not None and (note.cause == "added") == known:
            state = "which was there" if known else "which was not there"
            self.found(note.time, f"{note.key} ({note.uid}), {state}, was {note.cause} on {note.member}")
        there[note.uid] = note.cause != "deleted"


class KnownStaleness(Invariant):
    """In each pulse of a worker that calls itself ready, the view that is furthest behind was known to be current
    within the bound; and no view of primaries lacks what the server made for its range longer ago than that, whatever
    its worker believes, unless a fault was in force."""

    id = "I18"
    sentence = "Staleness is known: a view is current within the bound, or its worker says that it is not ready."
    what = "pulses of ready workers with shards"
    needs = (NOTES,)
    also = (FAULTS,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._made: dict[Slot, list[tuple[int, float, str]]] = defaultdict(list)
        """(version, time, UID) of what changed, in order."""
        self._highest = 0
        self._views: dict[Collection, int] = {}
        """Versions of the views whose range is all that filters them."""
        self._seen: dict[tuple[Collection, Slot], int] = defaultdict(int)
        """How many of `_made` the view has."""
        self._weather = Weather()

    def hears_gap(self, entry: Entry) -> None:
        self._made.clear()
        self._seen.clear()

    def hears_restored(self, entry: Entry) -> None:
        self._highest = 0
        self._views.clear()

    def hears_fault(self, entry: Entry) -> None:
        self._weather.hears(entry)

    def hears_write(self, entry: Entry, agent: UserAgent | None) -> None:
        version = int(entry.resource_version) if entry.succeeded and entry.resource_version.isdecimal() else 0
        if version > self._highest and not entry.removed:
            self._highest = version
            slot = kind_of(entry.resource), _hash(entry.uid) >> _SLOT_BITS
            self._made[slot].append((version, entry.time, entry.uid))

    def hears_note(self, note: Note) -> None:
        # Pulses tell no more of the views of a shard that was drained.
        closed, where = closed_by(note, "drained"), collection_in(note)
        if closed is not None:
            for each in [each for each in self._views if closed(each)]:
                del self._views[each]
                self._seen = defaultdict(int, {key: at for key, at in self._seen.items() if key[0] != each})
        elif note.what == "view" and note.outcome == "whole" and note.version.isdecimal():
            self._views[where] = int(note.version)
        elif note.what == "pulse" and not note.outcome and (note.figures or {}).get("open"):
            self._pulse(note, (note.figures or {}).get("view_age", 0.0))

    def _pulse(self, note: Note, age: float) -> None:
        self.checks += 1
        bound = self.bounds.view_age_seconds
        if age > bound:
            self.found(note.time, f"{note.member} is ready on a view that is {age:.0f} s old")
        elif note.time - self._weather.last(note.time) > bound:
            for where in [each for each in self._views if each.member == note.member]:
                lacks = min((at for slot in self._slots(where) for at in self._oldest(where, slot)), default=note.time)
                if note.time - lacks > bound:
                    late = f"{note.time - lacks:.0f} s"
                    self.found(note.time, f"{where} lacks what the server made {late} ago, and calls itself current")

    def _oldest(self, where: Collection, slot: Slot) -> Iterator[float]:
        """When the first change that the view lacks was made, if it lacks one."""
        made, covered, reached = self._made.get(slot, []), _range(where.covered), self._views[where]
        at = self._seen[where, slot]
        while at < len(made) and (made[at][0] <= reached or _hash(made[at][2]) not in covered):
            at += 1
        self._seen[where, slot] = at
        if at < len(made):
            yield made[at][1]

    @staticmethod
    def _slots(where: Collection) -> Iterator[Slot]:
        return _slots(kind_of(where.resource), _range(where.covered))
