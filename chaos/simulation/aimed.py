"""Plans of a class of seeds of their own: faults that come together as they seldom do by chance.

Most rules of ownership are missed by a swarm within some hundreds of seeds. Those that keep two rare things apart need
a history in which both happen, at moments that fit: somebody deletes the Lease of a range while a newcomer waits for
it and its owner hears late. Each aim is one such meeting; who, when and how hard is drawn. What a plan may hold is
limited as everywhere (`chaos.simulation.swarm`).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from chaos.simulation.plan import Shape, worker_name
from chaos.simulation.strikes import (
    AnyStrike,
    BrownOut,
    Crash,
    Delete,
    Leave,
    Partition,
    Reshard,
    Restore,
    SilentWatch,
    Slow,
    StaleReplica,
    Storm,
    Twin,
)

AIMED_EVERY, AIMED_AT = 16, 1
"""One seed in so many is aimed: those with this remainder."""

PATIENT_SECONDS = 60.0
"""A deadline for standbys (R13) that no history reaches: what R13 mends in the end is to be seen as it is before."""


class Aimed(NamedTuple):
    """What is drawn. chaos_seconds: see Plan."""

    shape: Shape
    strikes: list[AnyStrike]
    chaos_seconds: float = 6.0


class Aim:
    """What the moments of one history are drawn with."""

    def __init__(self, rng: Random) -> None:
        self.random = rng.random

    def within(self, least: float, most: float) -> float:
        return round(least + (most - least) * self.random(), 3)

    def whole(self, least: int, most: int) -> int:
        """Both are drawn too."""
        return least + int((most - least + 1) * self.random())

    def worker(self, shape: Shape) -> str:
        return worker_name(self.whole(0, shape.workers - 1))


def lost_lease_of_a_moving_range(aim: Aim) -> Aimed:
    """The Lease of a range is deleted while a newcomer waits for it and its owner hears late."""
    shape = Shape(workers=aim.whole(1, 2), agents=1, shards=aim.whole(2, 4))
    joins = aim.within(1.5, 2.0)
    strikes: list[AnyStrike] = [Storm(at=joins, workers=aim.whole(1, 2), seconds=6.0)]
    for name in shape.worker_names:
        strikes.append(Slow(at=joins, process=name, latency_seconds=aim.within(0.2, 1.2), seconds=4.0))
        if aim.random() < 0.5:
            strikes.append(SilentWatch(at=joins + aim.within(0.1, 0.6), process=name, seconds=aim.within(0.5, 3.0)))
    deleted = joins + aim.within(0.1, 1.0)
    strikes += [Delete(at=round(deleted + 0.1 * n, 3), record="shard", index=aim.whole(0, 5)) for n in range(3)]
    return Aimed(shape, strikes)


def lost_claim_of_a_moving_range(aim: Aim) -> Aimed:
    """The answers to claims are lost, and the ranges move on before the claimant hears anything."""
    shape = Shape(workers=aim.whole(1, 3), agents=1, shards=aim.whole(2, 6), standby_deadline_seconds=PATIENT_SECONDS)
    cut = aim.within(0.75, 1.2)
    strikes: list[AnyStrike] = [
        Slow(at=0.3, process="a", latency_seconds=aim.within(0.1, 0.5), seconds=1.0),
        Partition(at=cut, process="a", way="to_client", seconds=aim.within(0.6, 1.4)),
        Storm(at=round(cut + aim.within(-0.3, 0.1), 3), workers=aim.whole(1, 2), seconds=40.0),
    ]
    return Aimed(shape, strikes)


def owner_dies_unseen(aim: Aim) -> Aimed:
    """An owner acts and dies, and the view of objects of the one that waits for its ranges stands still."""
    handed_over = aim.random() < 0.7
    """Whether it owns what it owns by a handover, whose watermark must be of no use any more."""
    shape = Shape(workers=1, agents=1, shards=aim.whole(2, 4), objects=aim.whole(3, 8))
    strikes: list[AnyStrike] = []
    owner, newcomer, joins = "a", "b", aim.within(1.0, 1.4)
    if handed_over:
        strikes += [Storm(at=1.0, workers=1, seconds=40.0), Leave(at=aim.within(1.6, 2.2), process="a", back_after=6.0)]
        owner, newcomer, joins = "b", "c", aim.within(3.0, 3.4)
    still = round(joins + aim.within(0.6, 1.0), 3)
    strikes += [
        Storm(at=joins, workers=1, seconds=40.0),
        Slow(at=joins, process=owner, latency_seconds=aim.within(0.4, 1.2), seconds=40.0),
        SilentWatch(at=still, process=newcomer, seconds=aim.within(4.0, 6.0)),
        Crash(at=round(still + aim.within(0.1, 0.8), 3), process=owner, back_after=None, after_write=True),
    ]
    return Aimed(shape, strikes, chaos_seconds=9.0)


def map_deleted_in_a_reshard(aim: Aim) -> Aimed:
    """Somebody deletes the map while ranges leave the layout."""
    shape = Shape(workers=aim.whole(1, 3), agents=aim.whole(1, 2), shards=aim.whole(1, 5))
    at = aim.within(1.2, 2.0)
    strikes: list[AnyStrike] = [
        Reshard(at=at, shards=1 + (shape.shards + aim.whole(0, 3)) % 6),
        Delete(at=round(at + aim.within(0.0, 0.8), 3), record="map"),
        Slow(at=at, process=aim.worker(shape), latency_seconds=aim.within(0.1, 1.2), seconds=4.0),
    ]
    if aim.random() < 0.5:
        strikes.append(Crash(at=round(at + aim.within(0.0, 1.0), 3), process="agent-1", back_after=0.5))
    return Aimed(shape, strikes)


def handover_to_a_view_that_lags(aim: Aim) -> Aimed:
    """A worker hands over and is back at once, on front ends that are behind."""
    shape = Shape(workers=3, agents=aim.whole(1, 2), shards=aim.whole(2, 4))
    return Aimed(
        shape,
        [
            StaleReplica(at=1.0, replica=0, lag_seconds=aim.within(0.3, 1.0), seconds=4.0),
            Leave(at=aim.within(1.2, 1.8), process="a", back_after=0.1),
            Leave(at=aim.within(2.5, 3.2), process="b", back_after=0.1),
        ],
    )


def slow_leaver(aim: Aim) -> Aimed:
    """Somebody leaves for good whose requests take long."""
    shape = Shape(workers=aim.whole(2, 3), agents=1, shards=aim.whole(2, 3))
    leaves = aim.within(1.5, 3.5)
    return Aimed(
        shape,
        [
            Slow(at=1.0, process="a", latency_seconds=aim.within(0.3, 0.9), seconds=5.0),
            Leave(at=leaves, process="a", back_after=None),
        ],
    )


def member_lease_deleted(aim: Aim) -> Aimed:
    """The Lease of a member is deleted, which hears of it late, and has a twin, or dies."""
    shape = Shape(workers=aim.whole(2, 3), agents=1, shards=aim.whole(2, 4))
    drawn, deleted = aim.random(), aim.within(1.8, 2.8)
    strikes: list[AnyStrike] = [Delete(at=deleted, record="member", index=0)]
    if drawn < 0.67:
        strikes.append(Slow(at=1.4, process="a", latency_seconds=aim.within(0.5, 1.6), seconds=4.0))
    if drawn < 0.33:
        strikes.append(Twin(at=aim.within(1.4, 1.7), process="a", seconds=4.0))
    elif drawn > 0.67:
        strikes += [
            Crash(at=aim.within(1.2, 1.6), process="a"),
            Crash(at=round(deleted + aim.within(0.2, 0.8), 3), process="a"),
        ]
    return Aimed(shape, strikes)


def restored_between_owners(aim: Aim) -> Aimed:
    """The backup names another owner, and some hear late that it was put back."""
    shape = Shape(workers=aim.whole(1, 3), agents=aim.whole(1, 2), shards=aim.whole(2, 4))
    joins, restored = aim.within(1.1, 1.9), aim.within(3.2, 3.8)
    deaf = worker_name(aim.whole(0, shape.workers))
    strikes: list[AnyStrike] = [
        Storm(at=joins, workers=1, seconds=40.0),
        SilentWatch(at=aim.within(2.3, 3.1), process=deaf, seconds=3.0),
        Restore(at=restored, back_seconds=round(restored - joins - aim.within(-0.2, 0.5), 3)),
    ]
    if aim.random() < 0.6:
        strikes.append(Slow(at=2.3, process=deaf, latency_seconds=aim.within(0.4, 1.0), seconds=3.0))
    return Aimed(shape, strikes)


def lost_lease_in_a_reshard(aim: Aim) -> Aimed:
    """The Lease of a range that leaves the layout is deleted, and its owner hears late."""
    shape = Shape(workers=aim.whole(2, 3), agents=1, shards=aim.whole(1, 2))
    at = aim.within(1.4, 1.8)
    strikes: list[AnyStrike] = [
        Reshard(at=at, shards=aim.whole(3, 5)),
        Delete(at=round(at + aim.within(0.02, 0.2), 3), record="shard", index=aim.whole(0, 3)),
    ]
    for name in shape.worker_names[:2]:
        strikes.append(SilentWatch(at=1.0, process=name, seconds=4.0))
        strikes.append(Slow(at=1.0, process=name, latency_seconds=aim.within(0.1, 0.6), seconds=4.0))
    return Aimed(shape, strikes)


def long_brown_out(aim: Aim) -> Aimed:
    """The server answers nobody for longer than a lease."""
    shape = Shape(workers=aim.whole(3, 4), agents=aim.whole(1, 2), shards=3)
    return Aimed(shape, [BrownOut(at=aim.within(1.2, 2.0), seconds=aim.within(2.1, 3.0))])


AIMS: tuple[Callable[[Aim], Aimed], ...] = (
    lost_lease_of_a_moving_range,
    map_deleted_in_a_reshard,
    owner_dies_unseen,
    lost_claim_of_a_moving_range,
    member_lease_deleted,
    restored_between_owners,
    owner_dies_unseen,
    lost_claim_of_a_moving_range,
    lost_lease_in_a_reshard,
    long_brown_out,
    owner_dies_unseen,
    handover_to_a_view_that_lags,
    slow_leaver,
    owner_dies_unseen,
    lost_claim_of_a_moving_range,
)
"""In turns; those that hardly ever meet come more often."""


def is_aimed(seed: int) -> bool:
    return seed % AIMED_EVERY == AIMED_AT


def aimed(seed: int, rng: Random) -> Aimed:
    """What is drawn for an aimed seed: the aims take turns."""
    found = AIMS[seed // AIMED_EVERY % len(AIMS)](Aim(rng))
    return found._replace(strikes=sorted(found.strikes, key=lambda each: each.at))
