"""How each kind of strike is drawn: whom it meets, when, how hard. One function a kind; what they share is the Dice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import TypeVar

from chaos.simulation.plan import Shape
from chaos.simulation.strikes import (
    FASTEST,
    SLOWEST,
    AnyStrike,
    BrownOut,
    ClockRate,
    Crash,
    CutWatch,
    Delete,
    DroppedEvents,
    Edit,
    LateLanding,
    Leave,
    LostAnswers,
    LostRequests,
    Partition,
    Pause,
    Reshard,
    Restore,
    SilentWatch,
    Slow,
    StaleReplica,
    Steal,
    Storm,
    TruncatedList,
    Twin,
)

T = TypeVar("T")

EDITS: Mapping[str, tuple[str, ...]] = {
    "member": ("touch", "lower-epoch", "mangle"),
    "shard": ("touch", "lower-epoch", "retire", "activate", "mangle"),
    "coordinator": ("touch", "lower-epoch", "mangle"),
    "map": ("touch", "rollback", "mangle"),
}
"""What means something for each record."""


class Dice:
    """What one history's strikes are drawn with. beyond: clocks may run at any rate.

    Half of the strikes come close to a few moments, and half of them meet one victim: harm that comes together finds
    more than harm that is spread.
    """

    def __init__(self, rng: Random, shape: Shape, chaos_seconds: float, *, beyond: bool) -> None:
        self.rng = rng
        self.random = rng.random
        self.shape = shape
        self.chaos_seconds = chaos_seconds
        self.beyond = beyond
        self.workers = shape.worker_names
        self.processes = (*self.workers, *shape.agent_names)
        self.victim = self.one_of(self.processes)
        self._moments = [self._any_time() for _ in range(1 + int(3 * self.random()))]

    def one_of(self, those: tuple[T, ...]) -> T:
        return those[int(self.random() * len(those))]

    def process(self) -> str:
        return self.victim if self.random() < 0.5 else self.one_of(self.processes)

    def at(self) -> float:
        if self.random() < 0.5:
            return self._any_time()
        moment = self._moments[int(self.random() * len(self._moments))]
        return round(min(max(0.0, moment + 0.4 * (self.random() - 0.5)), self.chaos_seconds - 0.01), 3)

    def _any_time(self) -> float:
        """One in ten at the start, the others when the fleet has taken shape."""
        begin = 0.0 if self.random() < 0.1 else 1.0
        return round(begin + (self.chaos_seconds - 0.01 - begin) * self.random(), 3)

    def seconds(self, most_leases: float) -> float:
        """A duration up to so many leases, short ones more often."""
        share = self.random()
        return round(max(0.001, share * share * most_leases * self.shape.lease_seconds), 3)

    def times(self) -> int:
        return 1 + int(self.random() * self.random() * 4)


def crash(dice: Dice) -> AnyStrike:
    back: float | None = dice.seconds(1.0)
    if dice.random() < 0.15:
        back = None
    return Crash(
        at=dice.at(),
        process=dice.process(),
        back_after=back,
        after_write=dice.random() < 0.5,
        reaped=dice.random() < 0.6,
    )


def pause(dice: Dice) -> AnyStrike:
    return Pause(at=dice.at(), process=dice.process(), seconds=dice.seconds(2.5))


def leave(dice: Dice) -> AnyStrike:
    return Leave(at=dice.at(), process=dice.process(), back_after=dice.one_of((None, 0.0, 0.5, 2.0)))


def twin(dice: Dice) -> AnyStrike:
    return Twin(at=dice.at(), process=dice.process(), seconds=dice.seconds(3.0))


def storm(dice: Dice) -> AnyStrike:
    return Storm(at=dice.at(), workers=1 + int(3 * dice.random()), seconds=dice.seconds(2.0))


def clock_rate(dice: Dice) -> AnyStrike:
    slowest, fastest = (0.3, 3.0) if dice.beyond else (SLOWEST, FASTEST)
    drawn = dice.random()
    rate = slowest if drawn < 0.3 else fastest if drawn < 0.6 else slowest + (fastest - slowest) * dice.random()
    return ClockRate(at=dice.at(), process=dice.process(), rate=round(rate, 3), seconds=dice.seconds(4.0) + 1.0)


def partition(dice: Dice) -> AnyStrike:
    way = dice.one_of(("both", "to_server", "to_client"))
    return Partition(at=dice.at(), process=dice.process(), way=way, seconds=dice.seconds(2.5))  # type: ignore[arg-type]


def slow(dice: Dice) -> AnyStrike:
    latency = round(0.02 + dice.random() ** 3 * dice.shape.lease_seconds * 0.6, 3)
    return Slow(at=dice.at(), process=dice.process(), latency_seconds=latency, seconds=dice.seconds(3.0))


def lost_answers(dice: Dice) -> AnyStrike:
    return LostAnswers(at=dice.at(), process=dice.process(), times=dice.times())


def lost_requests(dice: Dice) -> AnyStrike:
    return LostRequests(at=dice.at(), process=dice.process(), times=dice.times())


def late_landing(dice: Dice) -> AnyStrike:
    return LateLanding(at=dice.at(), process=dice.process(), late_seconds=dice.seconds(2.0), times=dice.times())


def brown_out(dice: Dice) -> AnyStrike:
    return BrownOut(at=dice.at(), seconds=dice.seconds(2.0))


def stale_replica(dice: Dice) -> AnyStrike:
    lag = None if dice.random() < 0.3 else dice.seconds(1.0)
    replica = int(dice.random() * dice.shape.replicas)
    return StaleReplica(at=dice.at(), replica=replica, lag_seconds=lag, seconds=dice.seconds(2.5))


def silent_watch(dice: Dice) -> AnyStrike:
    return SilentWatch(at=dice.at(), process=dice.process(), seconds=dice.seconds(2.5))


def cut_watch(dice: Dice) -> AnyStrike:
    return CutWatch(at=dice.at(), process=dice.process(), gone=dice.random() < 0.5)


def dropped_events(dice: Dice) -> AnyStrike:
    return DroppedEvents(at=dice.at(), process=dice.process(), times=dice.times())


def truncated_list(dice: Dice) -> AnyStrike:
    return TruncatedList(at=dice.at(), process=dice.process(), times=dice.times())


def delete(dice: Dice) -> AnyStrike:
    record = dice.one_of(("shard", "shard", "shard", "member", "coordinator", "map"))
    return Delete(at=dice.at(), record=record, index=int(6 * dice.random()))  # type: ignore[arg-type]


def steal(dice: Dice) -> AnyStrike:
    record = dice.one_of(("shard", "shard", "member", "coordinator"))
    return Steal(
        at=dice.at(),
        record=record,  # type: ignore[arg-type]
        index=int(6 * dice.random()),
        holder=dice.one_of(("", "somebody")),
    )


def edit(dice: Dice) -> AnyStrike:
    record = dice.one_of(("shard", "shard", "member", "coordinator", "map"))
    how = dice.one_of(EDITS[record])
    return Edit(at=dice.at(), record=record, how=how, index=int(6 * dice.random()))  # type: ignore[arg-type]


def restore(dice: Dice) -> AnyStrike:
    at = dice.at()
    return Restore(at=at, back_seconds=round(min(at, 0.05 + dice.seconds(2.0)), 3))


def reshard(dice: Dice) -> AnyStrike:
    return Reshard(at=dice.at(), shards=1 + int(6 * dice.random()))


Draw = Callable[[Dice], AnyStrike]

KINDS: tuple[Draw, ...] = (
    crash,
    pause,
    leave,
    twin,
    storm,
    clock_rate,
    partition,
    slow,
    lost_answers,
    lost_requests,
    late_landing,
    brown_out,
    stale_replica,
    silent_watch,
    cut_watch,
    dropped_events,
    truncated_list,
    delete,
    steal,
    edit,
    restore,
    reshard,
)
