"""The aims of the stack depth: what gates, views and acts of shards are for, met at the moments that need them.

Nearly all of them need views that are behind what was written, for longer than a reconcile or a handover takes. Front
ends that lag make them so without a sign, as real ones do. See `chaos.simulation.aimed`.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from chaos.simulation.aimed import AIMED_EVERY, Aim, Aimed
from chaos.simulation.plan import Shape
from chaos.simulation.strikes import (
    AnyStrike,
    Crash,
    CutWatch,
    LostAnswers,
    SilentWatch,
    Slow,
    StaleReplica,
    Storm,
)

ALWAYS_SECONDS = 40.0
"""Longer than any chaos."""


def _behind(aim: Aim, shape: Shape, least: float, most: float, *, at: float = 1.0) -> list[AnyStrike]:
    """All front ends lag: every view shows every write late."""
    lag = aim.within(least, most)
    return [
        StaleReplica(at=at, replica=each, lag_seconds=lag, seconds=ALWAYS_SECONDS) for each in range(shape.replicas)
    ]


def answers_lost_before_a_view_shows(aim: Aim) -> Aimed:
    """Writes are carried out, their answers are lost, and the views show them long after the next try."""
    workers, shards = aim.whole(1, 2), aim.whole(1, 3)
    shape = Shape(workers=workers, agents=1, shards=shards, replicas=aim.whole(1, 2), objects=aim.whole(3, 6))
    strikes = _behind(aim, shape, 0.4, 1.2)
    for name in shape.worker_names:
        for _ in range(aim.whole(3, 5)):
            strikes.append(LostAnswers(at=aim.within(1.2, 5.5), process=name, times=aim.whole(1, 3)))
    return Aimed(shape, strikes)


def _standing_by(aim: Aim) -> tuple[Shape, list[AnyStrike], float, float]:
    """A worker joins, is ready for a range of others, and sees nothing from then on: of records it hears once a lease,
    by lists. Owners hear late that it is ready, and go on meanwhile. Returns when that is, from when to when, too."""
    shape = Shape(workers=1, agents=1, shards=aim.whole(2, 3), replicas=1, objects=aim.whole(3, 6))
    joins, lag = aim.within(1.1, 1.5), aim.within(0.5, 1.2)
    # The office has planned it by then; a map and two lists, of which each waits for what lags, are on their way.
    lags, still = round(joins + 0.2, 3), round(joins + 2 * lag + aim.within(0.3, 0.8), 3)
    strikes: list[AnyStrike] = [
        Storm(at=joins, workers=1, seconds=ALWAYS_SECONDS),
        StaleReplica(at=lags, replica=0, lag_seconds=lag, seconds=ALWAYS_SECONDS),
        SilentWatch(at=still, process="b", seconds=aim.within(3.0, 6.0)),
    ]
    return shape, strikes, still, round(still + lag, 3)


def handover_to_views_that_stand_still(aim: Aim) -> Aimed:
    """Owners let their ranges go whose next owner has seen nothing of their last writes."""
    shape, strikes, _, _ = _standing_by(aim)
    return Aimed(shape, strikes, chaos_seconds=9.0)


def owner_dies_before_views_that_stand_still(aim: Aim) -> Aimed:
    """The same, and an owner dies instead."""
    shape, strikes, still, released = _standing_by(aim)
    dies = aim.within(still, released)
    strikes.append(Crash(at=dies, process="a", back_after=5.0, after_write=True, reaped=False))
    return Aimed(shape, strikes, chaos_seconds=11.0)


def lists_of_front_ends_that_are_behind(aim: Aim) -> Aimed:
    """Views have to be listed anew, and some front ends are behind what they have shown."""
    workers, shards = aim.whole(1, 2), aim.whole(1, 3)
    shape = Shape(workers=workers, agents=1, shards=shards, replicas=aim.whole(2, 3), objects=aim.whole(3, 6))
    strikes: list[AnyStrike] = []
    for each in range(1, shape.replicas):
        lag = None if aim.random() < 0.3 else aim.within(0.8, 3.0)
        strikes.append(StaleReplica(at=aim.within(0.8, 1.5), replica=each, lag_seconds=lag, seconds=ALWAYS_SECONDS))
    for name in shape.worker_names:
        for _ in range(aim.whole(3, 6)):
            strikes.append(CutWatch(at=aim.within(1.8, 5.5), process=name, gone=True))
    return Aimed(shape, strikes)


def changed_under_a_deletion(aim: Aim) -> Aimed:
    """What a reconcile is about to delete changes between its decision and its live read: its requests take long, and
    people meet it at the same two objects again and again."""
    shape = Shape(workers=1, agents=1, shards=1, replicas=1, objects=2)
    strikes: list[AnyStrike] = [
        Slow(at=1.0, process="a", latency_seconds=aim.within(0.1, 0.4), seconds=ALWAYS_SECONDS),
        *_behind(aim, shape, 0.1, 0.5),
    ]
    return Aimed(shape, strikes, chaos_seconds=12.0)


AIMS_AT_SHARDS: tuple[Callable[[Aim], Aimed], ...] = (
    changed_under_a_deletion,
    answers_lost_before_a_view_shows,
    owner_dies_before_views_that_stand_still,
    changed_under_a_deletion,
    handover_to_views_that_stand_still,
    lists_of_front_ends_that_are_behind,
    changed_under_a_deletion,
    owner_dies_before_views_that_stand_still,
)
"""In turns; those that hardly ever meet come more often."""


def aimed_at_shards(seed: int, rng: Random) -> Aimed:
    """What is drawn for an aimed seed of the stack depth: the aims take turns."""
    found = AIMS_AT_SHARDS[seed // AIMED_EVERY % len(AIMS_AT_SHARDS)](Aim(rng))
    return found._replace(strikes=sorted(found.strikes, key=lambda each: each.at))
