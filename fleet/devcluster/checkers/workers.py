"""I25 and I26: what pulses say of a worker's process."""

from __future__ import annotations

from collections.abc import Iterator

from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.invariant import NOTES, Invariant
from shards.journal import Note


class FlatResources(Invariant):
    """From a process's third pulse to its last, memory, descriptors, threads and children stay within the bound of
    growth. A process that works on more ranges than ever before has more views, and begins anew."""

    id = "I25"
    sentence = "Resources of a process are flat: memory, descriptors, threads, children."
    what = "pulses after the third of a process"
    needs = (NOTES,)

    _WARM = 3
    _MEASURED = ("rss_mib", "fds", "threads", "children")

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._pulses: dict[str, int] = {}
        self._first: dict[str, dict[str, float]] = {}
        self._most: dict[str, float] = {}
        """Ranges that were open at once, by member."""
        self._told: set[tuple[str, str]] = set()

    def hears_note(self, note: Note) -> None:
        if note.what == "begin":
            self._pulses[note.member] = 0
            self._most[note.member] = 0.0
        if note.what != "pulse" or note.figures is None:
            return
        if note.figures.get("open", 0.0) > self._most.get(note.member, 0.0):
            self._pulses[note.member] = 0
            self._most[note.member] = note.figures["open"]
        seen = self._pulses[note.member] = self._pulses.get(note.member, 0) + 1
        if seen == self._WARM:
            self._first[note.member] = note.figures
        if seen <= self._WARM:
            return
        self.checks += any(name in note.figures for name in self._MEASURED)
        for name, value in self._grown(self._first[note.member], note.figures):
            if (note.member, name) not in self._told:
                self._told.add((note.member, name))
                self.found(note.time, f"{name} of {note.member} grew to {value:g}")

    def _grown(self, first: dict[str, float], now: dict[str, float]) -> Iterator[tuple[str, float]]:
        bounds = self.bounds
        for name in self._MEASURED:
            room = bounds.growth_mib if name == "rss_mib" else bounds.growth_count
            if name in now and now[name] > first.get(name, 0.0) * (1.0 + bounds.growth_share) + room:
                yield name, now[name]


class HonestHealth(Invariant):
    """A worker that calls itself ready makes progress: its views are current and no key waits longer than the bounds.
    One that does not holds no range for longer than a lease and the bound."""

    id = "I26"
    sentence = "Health tells the truth: ready means progress, and who is not ready does not keep its shards."
    what = "pulses of workers with shards"
    needs = (NOTES,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._unready: dict[str, float] = {}

    def hears_note(self, note: Note) -> None:
        if note.what == "begin":
            self._unready.pop(note.member, None)
        if note.what != "pulse" or note.figures is None:
            return
        figures, bounds = note.figures, self.bounds
        self.checks += bool(figures.get("owned") if note.outcome else figures.get("open"))
        if not note.outcome:
            self._unready.pop(note.member, None)
            age, wait = figures.get("view_age", 0.0), figures.get("longest_wait", 0.0)
            if figures.get("open") and (age > bounds.view_age_seconds or wait > bounds.wait_seconds):
                self.found(note.time, f"{note.member} is ready and makes no progress")
        elif not figures.get("owned"):
            self._unready.pop(note.member, None)
        else:
            since = self._unready.setdefault(note.member, note.time)
            if note.time - since > bounds.view_age_seconds:
                self.found(note.time, f"{note.member} keeps its shards though it is not ready: {note.outcome}")
