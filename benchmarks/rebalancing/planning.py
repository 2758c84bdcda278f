"""What plans are worth, without a server: a fleet whose ranges cost what their keys do, planned round after round.

Every round goes through the coordinator's own rules: loads as members report them, split points as workers find them,
the churn budget, and layouts as a reshard makes them. Handovers take no time.
"""

from __future__ import annotations

import math
import random
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from fleet.records.record import (
    Holder,
    Incarnation,
    MemberRecord,
    ShardMap,
    ShardRecord,
    ShardStatus,
)
from fleet.records.report_record import ShardLoad, SplitPoint
from fleet.rules.assignment import assign
from fleet.rules.cuts import cut_boundaries
from fleet.rules.layout import relaid
from fleet.rules.look import Look
from fleet.rules.office_memory import Memory
from fleet.rules.plan_settings import PlanSettings
from fleet.rules.planner import Situation, plan
from shards.keyrange import KeyRange, PartitionKey, equal_boundaries, fnv1a64, range_of, ranges_from
from shards.objects import Key
from shards.reconciling.key_costs import KeyCosts, middle_of

FLEET_SECONDS = 4.0
"""What all keys of a fleet take together, in reconcile seconds per second."""

ROUND_SECONDS = 30.0
"""As long as the default cool-down."""

MOST_ROUNDS = 2_000

WINDOW_SECONDS = 120.0
"""Over which a worker has looked where its costs lie."""


@dataclass(slots=True)
class Fleet:
    """weights: reconcile seconds per second by key. moved: keys whose range changed its target by a plan."""

    weights: dict[Key, float]
    ranges: int
    settings: PlanSettings = field(default_factory=PlanSettings)
    memory: Memory = field(default_factory=Memory)
    moved: int = 0
    rounds: int = 0
    map: ShardMap = field(init=False)
    layout: tuple[KeyRange, ...] = ()
    keys: list[list[Key]] = field(default_factory=list)
    """By range of the layout."""
    reports: list[ShardLoad] = field(default_factory=list)
    members: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        boundaries = equal_boundaries(self.ranges)
        self._follow(
            ShardMap(1, 1, "bench", "", PartitionKey.UID, boundaries, ("",) * self.ranges, base_count=self.ranges)
        )

    def of(self, members: int) -> Fleet:
        """The fleet has so many members now."""
        self.members = [f"member-{i:02}" for i in range(members)]
        return self

    def settle(self) -> Fleet:
        """Rounds until a plan moves and cuts nothing any more. Raises RuntimeError where that does not come."""
        self.moved = 0
        for _ in range(MOST_ROUNDS):
            if not self.turn():
                return self
        raise RuntimeError(f"no rest after {MOST_ROUNDS} rounds")

    def loads(self) -> dict[str, float]:
        """Reconcile seconds per second of each member."""
        found = dict.fromkeys(self.members, 0.0)
        for target, keys in zip(self.map.targets, self.keys, strict=True):
            found[target] += sum(self.weights[key] for key in keys)
        return found

    def _follow(self, new: ShardMap) -> None:
        self.map, self.layout = new, new.ranges
        self.keys = [[] for _ in self.layout]
        for key in self.weights:
            self.keys[range_of(_hash_of(key.uid), new.boundaries)].append(key)
        self.reports = [self._load(keys) for keys in self.keys]

    def cool_down(self) -> None:
        """All keys take the same from now on, and little; rounds until the layout has followed."""
        self.weights = dict.fromkeys(self.weights, FLEET_SECONDS / 100 / len(self.weights))
        self._follow(self.map)
        for _ in range(MOST_ROUNDS // 2):
            self.turn()

    def turn(self) -> bool:
        """One round. Whether it changed anything."""
        self.rounds += 1
        now = self.rounds * ROUND_SECONDS
        shards = {each: _held(each, target) for each, target in zip(self.layout, self.map.targets, strict=True)}
        # Members renew all the time: two renewals stand for those of a round.
        for renewals in (1, 2):
            look = Look(1, self.map, shards, self._reports(renewals), now - 2.0 / renewals, 8.0)
            self.memory.watch.observe(look.members, look.own_renewal_at)
        self.memory.membership = tuple(self.members)  # it has come to rest
        found = assign(look, self.memory, self.settings, {}, [], now)
        moved = {move.range for move in found.moves if move.source}
        self.moved += sum(len(keys) for each, keys in zip(self.layout, self.keys, strict=True) if each in moved)
        self.map = replace(self.map, targets=found.targets)
        if found.cuts:
            boundaries = cut_boundaries(self.map.boundaries, found.cuts)
            self._follow(replace(relaid(self.map, boundaries, PartitionKey.UID, shards), retiring=frozenset()))
        return bool(found.moves or found.cuts)

    def _reports(self, renewals: int) -> dict[str, MemberRecord]:
        loads: dict[str, dict[str, ShardLoad]] = {name: {} for name in self.members}
        for each, target, load in zip(self.layout, self.map.targets, self.reports, strict=True):
            if target in loads:
                loads[target][str(each)] = load
        return {
            name: MemberRecord(
                name, Incarnation(name, 1), 1, 8.0, pod=name, loads=told, version=f"{self.rounds}{renewals}"
            )
            for name, told in loads.items()
        }

    def _load(self, keys: Sequence[Key]) -> ShardLoad:
        seconds = sum(self.weights[key] for key in keys)
        return ShardLoad(len(keys), reconcile_seconds_per_second=round(seconds, 3), split=self._split_point(keys))

    def _split_point(self, keys: Sequence[Key]) -> SplitPoint | None:
        if not self.settings.auto_split:
            return None
        costs = KeyCosts(PartitionKey.UID, 0.0)
        for key in keys:
            costs.ran(key, self.weights[key] * WINDOW_SECONDS, 0.0)
        found = middle_of([costs])
        if found is None:
            return None
        at = f"{found.at:016x}" if found.at else ""
        return SplitPoint(at, found.below, f"{found.hot:016x}", found.share)


def _held(each: KeyRange, target: str) -> ShardRecord:
    holder = Holder(target, 1) if target else None
    return ShardRecord(each, ShardStatus.ACTIVE, 1, holder, str(holder or ""), released=None if holder else 1)


def keys(count: int, seed: int, weight: Callable[[int], float] = lambda rank: 1.0) -> dict[Key, float]:
    """Objects with drawn UIDs. weight: of the key of a rank, from 1; scaled so that all take FLEET_SECONDS."""
    rng = random.Random(seed)
    drawn = {
        Key("default", f"object-{rank}", str(uuid.UUID(int=rng.getrandbits(128), version=4))): weight(rank)
        for rank in range(1, count + 1)
    }
    scale = FLEET_SECONDS / sum(drawn.values())
    return {key: each * scale for key, each in drawn.items()}


@cache
def _alike(count: int, seed: int) -> dict[Key, float]:
    return keys(count, seed)


@dataclass(frozen=True, slots=True)
class Moved:
    """Keys that a change of membership moved, over the fewest that could be. members: before it."""

    members: int
    joined: float
    left: float


@cache
def _hash_of(uid: str) -> int:
    return fnv1a64(uid)


def moved_keys(members: int, ranges: int, count: int, seed: int = 1) -> Moved:
    """One member more, until nothing moves any more; and one less, from the same beginning."""
    weights = _alike(count, seed)
    joined = Fleet(weights, ranges).of(members).settle().of(members + 1).settle()
    left = Fleet(weights, ranges).of(members).settle().of(members - 1).settle()
    return Moved(members, joined.moved / (count / (members + 1)), left.moved / (count / members))


def uniform_spread(members: int, ranges: int, count: int, seed: int) -> float:
    """Load of the busiest member over the mean one, keys alike."""
    loads = Fleet(_alike(count, seed), ranges).of(members).settle().loads()
    return max(loads.values()) * members / FLEET_SECONDS


@dataclass(frozen=True, slots=True)
class Skewed:
    """over_best: load of the busiest member over the least that is possible: the mean, or the heaviest key. ranges:
    in the end. whole: the same without splits."""

    over_best: float
    whole: float
    ranges: int


def skewed_spread(members: int, ranges: int, count: int, exponent: float, seed: int) -> Skewed:
    """Keys of a Zipf distribution."""
    weights = keys(count, seed, lambda rank: rank**-exponent)
    best = max(FLEET_SECONDS / members, *weights.values())
    cut = Fleet(weights, ranges, PlanSettings(auto_split=True)).of(members).settle()
    whole = Fleet(weights, ranges).of(members).settle()
    return Skewed(max(cut.loads().values()) / best, max(whole.loads().values()) / best, len(cut.map.boundaries))


def plan_times(ranges: int, members: int, runs: int) -> dict[str, list[float]]:
    """CPU seconds of one plan each, by what it was made of."""
    rng = random.Random(1)
    names = [f"pod-{i // 2}-{i % 2}" for i in range(members)]
    layout = ranges_from(equal_boundaries(ranges))
    alike, skewed = (1.0,) * ranges, tuple(rng.paretovariate(1.2) for _ in layout)
    doubts = tuple((0.1 * cost) ** 2 for cost in skewed)
    spread = tuple(names[i % members] for i in range(ranges))
    settings = PlanSettings()

    def situation(targets: Sequence[str], costs: tuple[float, ...], variances: tuple[float, ...] = ()) -> Situation:
        return Situation(layout, tuple(targets), costs, dict.fromkeys(names, 1.0), variances=variances)

    situations = {
        "the first assignment": situation([""] * ranges, alike),
        "a member that joined": situation([names[i % (members - 1)] for i in range(ranges)], alike),
        "half of the members gone": situation([each if i % 2 else "gone" for i, each in enumerate(spread)], alike),
        "all on one member": situation([names[0]] * ranges, alike),
        "skewed loads with errors": situation(spread, skewed, doubts),
    }
    budget = max(1, math.floor(ranges * settings.churn_per_round))
    return {name: [_seconds(now, settings, budget) for _ in range(runs)] for name, now in situations.items()}


def _seconds(now: Situation, settings: PlanSettings, budget: int) -> float:
    began = time.thread_time()
    plan(now, settings, budget=budget)
    return time.thread_time() - began
