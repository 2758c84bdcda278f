from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.records.record import Holder, MemberRecord, ShardRecord
from fleet.records.report_record import ShardLoad, SplitPoint
from fleet.rules.moves import Move
from fleet.rules.plan_settings import PlanSettings
from fleet.rules.planner import Situation, plan
from fleet.rules.shard_costs import OBJECT_COST, RANGE_COST, SMOOTHING_SECONDS, ShardCosts
from shards.keyrange import SPACE, WHOLE, KeyRange, equal_boundaries, ranges_from
from tests.unit.fleet.records.records import member, shard

QUARTERS = ranges_from(equal_boundaries(4))
LOW, HIGH = ranges_from(equal_boundaries(2))


def hexed(value: int) -> str:
    return f"{value:016x}"


@dataclass
class Reports:
    """What members report of what they hold, time after time."""

    costs: ShardCosts = field(default_factory=ShardCosts)
    versions: int = 0

    def tell(self, at: float, loads: dict[KeyRange, ShardLoad], *, by: str = "a", holder: str = "a") -> None:
        self.versions += 1
        told = {str(each): load for each, load in loads.items()}
        members = {by: member(by, loads=told, version=f"v{self.versions}")}
        shards = {each: shard(each, holder=Holder(holder, 3)) for each in loads}
        self.costs.observe(members, shards, at)

    def seconds(self, *ranges: KeyRange) -> list[float]:
        return [known.seconds for known in self.costs.loads(ranges)]


def busy(seconds: float, **changes: object) -> ShardLoad:
    return ShardLoad(reconcile_seconds_per_second=seconds, **changes)  # type: ignore[arg-type]  # any field


def test_a_range_costs_what_its_reconciles_take_and_a_little_for_itself_and_its_objects() -> None:
    reports = Reports()
    reports.tell(0.0, {WHOLE: busy(0.5, objects=1000)})
    assert reports.costs.costs((WHOLE,)) == pytest.approx((0.5 + 1000 * OBJECT_COST + RANGE_COST,))


def test_a_change_of_load_counts_by_and_by() -> None:
    reports = Reports()
    reports.tell(0.0, {WHOLE: busy(1.0)})
    reports.tell(SMOOTHING_SECONDS, {WHOLE: busy(0.0)})
    assert reports.seconds(WHOLE) == pytest.approx([0.368], abs=0.001)
    reports.tell(SMOOTHING_SECONDS * 6, {WHOLE: busy(0.0)})
    assert reports.seconds(WHOLE) == pytest.approx([0.0], abs=0.01)


@pytest.mark.parametrize(
    "load",
    [
        ShardLoad(reconcile_seconds_per_second=1e200),
        ShardLoad(reconcile_seconds_per_second=-1.0),
        ShardLoad(objects=10**400),
        ShardLoad(objects=-1),
    ],
)
def test_a_report_that_somebody_edited_changes_nothing(load: ShardLoad) -> None:
    reports = Reports()
    reports.tell(0.0, {WHOLE: busy(0.5)})
    reports.tell(60.0, {WHOLE: load})
    reports.tell(120.0, {WHOLE: load})
    assert reports.seconds(WHOLE) == [0.5]


def test_a_report_counts_once_however_often_it_is_looked_at() -> None:
    reports = Reports()
    reports.tell(0.0, {WHOLE: busy(1.0)})
    told = {"a": member("a", loads={str(WHOLE): busy(9.0)}, version="v1")}
    reports.costs.observe(told, {WHOLE: shard(WHOLE, holder=Holder("a", 3))}, 50.0)
    assert reports.seconds(WHOLE) == [1.0]


def test_what_nobody_has_measured_is_estimated_by_its_part_of_the_hashes() -> None:
    reports = Reports()
    assert len(set(reports.costs.costs(QUARTERS))) == 1
    reports.tell(0.0, {QUARTERS[0]: busy(0.2), QUARTERS[1]: busy(0.4)})
    assert reports.seconds(*QUARTERS) == pytest.approx([0.2, 0.4, 0.3, 0.3])


def test_the_first_reports_of_a_new_owner_are_left_out() -> None:
    reports = Reports()
    reports.tell(0.0, {LOW: busy(0.1), HIGH: busy(5.0, young=True)})
    assert reports.seconds(LOW, HIGH) == pytest.approx([0.1, 0.1])
    reports.tell(90.0, {LOW: busy(3.0, young=True), HIGH: busy(0.2)})
    assert reports.seconds(LOW, HIGH) == pytest.approx([0.1, 0.2])


def test_only_the_holder_s_report_counts_and_only_once_its_reconciles_have_begun() -> None:
    reports = Reports()
    reports.tell(0.0, {WHOLE: busy(0.3)})
    reports.tell(90.0, {WHOLE: busy(9.0)}, by="b")
    reports.tell(180.0, {WHOLE: busy(9.0, closed="its views are being listed")})
    assert reports.seconds(WHOLE) == [0.3]


def test_reports_that_somebody_edited_are_left_out() -> None:
    reports = Reports()
    told = {"a": member("a", loads={"everything": busy(9.0), str(LOW): busy(0.2)}, version="v9")}
    reports.costs.observe(told, {LOW: shard(LOW, holder=Holder("a", 3))}, 0.0)
    assert reports.seconds(LOW) == [0.2]


@pytest.mark.parametrize(
    "point",
    [
        SplitPoint("nothing", 0.5, hexed(5), 0.1),
        SplitPoint(hexed(HIGH.first), 0.5, hexed(5), 0.1),
        SplitPoint(hexed(9), 1.5, hexed(5), 0.1),
        SplitPoint(hexed(9), 0.5, hexed(HIGH.first), 0.1),
        SplitPoint(hexed(9), 0.5, hexed(5), float("nan")),
    ],
)
def test_split_points_that_cannot_be_are_left_out(point: SplitPoint) -> None:
    reports = Reports()
    reports.tell(0.0, {LOW: busy(0.2, split=point)})
    assert reports.costs.points == {}


# -- another layout -------------------------------------------------------------------------------------------------


def test_the_halves_of_a_split_range_begin_with_their_parts_of_what_it_cost() -> None:
    reports = Reports()
    at = LOW.last // 4
    reports.tell(0.0, {LOW: busy(0.8, split=SplitPoint(hexed(at), 0.5, hexed(7), 0.1)), HIGH: busy(0.1)})
    parts = (KeyRange(0, at - 1), KeyRange(at, LOW.last), HIGH)
    reports.costs.follow(parts)
    assert reports.seconds(*parts) == pytest.approx([0.4, 0.4, 0.1])
    assert LOW not in reports.costs.known


def test_a_hot_key_s_own_range_begins_with_the_key_s_part() -> None:
    reports = Reports()
    hot = LOW.last // 2
    reports.tell(0.0, {LOW: busy(1.0, split=SplitPoint(hexed(hot + 1), 0.8, hexed(hot), 0.6)), HIGH: busy(0.1)})
    parts = (KeyRange(0, hot - 1), KeyRange(hot, hot), KeyRange(hot + 1, LOW.last), HIGH)
    reports.costs.follow(parts)
    assert reports.seconds(*parts) == pytest.approx([0.2, 0.6, 0.2, 0.1])


def test_merged_ranges_begin_with_the_sum() -> None:
    reports = Reports()
    reports.tell(0.0, dict(zip(QUARTERS, map(busy, (0.1, 0.2, 0.3, 0.4)), strict=True)))
    reports.costs.follow((LOW, QUARTERS[2], QUARTERS[3]))
    assert reports.seconds(LOW, *QUARTERS[2:]) == pytest.approx([0.3, 0.3, 0.4])


@given(
    st.lists(st.integers(1, SPACE - 1), max_size=6, unique=True),
    st.integers(0, SPACE - 1),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(1, SPACE - 1),
)
def test_whatever_the_cuts_the_parts_cost_what_the_whole_did(
    cuts: list[int], hot: int, share: float, below: float, at: int
) -> None:
    reports = Reports()
    reports.tell(0.0, {WHOLE: busy(1.0, split=SplitPoint(hexed(at), below, hexed(hot), share))})
    parts = ranges_from((0, *sorted(cuts)))
    reports.costs.follow(parts)
    found = reports.seconds(*parts)
    assert sum(found) == pytest.approx(1.0)
    assert min(found) >= -1e-12


# -- noise ----------------------------------------------------------------------------------------------------------


def noisy_hours(noise: float, ranges: int, members: int, hours: float) -> list[tuple[float, Move]]:
    """Loads of ranges that differ, measured over a minute each time with an error; planned every 30 s. At what time
    which moves were made."""
    rng, settings = random.Random(7), PlanSettings()
    layout = ranges_from(equal_boundaries(ranges))
    true = [rng.uniform(0.5, 1.5) * members / ranges for _ in layout]
    names = [f"m{i}" for i in range(members)]
    targets = tuple(names[0] for _ in layout)
    costs, made = ShardCosts(), []
    for step in range(int(hours * 120)):
        told: dict[str, dict[str, ShardLoad]] = {name: {} for name in names}
        for each, target, load in zip(layout, targets, true, strict=True):
            told[target][str(each)] = busy(load * rng.lognormvariate(0, noise))
        members_now: dict[str, MemberRecord] = {
            name: member(name, loads=loads, version=str(step)) for name, loads in told.items()
        }
        shards: dict[KeyRange, ShardRecord] = {
            each: shard(each, holder=Holder(target, 3)) for each, target in zip(layout, targets, strict=True)
        }
        costs.observe(members_now, shards, step * 30.0)
        now = Situation(
            layout, targets, costs.costs(layout), dict.fromkeys(names, 1.0), variances=costs.variances(layout)
        )
        found = plan(now, settings, budget=max(1, ranges // 10))
        targets = found.targets
        made += [(step * 30.0, move) for move in found.moves]
    return made


@pytest.mark.parametrize(("ranges", "noise"), [(16, 0.3), (32, 0.2), (64, 0.2), (256, 0.3)])
def test_moves_come_to_an_end_though_every_load_is_measured_with_an_error(ranges: int, noise: float) -> None:
    made = noisy_hours(noise, ranges=ranges, members=8, hours=3)
    assert made, "a fleet whose first member has everything is balanced"
    assert [move for at, move in made if at > 3600] == []
