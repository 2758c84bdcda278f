"""Random faults, one after the other, for as long as somebody wants to watch."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from random import Random, SystemRandom
from typing import Any

import click

from chaos.actions.gusts import GUSTS, End, Gust
from chaos.actions.strikes import Strike, strike
from chaos.probes.promises import double_acts
from chaos.targets.running import RUNNING
from chaos.targets.target import Target, TargetFailed
from shards.errors import ShardError

_SEEDS = 10**6


def storm(
    seconds: float = 3600.0, seed: int = 0, every_seconds: float = 10.0, target: Target = RUNNING
) -> dict[str, Any]:
    """A fault every few seconds, drawn from a seed over everything that the target can do, and ended after a while.

    seed: 0 draws one. It is printed at the beginning, and decides kinds, victims and lengths; a fleet on real machines
    does not repeat itself for that. Ends early at the first double act: what comes later would only hide it. Raises
    TargetFailed where no fault could be brought about.
    """
    seed = seed or SystemRandom().randrange(1, _SEEDS)
    click.echo(f"  storm of {seconds:g} s, seed {seed}", err=True)
    weather = _Weather(target)
    began = target.now()
    strikes, clear, due = 0, True, began
    try:
        while clear and due < began + seconds:
            weather.end_until(due)
            clear = double_acts(target) == 0
            if clear:
                # Of its own, so that what could not be done before changes nothing of what is drawn now.
                weather.strike(Random(f"{seed}.{strikes}"))
            strikes += 1
            # From when it has begun: what takes long to begin is not made up for by several at once.
            due = max(due, target.now()) + every_seconds
        weather.end_until(began + seconds if clear else target.now())
    finally:
        weather.end_all()
    if not weather.struck:
        raise TargetFailed(f"no fault could be brought about: {'; '.join(weather.refusals)}")
    return {
        "seed": seed,
        "seconds": round(target.now() - began, 1),
        "faults": sum(weather.struck.values()),
        "struck": dict(sorted(weather.struck.items())),
        "could_not": dict(sorted(weather.missed.items())),
        "not_ended": weather.not_ended,
        "strikes": weather.strikes,
        "double_act_seen": not clear,
    }


@dataclass
class _Weather:
    """Gusts that blow now, and what became of those before."""

    target: Target
    struck: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    refusals: list[str] = field(default_factory=list)
    not_ended: list[str] = field(default_factory=list)
    strikes: list[Strike] = field(default_factory=list)
    _blowing: list[tuple[float, int, End]] = field(default_factory=list)
    """When each is to end, the number of its strike, and what ends it."""

    def strike(self, rng: Random) -> None:
        """One more, and another one where that cannot be done."""
        for gust in rng.sample(GUSTS, len(GUSTS)):
            if self._begin(gust, rng):
                return

    def end_until(self, due: float) -> None:
        """Waits until then, and ends what is due before."""
        while self._blowing and self._blowing[0][0] <= due:
            at, number, end = heapq.heappop(self._blowing)
            self._sleep_until(at)
            self._end(number, end)
        self._sleep_until(due)

    def end_all(self) -> None:
        while self._blowing:
            _, number, end = heapq.heappop(self._blowing)
            self._end(number, end)

    def _begin(self, gust: Gust, rng: Random) -> bool:
        try:
            what, end = gust.begin(self.target, rng)
        except ShardError as error:
            self.missed[gust.name] += 1
            self.refusals.append(f"{gust.name}: {error}")
            del self.refusals[: -len(GUSTS)]
            return False
        seconds = rng.uniform(*gust.seconds)
        self.struck[gust.name] += 1
        click.echo(f"  storm   {gust.name}: {what}, {seconds:.1f} s", err=True)
        heapq.heappush(self._blowing, (self.target.now() + seconds, len(self.strikes), end))
        self.strikes.append(strike(f"{gust.name}: {what}", self.target))
        return True

    def _end(self, number: int, end: End) -> None:
        """What cannot be ended ends by itself, or has ended: the process is gone, say."""
        ended = self.strikes[number]
        try:
            end()
        except ShardError as error:
            self.not_ended.append(f"{ended['what']}: {error}")
        ended["until"] = self.target.now()

    def _sleep_until(self, due: float) -> None:
        if (seconds := due - self.target.now()) > 0:
            self.target.sleep(seconds)
