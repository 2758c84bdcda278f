"""What was recorded between a fleet and its server, and what the workers noted beside it."""

from __future__ import annotations

from pathlib import Path

from chaos.targets.control import Control
from chaos.targets.pod import JOURNALS
from fleet.devcluster.evidence.verdict import Verdict
from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.judging.judge import judge
from fleet.devcluster.recording.journal import Entry
from shards.journal import Note, decode_notes


class Recording:
    """What `chaos.targets.target.Evidence` asks. directory: where the pods keep their journals."""

    def __init__(self, control: Control, directory: Path, bounds: Bounds) -> None:
        self._control = control
        self._directory = directory / JOURNALS
        self._bounds = bounds
        self._entries: list[Entry] = []

    def verdict(self) -> Verdict:
        return self._control.verdict()

    def whole(self) -> Verdict:
        return judge(self.entries(), self.notes(), bounds=self._bounds)

    def entries(self) -> list[Entry]:
        self._entries += self._control.entries_after(self._entries[-1].seq if self._entries else 0)
        return list(self._entries)

    def notes(self) -> list[Note]:
        found: list[Note] = []
        for file in sorted(self._directory.rglob("*.jsonl")):
            whole, _, _ = file.read_bytes().rpartition(b"\n")  # a worker may be at its last line
            found += decode_notes(whole)
        return found
