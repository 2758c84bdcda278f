"""What the histories of a campaign came to, added up as they are told."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from chaos.simulation.campaign.errand import Failure, Played
from chaos.simulation.outcome import Breach


@dataclass(slots=True)
class Settled:
    """How long fleets took until all was as it should be: the shortest and the longest, in simulated seconds."""

    lowest_seconds: float
    lowest_seed: int
    highest_seconds: float
    highest_seed: int

    def take(self, seconds: float, seed: int) -> None:
        """Of equal ones the smaller seed is kept, whoever told it first."""
        if (seconds, seed) < (self.lowest_seconds, self.lowest_seed):
            self.lowest_seconds, self.lowest_seed = seconds, seed
        if (-seconds, seed) < (-self.highest_seconds, self.highest_seed):
            self.highest_seconds, self.highest_seed = seconds, seed


@dataclass(slots=True)
class Tally:
    """seeds: histories that came to an end, well or not. cpu_seconds: of the processes that played them, their start
    left out. simulated_seconds: that passed in the histories. checks, hits: see `Outcome`. failures: in the order in
    which they were told."""

    seeds: int = 0
    cpu_seconds: float = 0.0
    simulated_seconds: float = 0.0
    checks: Counter[str] = field(default_factory=Counter)
    hits: Counter[str] = field(default_factory=Counter)
    settled: Settled | None = None
    failures: list[Failure] = field(default_factory=list)

    def take(self, played: Played) -> None:
        """One history more."""
        self.seeds += 1
        self.cpu_seconds += played.cpu_seconds
        outcome = played.outcome
        if outcome is None:
            self.failures.append(Failure(seed=played.seed, kind="error", what=played.error))
            return
        self.simulated_seconds += outcome.seconds
        self.checks.update(outcome.checks)
        self.hits.update(outcome.hits)
        if outcome.breaches:
            self.failures.append(failure_of(played.seed, outcome.breaches[0]))
        elif outcome.settled_seconds is not None:
            self._settled(outcome.settled_seconds, played.seed)

    def take_failure(self, failure: Failure) -> None:
        """A history that nobody can tell of any more."""
        self.seeds += 1
        self.failures.append(failure)

    def _settled(self, seconds: float, seed: int) -> None:
        if self.settled is None:
            self.settled = Settled(seconds, seed, seconds, seed)
        else:
            self.settled.take(seconds, seed)


def failure_of(seed: int, breach: Breach) -> Failure:
    return Failure(seed=seed, kind="breach", oracle=breach.oracle, at=breach.at, what=breach.what)
