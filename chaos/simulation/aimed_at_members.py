"""Plans of one more class of seeds: members that renew, and do nothing else for longer than R13 waits for them.

Nobody dies but where it is said, deadlines are short, and most of these members stay as they are when everything else
heals: what the office does about them has to be enough. See `chaos.simulation.aimed`.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Literal

from chaos.simulation.aimed import Aim, Aimed
from chaos.simulation.plan import Shape
from chaos.simulation.strikes import AnyStrike, Crash, Delete, Leave, Reshard, Slow, Useless

MEMBERS_EVERY, MEMBERS_AT = 64, 37
"""One seed in so many is about members: those with this remainder. None of them is aimed, beyond the margin or long."""


def _useless(aim: Aim, at: float, process: str, refused: Literal["shards", "objects"]) -> Useless:
    """For good in three of four; else until it can show that it follows again."""
    seconds = None if aim.random() < 0.75 else aim.within(4.0, 7.0)
    return Useless(at=at, process=process, refused=refused, seconds=seconds)


def _shape(aim: Aim, workers: int) -> Shape:
    return Shape(
        workers=workers,
        agents=aim.whole(1, 2),
        shards=aim.whole(2, 4),
        standby_deadline_seconds=aim.within(1.2, 1.8),
    )


def _joins_late(process: str, at: float) -> Leave:
    """It has left before anything is planned, and comes to stay. (Who comes with a storm leaves with the healing.)"""
    return Leave(at=0.3, process=process, back_after=round(at - 0.3, 3))


def owner_that_keeps_what_moves(aim: Aim) -> Aimed:
    """Somebody joins late, gets ready for ranges, and one of the owners never lets go."""
    shape = _shape(aim, aim.whole(2, 3))
    joins = aim.within(1.6, 2.2)
    strikes: list[AnyStrike] = [
        _useless(aim, aim.within(1.3, 1.6), "a", "shards"),
        _joins_late(shape.worker_names[-1], joins),
    ]
    if aim.random() < 0.3:
        strikes.append(Slow(at=joins, process="a", latency_seconds=aim.within(0.05, 0.3), seconds=4.0))
    return Aimed(shape, strikes, chaos_seconds=9.0)


def owner_that_keeps_what_retires(aim: Aim) -> Aimed:
    """The layout changes, and one of the owners never lets go of what leaves it."""
    shape = _shape(aim, aim.whole(2, 3))
    strikes: list[AnyStrike] = [
        _useless(aim, aim.within(1.3, 1.6), aim.worker(shape), "shards"),
        Reshard(at=aim.within(1.6, 2.2), shards=1 + (shape.shards + aim.whole(0, 3)) % 6),
    ]
    return Aimed(shape, strikes, chaos_seconds=9.0)


def target_that_is_never_ready(aim: Aim) -> Aimed:
    """Somebody joins late who cannot list what it is to work on."""
    shape = _shape(aim, aim.whole(2, 3))
    newcomer = shape.worker_names[-1]
    strikes: list[AnyStrike] = [
        _joins_late(newcomer, aim.within(1.3, 2.0)),
        _useless(aim, 0.5, newcomer, "objects"),
    ]
    return Aimed(shape, strikes, chaos_seconds=8.0)


def target_that_never_claims(aim: Aim) -> Aimed:
    """An owner is gone for good, and one of those that are to have its ranges claims nothing."""
    shape = _shape(aim, 3)
    gone = aim.within(1.8, 2.6)
    dies = aim.random() < 0.5
    strikes: list[AnyStrike] = [
        _useless(aim, aim.within(1.3, 1.7), "b", "shards"),
        Crash(at=gone, process="a", back_after=None) if dies else Leave(at=gone, process="a"),
    ]
    if aim.random() < 0.3:
        strikes.append(Delete(at=round(gone + aim.within(0.1, 0.6), 3), record="shard", index=aim.whole(0, 3)))
    return Aimed(shape, strikes, chaos_seconds=9.0)


AIMS_AT_MEMBERS: tuple[Callable[[Aim], Aimed], ...] = (
    owner_that_keeps_what_moves,
    target_that_is_never_ready,
    target_that_never_claims,
    owner_that_keeps_what_retires,
)
"""In turns."""


def is_about_members(seed: int) -> bool:
    return seed % MEMBERS_EVERY == MEMBERS_AT


def aimed_at_members(seed: int, rng: Random) -> Aimed:
    """What is drawn for a seed that is about members: the aims take turns."""
    found = AIMS_AT_MEMBERS[seed // MEMBERS_EVERY % len(AIMS_AT_MEMBERS)](Aim(rng))
    return found._replace(strikes=sorted(found.strikes, key=lambda each: each.at))
