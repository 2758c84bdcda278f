"""What `fleet dev` shows while it runs: a live table on a terminal, plain lines anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from fleet.dev.report import Report
from fleet.status.status_table import render
from fleet.status.statusview import FleetStatus

_ROWS_BESIDE_SHARDS = 14
"""Lines of the live view that are not shards, for a view that fits on the screen."""


class View:
    """A context manager. Events are printed as they come; the table is drawn anew."""

    def __init__(self, *, to_stderr: bool) -> None:
        """to_stderr: leave standard output to the JSON object."""
        self._console = Console(file=sys.stderr if to_stderr else sys.stdout, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False) if self._console.is_terminal else None

    def __enter__(self) -> View:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def say(self, text: str) -> None:
        """One event, on a line of its own."""
        self._console.print(text, markup=False, soft_wrap=True)

    def show(self, status: FleetStatus | None, progress: str) -> None:
        """The present state; nothing where there is no terminal to draw on."""
        if self._live is None:
            return
        longest = max(self._console.height - _ROWS_BESIDE_SHARDS - (len(status.members) if status else 0), 4)
        table = render(status, longest=longest) if status else Text("waiting for the fleet", "dim")
        self._live.update(Group(table, Text(progress, "bold"), Text("Ctrl-C ends it", "dim")), refresh=True)

    def summary(self, report: Report) -> None:
        """The numbers at the end, for people."""
        for line in _summary(report.lines()):
            self._console.print(line, soft_wrap=True)


def _summary(rows: Sequence[tuple[str, str]]) -> list[Text]:
    """One line each, however long: the terminal wraps it, and a file holds it whole."""
    widest = max(len(name) for name, _ in rows)
    return [Text.assemble((f"{name:<{widest}}", "dim"), "  ", value) for name, value in rows]
