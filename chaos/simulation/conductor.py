"""Plays the strikes of a plan on a stage: begins each at its time, adds up what overlaps, ends all in the end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count, islice
from typing import NamedTuple, TypeVar

from chaos.simulation.happenings import Happening, Healed, Struck
from chaos.simulation.plan import Plan, twin_of, worker_name
from chaos.simulation.stage import Stage
from chaos.simulation.strikes import (
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
    Useless,
)

S = TypeVar("S")

CallAt = Callable[[float, Callable[[], None]], object]
"""Calls at that true time, seconds since the start, on nobody's clock; at once where it has passed."""

JOIN_SECONDS = 1.0
"""Within which the workers of a storm join."""


class _Return(NamedTuple):
    """A process that somebody will start."""

    process: str
    reaped: bool


class Conductor:
    """One history's. now: the true time. hear: who is told of Struck and Healed: the jury and the trace.

    A strike that outlives the chaos ends with it, unless it is for good; those that wait to be started are started
    then.
    """

    def __init__(
        self, plan: Plan, stage: Stage, *, now: Callable[[], float], call_at: CallAt, hear: Callable[[Happening], None]
    ) -> None:
        self._plan = plan
        self._stage = stage
        self._now = now
        self._call_at = call_at
        self._hear = hear
        self._lasting: list[AnyStrike] = []
        """Those in force, in order of their beginnings."""
        self._returns: list[_Return] = []
        self._storms: list[tuple[Storm, tuple[str, ...]]] = []
        """In force, each with its workers."""
        self.healed = False

    def start(self) -> None:
        """Once, at time 0."""
        for strike in sorted(self._plan.strikes, key=lambda each: each.at):
            if strike.at < self._plan.chaos_seconds:
                self._call_at(strike.at, partial(self._begin, strike))
        self._call_at(self._plan.chaos_seconds, self._heal)

    def _begin(self, strike: AnyStrike) -> None:
        self._hear(Struck(self._now(), strike))
        match strike:
            case Crash() | Leave():
                self._end_process(strike)
            case Partition() | Slow() | Pause() | ClockRate() | SilentWatch() | BrownOut() | StaleReplica():
                self._last(strike, strike.seconds)
            case Storm() | Twin() | Useless():
                self._last(strike, strike.seconds)
            case Delete() | Steal() | Edit() | Restore() | Reshard():
                self._by_hand(strike)
            case _:
                self._order(strike)

    def _heal(self) -> None:
        self.healed = True
        for strike in tuple(self._lasting):
            if not _for_good(strike):
                self._over(strike)
        self._stage.disarm()
        for each in tuple(self._returns):
            self._back(each)
        self._hear(Healed(self._now()))

    # -- processes that end ----------------------------------------------------------------------------------------

    def _end_process(self, strike: Crash | Leave) -> None:
        def ended() -> None:
            for each in self._of(Pause):  # it ended with the process that it held
                if each.process == strike.process:
                    self._lasting.remove(each)
                    self._hear(Struck(self._now(), each, over=True))
            if strike.back_after is not None:
                self._return(_Return(strike.process, isinstance(strike, Crash) and strike.reaped), strike.back_after)

        if isinstance(strike, Crash):
            self._stage.crash(strike.process, ended, after_write=strike.after_write)
        else:
            self._stage.leave(strike.process, ended)

    def _return(self, each: _Return, seconds: float) -> None:
        self._returns.append(each)
        self._call_at(self._now() + (0.0 if self.healed else seconds), partial(self._back, each))

    def _back(self, each: _Return) -> None:
        if each in self._returns:
            self._returns.remove(each)
            self._stage.start(each.process, reaped=each.reaped)

    # -- what lasts ------------------------------------------------------------------------------------------------

    def _last(self, strike: AnyStrike, seconds: float | None) -> None:
        self._lasting.append(strike)
        match strike:
            case Twin():
                self._stage.hits["twin"] += 1
                self._stage.start(twin_of(strike.process), reaped=False)
            case Storm():
                self._join(strike)
            case _:
                self._set(strike)
        if seconds is not None:
            self._call_at(self._now() + seconds, partial(self._over, strike))

    def _over(self, strike: AnyStrike) -> None:
        index = next((index for index, each in enumerate(self._lasting) if each is strike), None)
        if index is None:
            return
        del self._lasting[index]
        self._hear(Struck(self._now(), strike, over=True))
        match strike:
            case Twin():
                self._stage.crash(twin_of(strike.process), lambda: None, after_write=False)
            case Storm():
                self._disperse(strike)
            case _:
                self._set(strike)

    def _set(self, strike: AnyStrike) -> None:
        """Tells the stage what all that is in force of this kind comes to."""
        stage = self._stage
        match strike:
            case Partition() | Slow():
                self._wire(strike.process)
            case Pause():
                (stage.pause if self._on(Pause, strike.process) else stage.resume)(strike.process)
            case ClockRate():
                rates = [each.rate for each in self._on(ClockRate, strike.process)]
                stage.run_at(strike.process, rates[-1] if rates else 1.0)
            case Useless():
                refused = {each.refused for each in self._on(Useless, strike.process)}
                shards, objects = (not refused.isdisjoint((what, "both")) for what in ("shards", "objects"))
                stage.refuse(strike.process, shard_writes=shards, object_lists=objects)
            case SilentWatch():
                stage.silence(strike.process, bool(self._on(SilentWatch, strike.process)))
            case BrownOut():
                stage.brown_out(bool(self._of(BrownOut)))
            case StaleReplica():
                lags = [each.lag_seconds for each in self._of(StaleReplica) if each.replica == strike.replica]
                stage.lag(strike.replica, None if None in lags else max((lag for lag in lags if lag), default=0.0))

    def _wire(self, process: str) -> None:
        ways = {each.way for each in self._on(Partition, process)}
        latencies = [each.latency_seconds for each in self._on(Slow, process)]
        self._stage.wire(
            process,
            to_server=ways.isdisjoint(("both", "to_server")),
            to_client=ways.isdisjoint(("both", "to_client")),
            latency_seconds=max(latencies, default=0.0),
        )

    def _of(self, kind: type[S]) -> list[S]:
        return [each for each in self._lasting if isinstance(each, kind)]

    def _on(self, kind: type[S], process: str) -> list[S]:
        return [each for each in self._of(kind) if getattr(each, "process", None) == process]

    # -- storms ----------------------------------------------------------------------------------------------------

    def _join(self, storm: Storm) -> None:
        taken = {*self._plan.shape.worker_names, *(name for _, names in self._storms for name in names)}
        free = (name for name in map(worker_name, count()) if name not in taken)
        names = tuple(islice(free, storm.workers))
        self._storms.append((storm, names))
        for index, name in enumerate(names):
            self._call_at(self._now() + JOIN_SECONDS * index / storm.workers, partial(self._join_one, storm, name))

    def _join_one(self, storm: Storm, name: str) -> None:
        if any(each is storm for each in self._lasting):
            self._stage.hits["storm"] += 1
            self._stage.start(name, reaped=False)

    def _disperse(self, storm: Storm) -> None:
        for _, names in [each for each in self._storms if each[0] is storm]:
            for name in names:
                self._stage.leave(name, lambda: None)
        self._storms = [each for each in self._storms if each[0] is not storm]

    # -- what happens once -----------------------------------------------------------------------------------------

    def _order(self, strike: AnyStrike) -> None:
        """For the next writes, events and lists of a process."""
        stage = self._stage
        match strike:
            case LostAnswers():
                stage.lose_answers(strike.process, strike.times)
            case LostRequests():
                stage.lose_requests(strike.process, strike.times)
            case LateLanding():
                stage.land_late(strike.process, strike.late_seconds, strike.times)
            case CutWatch():
                stage.cut_watches(strike.process, gone=strike.gone)
            case DroppedEvents():
                stage.drop_events(strike.process, strike.times)
            case TruncatedList():
                stage.truncate_lists(strike.process, strike.times)

    def _by_hand(self, strike: Delete | Steal | Edit | Restore | Reshard) -> None:
        stage = self._stage
        match strike:
            case Delete():
                stage.delete(strike.record, strike.index)
            case Steal():
                stage.steal(strike.record, strike.index, strike.holder)
            case Edit():
                stage.edit(strike.record, strike.index, strike.how)
            case Restore():
                stage.restore(strike.back_seconds)
            case Reshard():
                stage.reshard(strike.shards)


def _for_good(strike: AnyStrike) -> bool:
    return isinstance(strike, Useless) and strike.seconds is None
