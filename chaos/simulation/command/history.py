"""`fleet sim` for one history: its trace, or what it came to."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from chaos.simulation.campaign.player import without
from chaos.simulation.depths import run
from chaos.simulation.outcome import Outcome
from chaos.simulation.plan import Depth, Plan
from chaos.simulation.scenario_file import read, text_of
from chaos.simulation.swarm import draw
from chaos.simulation.trace import line
from fleet import __version__

Print = Callable[[str], None]


def plan_of(seed: int | None, scenario: Path | None, depth: Depth) -> Plan:
    """The plan of a scenario file, or else the one that is drawn from a seed."""
    if scenario is not None:
        return read(scenario)
    assert seed is not None, "one of them is given"
    return draw(seed, depth)


def play(plan: Plan, broken_rule: str, show: Print | None) -> Outcome:
    """show: takes the lines of the trace, the plan first, as the text of a scenario file."""
    with without(broken_rule), quiet_logs():
        if show is None:
            return run(plan)
        without_rule = f", without the rule {broken_rule}" if broken_rule else ""
        show(f"# shardfleet {__version__}{without_rule}")
        for each in text_of(plan).splitlines():
            show(f"# {each}" if each else "#")
        return run(plan, say=lambda at, sentence: show(line(at, sentence)))


@contextmanager
def quiet_logs() -> Iterator[None]:
    """What simulated processes log stays unsaid."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        yield
    finally:
        logging.disable(before)


def ending_lines(outcome: Outcome) -> Iterator[str]:
    """What it came to, in the manner of the trace."""
    for breach in outcome.breaches:
        yield line(breach.at, f"{breach.oracle} is broken: {breach.what}")
    if outcome.settled_seconds is not None:
        yield line(outcome.seconds, f"all is as it should be, {outcome.settled_seconds:.3f} s after the healing")
    if outcome.digest:
        yield f"# digest {outcome.digest}"


class Pages:
    """Takes lines for a reader who may go away, as `head` does: the history is played to its end all the same."""

    def __init__(self, show: Print) -> None:
        self._show = show
        self._has_reader = True

    def put(self, text: str) -> None:
        if self._has_reader:
            try:
                self._show(text)
            except BrokenPipeError:
                self._has_reader = False
