"""Draws the faults of a simulation: every word that a watch can meet and must survive.

Not drawn are `hide`, `drop` and `truncate_list`: what a server leaves out without a sign, no client can see. They
serve to show that the oracles fire.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.match import Verb
from fleet.devcluster.faults.words import (
    Cut,
    DelayAnswers,
    DelayEvents,
    ExpireWatch,
    LateLanding,
    LostAck,
    NoBookmarks,
    Partition,
    Refuse,
    Reset,
    Silence,
    Slice,
    SlowReader,
    StaleReplica,
    TooLarge,
    Unreachable,
    Word,
)

AGENT = "simulated"
"""In the User-Agent of every informer that is struck."""

_VERBS: tuple[tuple[Verb, ...], ...] = ((), (), ("watch",), ("watch",), ("list",))
_STATUSES = (401, 403, 404, 410, 429, 429, 500, 502, 503, 503, 504)


class Weather:
    """One fault after the other, from a seed."""

    def __init__(self, rng: random.Random, *, informers: int, replica: str) -> None:
        self._rng = rng
        self._informers = informers
        self._replica = replica
        self._draws: tuple[Callable[[Match, float], Word], ...] = (
            self._cut,
            self._cut,
            self._refuse,
            self._refuse,
            self._stale,
            self._delay,
            lambda match, share: Silence(match=match, probability=share),
            lambda match, share: Partition(match=match, way=rng.choice(("to_server", "to_client"))),
            lambda match, share: ExpireWatch(match=match, probability=share),
            lambda match, share: TooLarge(match=match, cause=rng.random() < 0.5, probability=share),
            lambda match, share: DelayAnswers(match=match, seconds=rng.choice((0.1, 5.0, 50.0, 100.0))),
            lambda match, share: LostAck(match=match, probability=share),
            lambda match, share: LateLanding(match=match, seconds=rng.uniform(0.0, 120.0), probability=share),
            lambda match, share: Reset(match=match, probability=share),
            lambda match, share: Unreachable(match=match, probability=share),
            lambda match, share: SlowReader(match=match, seconds=rng.choice((1.0, 30.0, 60.0))),
            lambda match, share: Slice(match=match, piece_bytes=rng.choice((1, 7, 100)), probability=0.3),
            lambda match, share: NoBookmarks(match=match),
        )

    def draw(self) -> tuple[Word, float]:
        """A fault and how many seconds it is in force."""
        rng = self._rng
        one = rng.random() < 0.6
        agent = f"{AGENT}-{rng.randrange(self._informers)}" if one else AGENT
        match = Match(user_agent=agent, verbs=rng.choice(_VERBS))
        share = rng.choice((0.2, 0.5, 1.0))
        seconds = rng.choice((0.5, 5.0, 30.0, 90.0, 240.0)) * rng.uniform(0.5, 1.5)
        return rng.choice(self._draws)(match, share), seconds

    def _cut(self, match: Match, share: float) -> Word:
        rng = self._rng
        if rng.random() < 0.4:
            return Cut(match=match, fraction=rng.random(), clean=rng.random() < 0.5, probability=share)
        return Cut(
            match=match,
            after_bytes=rng.randrange(4000),
            inside_character=rng.random() < 0.5,
            clean=rng.random() < 0.5,
            probability=share,
        )

    def _refuse(self, match: Match, share: float) -> Word:
        rng = self._rng
        status = rng.choice(_STATUSES)
        retry = rng.choice((None, 0, 1, 30)) if status in (429, 503) else None
        text = "upstream connect error" if status in (502, 503) and rng.random() < 0.5 else ""
        return Refuse(match=match, status=status, retry_after_seconds=retry, text=text, probability=share)

    def _stale(self, match: Match, share: float) -> Word:
        frozen = self._rng.random() < 0.4
        lag = 0.0 if frozen else self._rng.choice((0.5, 10.0, 60.0))
        return StaleReplica(match=match, replica=self._replica, frozen=frozen, lag_seconds=lag, probability=share)

    def _delay(self, match: Match, share: float) -> Word:
        return DelayEvents(match=match, seconds=self._rng.choice((None, 0.1, 2.0, 20.0, 60.0)))
