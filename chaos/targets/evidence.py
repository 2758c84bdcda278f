"""What was recorded between a fleet and its server, and what the workers noted beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from chaos.targets.control import Control
from chaos.targets.journals import Line, entries_in, in_order, notes_below
from chaos.targets.pod import JOURNALS
from fleet.devcluster.evidence.verdict import Verdict
from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.judging.judge import Judge
from fleet.devcluster.recording.journal import Entry
from shards.journal import Note


class Recording:
    """What `chaos.targets.target.Evidence` asks. journal: of the server. directory: where the pods keep theirs."""

    def __init__(self, control: Control, journal: Path, directory: Path, bounds: Bounds) -> None:
        self._control = control
        self._journal = journal
        self._directory = directory / JOURNALS
        self._bounds = bounds

    def verdict(self) -> Verdict:
        return self._control.verdict()

    def whole(self) -> Verdict:
        seat = Judge(self._bounds)
        for line in self.lines():
            if isinstance(line, Note):
                seat.note(line)
            else:
                seat.hear(line)
        return seat.verdict()

    def lines(self) -> Iterator[Line]:
        """Entries and notes, in order of time."""
        return in_order(entries_in(self._journal, self._control.entries_after), notes_below(self._directory))

    def entries(self) -> list[Entry]:
        return list(entries_in(self._journal, self._control.entries_after))

    def notes(self) -> list[Note]:
        return list(notes_below(self._directory))
