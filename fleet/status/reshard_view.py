"""How a reshard is shown while somebody waits for it: bars on a terminal, lines elsewhere, JSON for machines."""

from __future__ import annotations

import sys
from dataclasses import asdict
from types import TracebackType
from typing import TextIO

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from fleet.status.reshard_progress import ReshardPhase, ReshardProgress

_BARS = ("retired", "activated", "owned")


class ReshardView:
    """A context manager."""

    def __init__(self, *, as_json: bool, out: TextIO | None = None) -> None:
        """out: standard output where it is not given."""
        self._out = out or sys.stdout
        self._json = as_json
        console = Console(file=self._out, highlight=False)
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        if console.is_terminal and not as_json:
            columns = TextColumn("{task.description:>9}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
            self._bars = Progress(*columns, console=console)

    def __enter__(self) -> ReshardView:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def asked(self, sentence: str) -> None:
        """It is written down."""
        self._say({"phase": "asked", "what": sentence}, sentence)

    def impatient(self) -> None:
        """Nobody has followed for long."""
        why = "no coordinator has followed it so far: is one in office (fleet status), or is another reshard under way?"
        self._say({"phase": "waiting", "why": why}, why)

    def show(self, found: ReshardProgress) -> None:
        """It has moved."""
        if self._json:
            self._say({**asdict(found), "phase": str(found.phase)}, "")
        elif self._bars is None:
            self._say({}, found.sentence)
        elif found.phase in (ReshardPhase.RUNNING, ReshardPhase.DONE):
            totals = {"retired": found.leaving, "activated": found.new, "owned": found.new}
            for name in _BARS:
                if name not in self._tasks:
                    self._tasks[name] = self._bars.add_task(name, total=totals[name])
                self._bars.update(self._tasks[name], completed=getattr(found, name), total=totals[name])
            if found.phase is ReshardPhase.DONE:
                self._say({}, found.sentence)

    def _say(self, line: dict[str, object], text: str) -> None:
        if self._json:
            self._write(msgspec.json.encode(line).decode())
        elif self._bars is not None:
            self._bars.console.print(text)
        else:
            self._write(text)

    def _write(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()
