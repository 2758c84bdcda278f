"""What a story needs to know of a recording and of the workers' notes, taken in line by line: neither is kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fleet.devcluster.recording.journal import FAULTS, Entry
from shards.journal import Note

Turn = tuple[str, str, int]
"""Range, member and epoch of one ownership."""


@dataclass(slots=True)
class Reconciles:
    """Times are the recording's. done: end, and seconds from when it could start. waits, runs: begin and end of each.

    What never ended lasts until the last word of its worker.
    """

    done: list[tuple[float, float]] = field(default_factory=list)
    waits: list[tuple[float, float]] = field(default_factory=list)
    runs: list[tuple[float, float]] = field(default_factory=list)


class Hearing:
    """last: time of the last line; None for none. faults: what injectors did. opened, draining: when, by ownership.

    noting: members that left notes.
    """

    def __init__(self, lines: Iterable[Entry | Note]) -> None:
        """lines: in order of time."""
        self.last: float | None = None
        self.faults: list[Entry] = []
        self.opened: dict[Turn, float] = {}
        self.draining: dict[Turn, float] = {}
        self.noting: set[str] = set()
        self.reconciles = Reconciles()
        self._running: dict[str, dict[tuple[str, str], Note]] = {}
        self._last: dict[str, float] = {}
        for line in lines:
            self.last = line.time if self.last is None else max(self.last, line.time)
            if isinstance(line, Note):
                self._note(line)
            elif line.verb in FAULTS:
                self.faults.append(line)
        for member in self._running:
            self._ended(member)

    def _note(self, note: Note) -> None:
        if note.what == "begin":  # another process of that name: what the last one had begun ended with it
            self._ended(note.member)
        elif note.what == "opened":
            self.opened.setdefault((note.range, note.member, note.epoch), note.time)
        elif note.what == "draining":
            self.draining.setdefault((note.range, note.member, note.epoch), note.time)
        elif note.what == "started":
            self._running.setdefault(note.member, {})[note.controller, note.uid] = note
            self.reconciles.waits.append((note.time - note.seconds, note.time))
        elif note.what == "ended":
            start = self._running.get(note.member, {}).pop((note.controller, note.uid), None)
            self.reconciles.runs.append((note.time - note.seconds, note.time))
            waited = 0.0 if start is None else start.seconds
            self.reconciles.done.append((note.time, waited + note.seconds))
        self.noting.add(note.member)
        self._last[note.member] = note.time

    def _ended(self, member: str) -> None:
        running = self._running.get(member, {})
        self.reconciles.runs += [(each.time, self._last[member]) for each in running.values()]
        running.clear()
