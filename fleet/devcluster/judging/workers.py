"""I14, I16, I18, I19, I20, I25 and I26: what only the workers' own journals show."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator
from functools import lru_cache

from fleet.devcluster.journal import Entry
from fleet.devcluster.judging.bounds import Bounds
from fleet.devcluster.judging.invariant import NOTES, Invariant
from shards.journal import Note
from shards.keyrange import KeyRange, fnv1a64
from shards.useragent import UserAgent

_hash = lru_cache(maxsize=100_000)(fnv1a64)

View = tuple[str, str, str]
"""(member, range, resource)."""


class CacheEqualsServer(Invariant):
    """What a view of primaries holds is what the server held at the view's version: the same objects of the range, at
    the same versions. Objects that were there before the journal began are not compared.

    A worker may have seen a write before its line is in the server's journal. So a view is kept until the journal has
    gone well past it.
    """

    id = "I14"
    sentence = "A cache equals the server, at the version that it says it has reached."
    what = "objects in dumped views"
    needs = (NOTES,)

    _PAST = 100
    """Versions. A deletion has none of its own: its line may stand behind those of later writes."""

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._histories: dict[str, dict[str, list[tuple[int, str]]]] = defaultdict(lambda: defaultdict(list))
        """Per resource and UID: (version, its text), in order; "" once it is gone."""
        self._highest = 0
        self._views: deque[Note] = deque()

    def hears_write(self, entry: Entry, agent: UserAgent | None) -> None:
        if not entry.succeeded or not entry.uid or not entry.resource_version.isdecimal():
            return
        history = self._histories[entry.resource][entry.uid]
        version = int(entry.resource_version)
        self._highest = max(self._highest, version)
        if entry.removed:
            # The deletion's own version is later than everything before it, and need not be in the answer.
            history.append((self._highest + 1, ""))
        elif not history or history[-1][0] < version:
            history.append((version, entry.resource_version))
        while self._views and self._highest >= int(self._views[0].version) + self._PAST:
            view = self._views.popleft()
            self.checks += self._compared(view)
            for what in self._compare(view):
                self.found(view.time, what)

    def hears_note(self, note: Note) -> None:
        if note.what == "view" and note.outcome == "whole" and note.objects is not None and note.version.isdecimal():
            self._views.append(note)

    def pending(self, end: float) -> list[str]:
        return [what for view in self._reached() for what in self._compare(view)]

    def checks_by(self, end: float) -> int:
        return self.checks + sum(self._compared(view) for view in self._reached())

    def _reached(self) -> list[Note]:
        return [view for view in self._views if int(view.version) <= self._highest]

    def _compared(self, view: Note) -> int:
        return sum(1 for _ in self._known(view))

    def _known(self, view: Note) -> Iterator[tuple[str, list[tuple[int, str]]]]:
        covered = KeyRange.parse(view.range)
        return (each for each in self._histories[view.resource].items() if _hash(each[0]) in covered)

    def _compare(self, view: Note) -> Iterator[str]:
        reached, objects = int(view.version), view.objects or {}
        for uid, history in self._known(view):
            at = bisect_right(history, reached, key=lambda each: each[0])
            held, wanted = objects.get(uid, ""), history[at - 1][1] if at else ""
            going = not held and at < len(history) and not history[at][1]
            if held != wanted and not going and (at or held):
                where = f"the view of {view.resource} {view.range} on {view.member}, at {reached},"
                yield f"{where} has {uid} at {held or 'no version'}; the server had {wanted or 'none'}"


class Alternating(Invariant):
    """Per UID and view: an object is added when it was not there, and modified or deleted when it was."""

    id = "I16"
    sentence = "In the stream of a view's changes, additions and deletions of an object alternate."
    what = "changes of views"
    needs = (NOTES,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._there: dict[View, set[str]] = defaultdict(set)

    def hears_note(self, note: Note) -> None:
        if note.what in ("stopped", "begin"):
            for member, covered, resource in list(self._there):
                if member == note.member and (note.what == "begin" or covered == note.range):
                    del self._there[member, covered, resource]
        if note.what != "change":
            return
        self.checks += 1
        there = self._there[note.member, note.range, note.resource]
        if (note.cause == "added") == (note.uid in there):
            state = "which was there" if note.uid in there else "which was not there"
            self.found(note.time, f"{note.key} ({note.uid}), {state}, was {note.cause} on {note.member}")
        if note.cause == "deleted":
            there.discard(note.uid)
        else:
            there.add(note.uid)


class KnownStaleness(Invariant):
    """In each pulse of a worker that calls itself ready, the view that is furthest behind was known to be current
    within the bound."""

    id = "I18"
    sentence = "Staleness is known: a view is current within the bound, or its worker says that it is not ready."
    what = "pulses of ready workers with shards"
    needs = (NOTES,)

    def hears_note(self, note: Note) -> None:
        figures = note.figures or {}
        if note.what != "pulse" or note.outcome or not figures.get("open"):
            return
        self.checks += 1
        if figures["view_age"] > self.bounds.view_age_seconds:
            self.found(note.time, f"{note.member} is ready on a view that is {figures['view_age']:.0f} s old")


class NoStarvation(Invariant):
    """A key that can run, or whose delay is over, starts within the bound."""

    id = "I19"
    sentence = "No key starves, and delayed keys start when they are due."
    what = "starts of reconciles"
    needs = (NOTES,)

    def hears_note(self, note: Note) -> None:
        if note.what == "started":
            self.checks += 1
            if note.seconds > self.bounds.wait_seconds:
                self.found(note.time, f"{note.key} waited {note.seconds:.1f} s on {note.member}")
        elif note.what == "pulse" and (note.figures or {}).get("longest_wait", 0.0) > self.bounds.wait_seconds:
            self.found(note.time, f"a key has waited {(note.figures or {})['longest_wait']:.1f} s on {note.member}")


class BackingOff(Invariant):
    """The failures of a key count up by one, and from none after a success; delays are above zero, at most the bound,
    and no more than the jitter below the one before."""

    id = "I20"
    sentence = "Delays of a failing key grow to their limit, and begin anew after a success."
    what = "retries"
    needs = (NOTES,)

    _JITTER = 0.75

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._last: dict[tuple[str, str, str, str], tuple[int, float]] = {}

    def hears_note(self, note: Note) -> None:
        who = note.member, note.controller, note.range, note.uid
        if note.what in ("stopped", "begin"):
            for each in [each for each in self._last if each[0] == note.member]:
                if note.what == "begin" or each[2] == note.range:
                    del self._last[each]
        elif note.what == "ended" and note.outcome in ("success", "requeue_after", "terminal"):
            self._last.pop(who, None)
        elif note.what == "retry":
            self.checks += 1
            before, delay = self._last.get(who, (-1, 0.0))
            for what in self._wrong(note, before, delay):
                self.found(note.time, f"{note.key} on {note.member}: {what}")
            self._last[who] = note.count, note.seconds

    def _wrong(self, note: Note, before: int, delay: float) -> Iterator[str]:
        if not 0 < note.seconds <= self.bounds.longest_delay_seconds:
            yield f"a delay of {note.seconds:g} s"
        elif note.seconds < delay * self._JITTER:
            yield f"a delay of {note.seconds:g} s after one of {delay:g} s, without a success between"
        if note.count != before + 1:
            yield f"failure {note.count} follows failure {before}"


class FlatResources(Invariant):
    """From a process's third pulse to its last, memory, descriptors, threads and children stay within the bound of
    growth."""

    id = "I25"
    sentence = "Resources of a process are flat: memory, descriptors, threads, children."
    what = "pulses after the third of a process"
    needs = (NOTES,)

    _WARM = 3

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._pulses: dict[str, int] = {}
        self._first: dict[str, dict[str, float]] = {}
        self._told: set[tuple[str, str]] = set()

    def hears_note(self, note: Note) -> None:
        if note.what == "begin":
            self._pulses[note.member] = 0
        if note.what != "pulse" or note.figures is None:
            return
        seen = self._pulses[note.member] = self._pulses.get(note.member, 0) + 1
        if seen == self._WARM:
            self._first[note.member] = note.figures
        if seen <= self._WARM:
            return
        self.checks += 1
        for name, value in self._grown(self._first[note.member], note.figures):
            if (note.member, name) not in self._told:
                self._told.add((note.member, name))
                self.found(note.time, f"{name} of {note.member} grew to {value:g}")

    def _grown(self, first: dict[str, float], now: dict[str, float]) -> Iterator[tuple[str, float]]:
        bounds = self.bounds
        for name in ("rss_mib", "fds", "threads", "children"):
            room = bounds.growth_mib if name == "rss_mib" else bounds.growth_count
            if name in now and now[name] > first.get(name, 0.0) * (1.0 + bounds.growth_share) + room:
                yield name, now[name]


class HonestHealth(Invariant):
    """A worker that calls itself ready makes progress: its views are current and no key waits longer than the bounds.
    One that does not holds no range for longer than a lease and the bound."""

    id = "I26"
    sentence = "Health tells the truth: ready means progress, and who is not ready does not keep its shards."
    what = "pulses"
    needs = (NOTES,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._unready: dict[str, float] = {}

    def hears_note(self, note: Note) -> None:
        if note.what == "begin":
            self._unready.pop(note.member, None)
        if note.what != "pulse" or note.figures is None:
            return
        self.checks += 1
        figures, bounds = note.figures, self.bounds
        if not note.outcome:
            self._unready.pop(note.member, None)
            late = figures["view_age"] > bounds.view_age_seconds or figures["longest_wait"] > bounds.wait_seconds
            if figures.get("open") and late:
                self.found(note.time, f"{note.member} is ready and makes no progress")
        elif not figures.get("owned"):
            self._unready.pop(note.member, None)
        else:
            since = self._unready.setdefault(note.member, note.time)
            if note.time - since > bounds.view_age_seconds:
                self.found(note.time, f"{note.member} keeps its shards though it is not ready: {note.outcome}")
