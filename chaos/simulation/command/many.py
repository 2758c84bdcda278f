"""`fleet sim` for many histories."""

from __future__ import annotations

import time
from collections.abc import Callable

from chaos.running.interrupts import signals_as_ctrl_c
from chaos.simulation.campaign.campaign import Campaign, conduct, repeat
from chaos.simulation.campaign.crew import Crew
from chaos.simulation.campaign.tally import Tally
from chaos.simulation.command.progress import CampaignProgress
from chaos.simulation.command.report import Figures, failure_lines, figures, opening
from shards.clock import boot_seconds

Say = Callable[[str], None]


def played(campaign: Campaign, say: Say) -> Figures:
    """Plays it, showing how far it is. say: takes what is to be kept. Ctrl-C ends it with what there is."""
    say(opening(campaign))
    tally, began, interrupted = Tally(), boot_seconds(), False
    took = 0.0
    with signals_as_ctrl_c():
        try:
            with CampaignProgress(campaign.seeds, boot_seconds) as progress, _crew(campaign.jobs) as crew:
                failures = _Failures(campaign, tally, progress.above(say))

                def heard() -> None:
                    progress.show(tally)
                    failures.tell()

                conduct(campaign, crew, tally, heard, clock=time.monotonic)
            took = boot_seconds() - began
            with _crew(1) as another:
                tally.failures = repeat(campaign, another, tally.failures)
        except KeyboardInterrupt:
            interrupted = True
    return figures(campaign, tally, took or boot_seconds() - began, interrupted=interrupted)


class _Failures:
    """Tells each failure at once: a campaign may go on for hours."""

    def __init__(self, campaign: Campaign, tally: Tally, say: Say) -> None:
        self._campaign = campaign
        self._tally = tally
        self._say = say
        self._told = 0

    def tell(self) -> None:
        while self._told < len(self._tally.failures):
            for text in failure_lines(self._tally.failures[self._told], self._campaign):
                self._say(text)
            self._told += 1


def _crew(jobs: int) -> Crew:
    return Crew(jobs, clock=time.monotonic)
