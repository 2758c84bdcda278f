from __future__ import annotations

import io

from rich.console import Console

from chaos.simulation.campaign.tally import Tally
from chaos.simulation.command.progress import CampaignProgress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def shown(clock: Clock, seeds: int | None, *, terminal: bool, seconds: list[float]) -> str:
    """What was written, when it was shown at these seconds, with ten histories a second."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=120, highlight=False, color_system=None)
    with CampaignProgress(seeds, clock, console) as progress:
        for at in seconds:
            clock.now = 100.0 + at
            progress.show(Tally(seeds=int(10 * at)))
    return out.getvalue()


def test_without_a_terminal_there_is_a_line_from_time_to_time() -> None:
    told = shown(Clock(), 1000, terminal=False, seconds=[1, 5, 10, 11, 19, 20])

    assert told.splitlines() == [
        "100 of 1,000 seeds, 10.0 a second, 0 failed",
        "200 of 1,000 seeds, 10.0 a second, 0 failed",
    ]


def test_a_campaign_without_a_number_of_seeds_counts_them() -> None:
    assert shown(Clock(), None, terminal=False, seconds=[10]) == "100 seeds, 10.0 a second, 0 failed\n"


def test_on_a_terminal_there_is_a_bar() -> None:
    told = shown(Clock(), 1000, terminal=True, seconds=[1, 2])

    assert "20/1000" in told
    assert "10.0 seeds/s" in told
