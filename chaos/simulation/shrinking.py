"""A smaller history that still fails: fewer strikes first, then a smaller fleet, plainer strikes and shorter times.

Strikes go by delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002): all,
halves, quarters, and so on, until no single one can go. The rest is tried greedily, the smallest value first. All
passes are repeated until none makes anything smaller, or the runs are used up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import floor
from typing import Any

from msgspec.structs import asdict, replace

from chaos.simulation.plan import Plan, Shape, said_name, twin_of
from chaos.simulation.scenario_file import check
from chaos.simulation.strikes import AnyStrike, StaleReplica
from chaos.simulation.swarm import limited
from shards.errors import ConfigError

SEEDS = (1, 2, 3)
"""Tried for a smaller fleet beside the plan's own: with other processes everything is drawn anew anyway."""

_PLAINER: dict[str, tuple[Any, ...]] = {
    "after_write": (False,),
    "reaped": (True,),
    "gone": (False,),
    "way": ("both",),
    "refused": ("both",),
    "times": (1,),
    "index": (0,),
    "workers": (1,),
    "how": ("touch",),
    "holder": ("",),
}
"""Values that say less, of fields that are no times."""
_TIMES = ("seconds", "latency_seconds", "late_seconds", "back_seconds", "back_after", "lag_seconds")


def shrink(
    plan: Plan,
    fails: Callable[[Plan], bool],
    *,
    most_runs: int = 500,
    tell: Callable[[Plan, int], None] = lambda plan, runs: None,
) -> Plan:
    """The smallest plan found for which `fails` is true; `plan` itself where nothing smaller was.

    fails: whether a plan breaks what `plan` breaks: it has to ask for the same oracle, or another fault may take the
    place of the one that is looked for. Called at most `most_runs` times, never twice with one plan, always in the same
    order. tell: hears of every smaller plan, and how many runs it took so far.

    A plan within the limits of the swarm stays within them, and every plan can be written as a scenario.
    """
    search = _Search(plan, fails, most_runs, tell)
    while search.round():
        pass
    return search.best


class _Search:
    """best: the smallest plan so far that fails."""

    def __init__(
        self, plan: Plan, fails: Callable[[Plan], bool], most_runs: int, tell: Callable[[Plan, int], None]
    ) -> None:
        self.best = plan
        self._fails = fails
        self._most_runs = most_runs
        self._tell = tell
        self._tried = {plan}
        self._runs = 0
        self._limited = is_limited(plan)

    def round(self) -> bool:
        """One try of everything. Whether it made the plan smaller, and runs are left."""
        before = self.best
        self._fewer_strikes()
        self._smaller_fleet()
        self._plainer_strikes()
        self._shorter_chaos()
        return self.best != before and self._runs < self._most_runs

    def _try(self, plan: Plan) -> bool:
        if plan in self._tried or self._runs >= self._most_runs:
            return False
        self._tried.add(plan)
        try:
            check(plan)
        except ConfigError:
            return False
        if self._limited and not is_limited(plan):
            return False
        self._runs += 1
        if not self._fails(plan):
            return False
        self.best = plan
        self._tell(plan, self._runs)
        return True

    # -- strikes ---------------------------------------------------------------------------------------------------

    def _fewer_strikes(self) -> None:
        parts = 1
        while (total := len(self.best.strikes)) and parts <= total:
            if self._without_a_part(parts):
                parts = max(1, parts - 1)
            elif parts == total:
                return
            else:
                parts = min(total, parts * 2)

    def _without_a_part(self, parts: int) -> bool:
        strikes = self.best.strikes
        cuts = [len(strikes) * part // parts for part in range(parts + 1)]
        return any(
            self._try(replace(self.best, strikes=strikes[:begin] + strikes[end:])) for begin, end in pairwise(cuts)
        )

    def _plainer_strikes(self) -> None:
        for index in range(len(self.best.strikes)):
            for name in self.best.strikes[index].__struct_fields__:
                if not hasattr(self.best.strikes[index], name):
                    break  # an earlier `at` has brought another strike to this place
                for value in _plainer(name, getattr(self.best.strikes[index], name)):
                    if self._try(_with_strike(self.best, index, {name: value})):
                        break

    # -- the fleet -------------------------------------------------------------------------------------------------

    def _smaller_fleet(self) -> None:
        for name, least in (("workers", 1), ("agents", 1), ("shards", 1), ("objects", 0), ("replicas", 1)):
            for count in _smaller(getattr(self.best.shape, name), least):
                shape = replace(self.best.shape, **{name: count})
                if any(self._try(each) for each in _in_shape(self.best, shape)):
                    break

    def _shorter_chaos(self) -> None:
        """Down to what is left of the strikes."""
        last = max((each.at for each in self.best.strikes), default=0.0)
        ends = [
            round(last + 0.1, 1),
            *(round(last + each, 1) for each in (0.5, 1.0, 2.0)),
            round(self.best.chaos_seconds, 1),
        ]
        for seconds in ends:
            if seconds < self.best.chaos_seconds and self._try(replace(self.best, chaos_seconds=seconds)):
                return


def is_limited(plan: Plan) -> bool:
    """Whether it is within the limits of the swarm."""
    return tuple(limited(list(plan.strikes), plan.shape, plan.chaos_seconds)) == plan.strikes


def _smaller(value: int, least: int) -> Iterator[int]:
    """Smaller whole numbers, the smallest first."""
    yield from sorted({each for each in (least, (value + least) // 2, value - 1) if least <= each < value})


def _plainer(name: str, value: Any) -> Iterator[Any]:
    """Values of a field that say less than this one, the plainest first."""
    if name in _PLAINER:
        yield from (each for each in _PLAINER[name] if each != value)
    elif name in _TIMES and value is not None:
        shorter = (0.1, round(value / 4, 1), round(value / 2, 1), round(value, 1), round(value, 2))
        yield from sorted({each for each in shorter if 0 < each < value})
    elif name == "at":
        yield from (each for each in (floor(value), floor(value * 10) / 10, floor(value * 100) / 100) if each < value)


def _with_strike(plan: Plan, index: int, changes: dict[str, Any]) -> Plan:
    """In order of their times again."""
    strikes = list(plan.strikes)
    strikes[index] = replace(strikes[index], **changes)
    return replace(plan, strikes=tuple(sorted(strikes, key=lambda each: each.at)))


def _in_shape(plan: Plan, shape: Shape) -> Iterator[Plan]:
    """The plan with a smaller fleet: who is struck there is somebody who is left, or nobody; by several seeds."""
    names = {*shape.worker_names, *shape.agent_names}
    known = {*plan.shape.worker_names, *plan.shape.agent_names}
    moved = tuple(_in_fleet(each, shape, names) for each in plan.strikes)
    kept = tuple(each for each in plan.strikes if _process(each) in names or _process(each) not in known)
    for strikes in (moved, tuple(_in_fleet(each, shape, names) for each in kept)):
        for seed in (plan.seed, *SEEDS):
            yield replace(plan, seed=seed, shape=shape, strikes=strikes)


def _process(strike: AnyStrike) -> str:
    """Whom it strikes, "" where it is nobody in particular."""
    return said_name(str(asdict(strike).get("process", "")))


def _in_fleet(strike: AnyStrike, shape: Shape, names: set[str]) -> AnyStrike:
    if isinstance(strike, StaleReplica):
        return replace(strike, replica=min(strike.replica, shape.replicas - 1))
    process = _process(strike)
    if not process or process in names:
        return strike
    last = shape.agent_names[-1] if process.startswith("agent-") else shape.worker_names[-1]
    return replace(strike, process=last if asdict(strike)["process"] == process else twin_of(last))
