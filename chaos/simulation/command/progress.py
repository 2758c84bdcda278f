"""How far a campaign is: a bar on a terminal, a line from time to time anywhere else. On standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from chaos.simulation.campaign.tally import Tally

DRAW_SECONDS = 0.25
LINE_SECONDS = 10.0


class CampaignProgress:
    """A context manager. clock: in seconds, that only grows. show: called often, draws seldom."""

    def __init__(self, seeds: int | None, clock: Callable[[], float], console: Console | None = None) -> None:
        self._seeds = seeds
        self._clock = clock
        self._console = console or Console(file=sys.stderr, highlight=False)
        self._bar = self._make_bar() if self._console.is_terminal else None
        self._every = DRAW_SECONDS if self._bar is not None else LINE_SECONDS
        self._began = self._drawn = clock()

    def __enter__(self) -> CampaignProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def above(self, say: Callable[[str], None]) -> Callable[[str], None]:
        """The same, but where both go to one terminal: there the line is put above the bar."""
        return self._print if self._bar is not None and sys.stdout.isatty() else say

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def show(self, tally: Tally) -> None:
        now = self._clock()
        if now - self._drawn < self._every:
            return
        self._drawn = now
        rate = tally.seeds / (now - self._began)
        failures = f"{len(tally.failures):,} failed"
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=tally.seeds, rate=f"{rate:,.1f}", failures=failures)
            self._bar.refresh()
        else:
            of = f" of {self._seeds:,}" if self._seeds is not None else ""
            self._print(f"{tally.seeds:,}{of} seeds, {rate:,.1f} a second, {failures}")

    def _make_bar(self) -> Progress:
        """Drawn by us and by no thread: processes are started while it is shown."""
        bar = Progress(
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]} seeds/s"),
            TextColumn("{task.fields[failures]}"),
            TimeRemainingColumn(),
            console=self._console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            expand=True,
        )
        bar.add_task("seeds", total=self._seeds, rate="-", failures="0 failed")
        return bar
