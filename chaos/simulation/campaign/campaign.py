"""A campaign: many seeds, one history each, until all are played, enough have failed, or somebody stops it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing

import msgspec

from chaos.simulation.campaign.crew import Crew
from chaos.simulation.campaign.errand import Errand, Failure, Played
from chaos.simulation.campaign.tally import Tally, failure_of
from chaos.simulation.plan import Depth

_AT_ONCE: dict[Depth, int] = {"protocol": 50, "stack": 2}
"""Seeds of one errand: a fraction of a second's work, so that all processes end at about the same time."""
MOST_REPEATED = 5
"""Failures that are played again by a second process. With a rule removed there may be thousands of them."""


class Campaign(msgspec.Struct, frozen=True, kw_only=True):
    """seeds: how many, from first_seed on; None: as many as are begun within `seconds` of real time. stop_at: failures
    after which it ends early; None = never."""

    first_seed: int
    seeds: int | None
    jobs: int
    seconds: float | None = None
    depth: Depth = "protocol"
    broken_rule: str = ""
    stop_at: int | None = 1

    def errands(self, clock: Callable[[], float]) -> Iterator[Errand]:
        """What is handed out next. clock: in seconds, that only grows; an errand that was begun is brought to its end,
        so that the seeds played are those from the first to a last one."""
        began = clock()
        size = (
            _AT_ONCE[self.depth] if self.seeds is None else max(min(_AT_ONCE[self.depth], self.seeds // self.jobs), 1)
        )
        left = math.inf if self.seeds is None else self.seeds
        seed = self.first_seed
        while left > 0 and (self.seconds is None or clock() - began < self.seconds):
            count = int(min(size, left))
            yield self.errand(seed, count)
            seed, left = seed + count, left - count

    def errand(self, seed: int, seeds: int = 1) -> Errand:
        return Errand(first_seed=seed, seeds=seeds, depth=self.depth, broken_rule=self.broken_rule)

    def enough(self, tally: Tally) -> bool:
        return self.stop_at is not None and len(tally.failures) >= self.stop_at


def conduct(
    campaign: Campaign, crew: Crew, tally: Tally, heard: Callable[[], None], *, clock: Callable[[], float]
) -> None:
    """Plays it; the tally grows. heard: called after each history, and at least every second."""
    with closing(crew.play(campaign.errands(clock))) as told:
        for each in told:
            if isinstance(each, Played):
                tally.take(each)
            elif isinstance(each, Failure):
                tally.take_failure(each)
            heard()
            if campaign.enough(tally):
                return


def repeat(campaign: Campaign, crew: Crew, failures: list[Failure]) -> list[Failure]:
    """The same failures, the first few with whether another process saw exactly the same."""
    looked: dict[int, Failure] = {}
    for failure in [each for each in failures if each.kind == "breach"][:MOST_REPEATED]:
        for each in crew.play(iter([campaign.errand(failure.seed)])):
            if isinstance(each, Played):
                again = each.outcome.breaches[:1] if each.outcome is not None else ()
                same = [failure_of(failure.seed, breach) for breach in again] == [failure]
                looked[failure.seed] = msgspec.structs.replace(failure, repeats=same)
            elif isinstance(each, Failure):
                looked[failure.seed] = msgspec.structs.replace(failure, repeats=False)
    return [looked.get(failure.seed, failure) for failure in failures]
