"""Plans drawn from seeds: each with a shape, a subset of the kinds of strikes and an intensity of its own.

Swarm testing (Groce, Zhang, Eide, Chen, Regehr, ISSTA 2012): a history in which everything goes wrong a little hides
what a few faults do when they come often and alone; so each seed leaves most kinds out.

What is drawn leaves every promise judgeable. The limits, and why:

- Somebody is left. Nodes that are gone for good, and workers that leave for good, are never all workers or all agents.
- Clocks run at 0.95 to 1.05 (`strikes.SLOWEST`, `FASTEST`), except in one seed of 64 (`is_beyond`). A deadline and a
  fence compare durations on two clocks, so beyond the margin nothing that rests on them is promised: one owner at a
  time, stop means stop, the bounds of takeovers. What rests on compare-and-swap is: growing epochs, the history of
  each lock, whole maps, preconditions; and the fleet settles when the clocks are right again.
- Hands never forge an owner. They delete, empty, overwrite with nobody's name, put back, retire, mangle; a Lease
  that they give to a living member, or to a dead incarnation of one, makes an owner that the protocol cannot tell from
  its own, and nobody promises one owner then.
- Hands come at most `HANDS` times in a history, and those at the map keep `APART_LEASES` leases from those at
  Leases: the map is rebuilt from the Leases and Leases are mended by the map, so that who destroys both has taken away
  all that is known of who may act.
- One seed of 16 is aimed (`chaos.simulation.aimed`, `aimed_at_shards`): its strikes are not drawn one by one. At the
  protocol depth another one of 64 is about members that renew and do nothing (`aimed_at_members`).
- Histories are short (1.25 to 3 leases of chaos), but for one seed of 512 and one of 4,096, which last until what has
  left is collected.
- The store is restored at most once, and no strike starts a process within a lease after it, or lets one go on that has
  been paused or cut off since before: who joins then cannot know of it (decision 23).
"""

from __future__ import annotations

from random import Random

from chaos.simulation import drawing
from chaos.simulation.aimed import aimed, is_aimed
from chaos.simulation.aimed_at_members import aimed_at_members, is_about_members
from chaos.simulation.aimed_at_shards import aimed_at_shards
from chaos.simulation.drawing import KINDS, Dice, Draw
from chaos.simulation.plan import Depth, Plan, Shape
from chaos.simulation.strikes import (
    AnyStrike,
    Crash,
    Delete,
    Edit,
    Leave,
    Partition,
    Pause,
    Reshard,
    Restore,
    Steal,
    Storm,
    Twin,
)
from fleet.rules.absences import FORGET_SECONDS, LONGEST_REQUEST_SECONDS

Hand = Delete | Steal | Edit

HANDS = 3
APART_LEASES = 2.0
RESHARDS = 2
BEYOND_EVERY = 64
"""One seed in so many has clocks beyond the margin."""
COLLECTS_EVERY, FORGETS_EVERY = 512, 4096
"""One seed in so many lasts until a range that left, or a member that left, is forgotten."""

_SALT = 0x5_3A51_D00D
"""Keeps what a plan is drawn with apart from what its history is played with, which begins from the same seed."""
_AFTER_RESTORE_LEASES = 1.2
_ENDING_LEASES = 2.0
"""For so long a process may be on its way out, so that its return cannot be dated."""


def is_beyond(seed: int) -> bool:
    """Whether the clocks of this seed's history run at any rate."""
    return seed % BEYOND_EVERY == BEYOND_EVERY - 1


def patience_seconds(seed: int) -> float:
    """How much longer than usual its chaos lasts: most things that a fleet collects (R15) it collects late."""
    if seed % FORGETS_EVERY == FORGETS_EVERY - 2:
        return FORGET_SECONDS + 10.0
    return LONGEST_REQUEST_SECONDS + 5.0 if seed % COLLECTS_EVERY == COLLECTS_EVERY - 3 else 0.0


def draw(seed: int, depth: Depth = "protocol") -> Plan:
    """The plan of a seed: always the same. seed: at least 0."""
    rng = Random(seed ^ _SALT if depth == "protocol" else ~(seed ^ _SALT) & (1 << 64) - 1)
    if is_aimed(seed) or (is_about_members(seed) and depth == "protocol"):
        return _aimed(seed, depth, rng)
    shape = _shape(rng, depth)
    patience = patience_seconds(seed)
    chaos_seconds = round(patience + shape.lease_seconds * (1.25 + 1.75 * rng.random()), 3)
    dice = Dice(rng, shape, chaos_seconds, beyond=is_beyond(seed))
    kinds = _subset(rng)
    if dice.beyond and drawing.clock_rate not in kinds:
        kinds.append(drawing.clock_rate)
    strikes = [kinds[int(rng.random() * len(kinds))](dice) for _ in range(_how_many(rng))]
    if dice.beyond:
        strikes.append(drawing.clock_rate(dice))
    if patience:
        strikes += [Reshard(at=1.0, shards=shape.shards % 6 + 1), Leave(at=2.0, process=shape.worker_names[-1])]
    strikes.sort(key=lambda each: each.at)
    return Plan(
        seed=seed,
        depth=depth,
        shape=shape,
        strikes=tuple(limited(strikes, shape, chaos_seconds)),
        chaos_seconds=chaos_seconds,
    )


def _aimed(seed: int, depth: Depth, rng: Random) -> Plan:
    if depth == "stack":
        found = aimed_at_shards(seed, rng)
    else:
        found = aimed(seed, rng) if is_aimed(seed) else aimed_at_members(seed, rng)
    return Plan(
        seed=seed,
        depth=depth,
        shape=found.shape,
        strikes=tuple(limited(found.strikes, found.shape, found.chaos_seconds)),
        chaos_seconds=found.chaos_seconds,
    )


def _shape(rng: Random, depth: Depth) -> Shape:
    """Small fleets more often: nearly everything that goes wrong with four workers does with two."""
    random = rng.random
    small = depth == "stack"
    return Shape(
        workers=(1, 2, 2, 2, 1, 3, 3, 4)[int(random() * (7 if small else 8))],
        agents=(1, 1, 2, 2, 3)[int(random() * (4 if small else 5))],
        shards=1 + int(random() * random() * 6),
        replicas=1 + int(random() * 3),
        objects=2 + int(random() * (5 if small else 7)),
        standby_deadline_seconds=1.5 if random() < 0.125 else 6.0,
    )


def _subset(rng: Random) -> list[Draw]:
    share = (0.08, 0.2, 0.4, 0.8)[int(rng.random() * 4)]
    kinds = [kind for kind in KINDS if rng.random() < share]
    return kinds or [KINDS[int(rng.random() * len(KINDS))]]


def _how_many(rng: Random) -> int:
    """None in one of fifty: what a fleet does by itself is to be seen too."""
    if rng.random() < 0.02:
        return 0
    return (1, 2, 3, 4, 5, 6, 8, 10, 13, 16)[int(rng.random() * 10)]


def limited(strikes: list[AnyStrike], shape: Shape, chaos_seconds: float) -> list[AnyStrike]:
    """Those that the limits above leave. strikes: in order of their times."""
    lease = shape.lease_seconds
    restore = next((each for each in strikes if isinstance(each, Restore)), None)
    kept: list[AnyStrike] = []
    gone: set[str] = set()
    hands: list[Hand] = []
    reshards = 0
    for each in strikes:
        match each:
            case Restore() if each is not restore:
                continue
            case Reshard():
                reshards += 1
                if reshards > RESHARDS:
                    continue
            case Delete() | Steal() | Edit():
                if len(hands) == HANDS or any(_clash(each, other, lease) for other in hands):
                    continue
                hands.append(each)
            case Crash() | Leave() if each.back_after is None:
                if not _is_left(gone | {each.process}, shape):
                    continue
                gone.add(each.process)
        if restore is None or not _starts_within(each, restore.at, lease, chaos_seconds):
            kept.append(each)
    return kept


def _is_left(gone: set[str], shape: Shape) -> bool:
    return not gone.issuperset(shape.worker_names) and not gone.issuperset(shape.agent_names)


def _clash(one: Hand, other: Hand, lease_seconds: float) -> bool:
    """Whether one is at the map and the other at a Lease, too soon after each other."""
    if (one.record == "map") == (other.record == "map"):
        return False
    return abs(one.at - other.at) < APART_LEASES * lease_seconds


def _starts_within(strike: AnyStrike, restore_at: float, lease_seconds: float, chaos_seconds: float) -> bool:
    """Whether it may start a process in the lease after a restore, or let one go on that has seen nothing since."""
    until = restore_at + _AFTER_RESTORE_LEASES * lease_seconds
    match strike:
        case Storm() | Twin():
            first = last = strike.at
            last += 1.0
        case Crash() | Leave() if strike.back_after is not None:
            first = min(strike.at + strike.back_after, chaos_seconds)
            undated = isinstance(strike, Leave) or strike.after_write
            last = first + _ENDING_LEASES * lease_seconds if undated else first
        case Pause() | Partition() if strike.at <= restore_at:
            # What it knows is from before the backup, so that nothing seems to have gone back: it joins like a new one.
            first = last = min(strike.at + strike.seconds, chaos_seconds)
        case _:
            return False
    return first <= until and last >= restore_at
