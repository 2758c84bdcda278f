"""`fleet sim` for many histories."""

from __future__ import annotations

import time
from collections.abc import Callable

from chaos.interrupts import sigterm_as_ctrl_c
from chaos.simulation.campaign.campaign import Campaign, conduct, repeat
from chaos.simulation.campaign.crew import Crew
from chaos.simulation.campaign.tally import Tally
from chaos.simulation.command.progress import CampaignProgress
from chaos.simulation.command.report import Figures, failure_lines, figures, opening
from shards.clock import boot_seconds


def played(campaign: Campaign, say: Callable[[str], None]) -> Figures:
    """Plays it, showing how far it is. say: takes what is to be kept. Ctrl-C ends it with what there is."""
    say(opening(campaign))
    tally, began, interrupted = Tally(), boot_seconds(), False
    took = 0.0
    with sigterm_as_ctrl_c():
        try:
            with CampaignProgress(campaign.seeds, boot_seconds) as progress, _crew(campaign.jobs) as crew:
                conduct(campaign, crew, tally, lambda: _show(progress, campaign, tally), clock=time.monotonic)
            took = boot_seconds() - began
            with _crew(1) as another:
                tally.failures = repeat(campaign, another, tally.failures)
        except KeyboardInterrupt:
            interrupted = True
    for failure in tally.failures:
        for text in failure_lines(failure, campaign):
            say(text)
    return figures(campaign, tally, took or boot_seconds() - began, interrupted=interrupted)


def _show(progress: CampaignProgress, campaign: Campaign, tally: Tally) -> None:
    """A campaign that goes on after a failure may take hours: each failure is told at once."""
    progress.show(tally)
    for failure in tally.failures[progress.failures_shown :] if campaign.stop_at != 1 else ():
        for text in failure_lines(failure, campaign):
            progress.say(text)
    progress.failures_shown = len(tally.failures)


def _crew(jobs: int) -> Crew:
    return Crew(jobs, clock=time.monotonic)
