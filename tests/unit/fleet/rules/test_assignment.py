"""When a plan is made, and what binds it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from fleet.records.record import Holder, MemberRecord, ShardMap, ShardRecord
from fleet.records.report_record import ShardLoad, SplitPoint
from fleet.rules.agenda import Agenda, draw_up
from fleet.rules.assignment import FIRST_DEBOUNCES, LONGEST_DEBOUNCE, MERGE_AFTER
from fleet.rules.cuts import Merge, Split
from fleet.rules.look import Look
from fleet.rules.office_memory import Memory
from fleet.rules.plan_settings import PlanSettings
from shards.keyrange import KeyRange, equal_boundaries, ranges_from
from tests.unit.fleet.records.records import member, shard, shard_map

RANGES = ranges_from(equal_boundaries(8))
SETTINGS = PlanSettings(churn_per_round=0.25, cooldown_seconds=30.0, debounce_seconds=1.0)


@dataclass
class Office:
    """A coordinator and its fleet, in which every handover is over at once unless `slow`."""

    targets: str
    members: dict[str, MemberRecord] = field(default_factory=dict)
    settings: PlanSettings = SETTINGS
    memory: Memory = field(default_factory=Memory)
    loads: dict[str, dict[str, ShardLoad]] = field(default_factory=dict)
    boundaries: tuple[int, ...] = equal_boundaries(8)
    moved_at: int = 0
    slow: bool = False
    silent: set[str] = field(default_factory=set)
    renewals: int = 0
    shards: dict[KeyRange, ShardRecord] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.current = tuple("" if each == "-" else each for each in self.targets)
        self.members = self.members or {name: member(name) for name in sorted({*self.current} - {""})}

    @property
    def map(self) -> ShardMap:
        ranges = ranges_from(self.boundaries)
        return shard_map(
            "web",
            boundaries=self.boundaries,
            targets=self.current,
            opened=frozenset(ranges),
            floors=dict.fromkeys(self.members, 3),
            shard_epochs=dict.fromkeys(ranges, 5),
            moved_at=self.moved_at,
            base_count=8,
        )

    def look(self, at: float, *, today: float = 0.0) -> Agenda:
        """Everybody but the silent has renewed. The map follows the agenda."""
        self.renewals += 1
        for name, each in self.members.items():
            if name not in self.silent:
                told = self.loads.get(name, each.loads)
                self.members[name] = replace(each, version=f"v{self.renewals}", loads=told)
        for covered, target in zip(ranges_from(self.boundaries), self.current, strict=True):
            if not self.slow or covered not in self.shards:
                holder = Holder(target, 3) if target else None
                self.shards[covered] = shard(covered, holder=holder, released=None if holder else 5)
        seen = Look(1, self.map, dict(self.shards), dict(self.members), at, 8.0, today=today)
        agenda = draw_up(seen, self.memory, self.settings, at)
        if agenda.map is not None:
            self.current, self.moved_at = agenda.map.targets, agenda.map.moved_at
        return agenda

    def settle(self, at: float = 0.0) -> None:
        """The membership is at rest, and no move was made by choice before."""
        self.memory.membership = tuple(sorted(self.members))
        self.memory.membership_at = at - 100.0


def test_the_first_assignment_waits_until_members_have_come_together() -> None:
    office = Office("--------", members={"a": member("a")})
    office.look(0.0)
    office.members["b"] = member("b")
    assert office.look(1.5).moves == (), "b has just come"
    assert office.look(1.5 + FIRST_DEBOUNCES - 0.1).moves == ()
    assert len(office.look(1.5 + FIRST_DEBOUNCES).moves) == 8
    assert sorted(office.current) == ["a"] * 4 + ["b"] * 4


def test_the_first_assignment_does_not_wait_for_ever() -> None:
    office, at = Office("--------", members={"m0": member("m0")}), 0.0
    longest = LONGEST_DEBOUNCE * FIRST_DEBOUNCES * SETTINGS.debounce_seconds
    while not any(office.current):
        assert at <= longest + 1.0
        office.members[f"m{len(office.members)}"] = member(f"m{len(office.members)}")
        office.look(at)
        at += 0.5
    assert at > FIRST_DEBOUNCES


def test_a_fleet_that_has_owners_plans_on_a_change_after_one_debounce() -> None:
    office = Office("aaaabbbb")
    office.settle()
    office.look(0.0)
    office.members["b"] = replace(office.members["b"], leaving=True)
    assert office.look(0.5).moves == ()
    assert len(office.look(1.5).moves) == 4


def test_while_more_than_half_look_dead_nothing_moves_at_all() -> None:
    office = Office("aabbcc--")
    office.settle()
    office.look(0.0)
    office.current = ("a", "a", "b", "b", "c", "c", "", "gone")
    office.silent = {"b", "c"}
    office.memory.watch.observe(office.members, 0.0)
    agenda = office.look(8.5)
    assert agenda.moves == ()
    assert agenda.fence == ()
    office.silent = set()
    office.look(9.0)
    assert {move.range for move in office.look(12.0).moves} == {RANGES[6], RANGES[7]}


def test_one_silent_member_of_three_holds_nothing_up() -> None:
    office = Office("aabbcc--")
    office.settle()
    office.look(0.0)
    office.silent = {"b"}
    office.look(4.0)  # the others renew within a lease, or most would have been silent
    office.current = ("a", "a", "b", "b", "c", "c", "gone", "gone")
    office.look(9.0)
    assert {move.range for move in office.look(11.0).moves} == {RANGES[6], RANGES[7]}


def test_a_round_waits_for_the_moves_that_are_on_their_way() -> None:
    office = Office("aaaaaaaa", members={"a": member("a"), "b": member("b")})
    office.settle()
    assert len(office.look(0.0).moves) == 2
    office.slow = True
    assert office.look(31.0).moves == ()
    office.slow = False
    assert len(office.look(32.0).moves) == 2


def test_a_new_office_knows_from_the_map_when_the_last_round_was() -> None:
    office = Office("aaaaaaaa", members={"a": member("a"), "b": member("b")}, moved_at=1000)
    office.settle()
    assert office.look(5.0, today=1010.0).moves == ()
    assert len(office.look(25.0, today=1030.0).moves) == 2
    assert office.moved_at == 1030


def test_a_clock_that_is_behind_the_map_holds_nothing_up() -> None:
    office = Office("aaaaaaaa", members={"a": member("a"), "b": member("b")}, moved_at=5000)
    office.settle()
    assert len(office.look(5.0, today=1010.0).moves) == 2


def test_loads_count_and_not_numbers_of_shards() -> None:
    office = Office("aaaabbbb", settings=replace(SETTINGS, churn_per_round=1.0))
    heavy, light = ShardLoad(reconcile_seconds_per_second=0.3), ShardLoad(reconcile_seconds_per_second=0.1)
    office.loads = {
        "a": {str(each): heavy for each in RANGES[:4]},
        "b": {str(each): light for each in RANGES[4:]},
    }
    office.settle()
    assert [(move.source, move.target) for move in office.look(0.0).moves] == [("a", "b")]


def test_weights_ride_on_the_members() -> None:
    office = Office("--------", members={"a": member("a", weight=3.0), "b": member("b")})
    office.settle()
    office.look(0.0)
    assert sorted(office.current) == ["a"] * 6 + ["b"] * 2


def test_during_a_rollout_nothing_goes_to_a_pod_that_is_about_to_be_replaced() -> None:
    members = {
        f"web-{i}-0": member(f"web-{i}-0", pod=f"web-{i}", revision=revision)
        for i, revision in enumerate(["old", "old", "new"])
    }
    office = Office("--------", members=members)
    office.current = ("web-0-0",) * 2 + ("web-1-0",) * 2 + ("web-3-0",) * 4
    office.settle()
    assert {move.target for move in office.look(0.0).moves} == {"web-2-0"}


# -- cuts -----------------------------------------------------------------------------------------------------------


def hot_office(**changes: object) -> Office:
    """Two members; the first range of a takes more than all the others, and no move helps."""
    office = Office("abbbbbbb", settings=replace(SETTINGS, auto_split=True), **changes)  # type: ignore[arg-type]  # any
    point = SplitPoint(f"{1000:016x}", 0.5, f"{7:016x}", 0.1)
    office.loads = {
        "a": {str(RANGES[0]): ShardLoad(reconcile_seconds_per_second=2.0, split=point)},
        "b": {str(each): ShardLoad(reconcile_seconds_per_second=0.1) for each in RANGES[1:]},
    }
    office.settle()
    return office


def test_a_shard_that_no_move_can_relieve_is_split() -> None:
    office = hot_office()
    agenda = office.look(0.0, today=1000.0)
    assert agenda.cuts == (Split(RANGES[0], 1000),)
    assert office.moved_at == 1000, "the cool-down begins anew"
    assert office.look(1.0).cuts == ()


def test_nothing_is_cut_unless_the_config_allows_it() -> None:
    office = hot_office()
    office.settings = SETTINGS
    assert office.look(0.0).cuts == ()


def test_nothing_is_cut_while_a_move_would_gain_or_is_on_its_way() -> None:
    office = hot_office()
    office.current = ("a", "a", *"bbbbbb")
    assert office.look(0.0).cuts == ()


def test_cold_neighbours_are_merged_only_after_a_long_rest() -> None:
    office = Office("a" * 8 + "b" * 8, settings=replace(SETTINGS, auto_split=True), boundaries=equal_boundaries(16))
    office.settle()
    office.moved_at = 1000
    assert office.look(0.0, today=1000.0 + 30.0 * MERGE_AFTER - 1).cuts == ()
    [cut] = office.look(1.0, today=1000.0 + 30.0 * MERGE_AFTER).cuts
    assert isinstance(cut, Merge)


def test_a_range_that_nobody_claims_does_not_keep_all_others_where_they_are() -> None:
    office = Office("aaaaaaab", settings=replace(SETTINGS, churn_per_round=0.01))
    office.settle()
    office.slow = True
    office.shards = {each: shard(each, holder=Holder("a", 3)) for each in RANGES[:7]}
    office.shards[RANGES[7]] = shard(RANGES[7], holder=None, holder_text="", released=5)
    moved = {}
    for second in range(500):
        for move in office.look(float(second)).moves:
            if move.by_choice:
                moved[move.range] = second
                office.shards[move.range] = shard(move.range, holder=Holder(move.target, 3))
    assert len(moved) >= 2
    assert RANGES[7] not in moved


def test_who_was_late_for_a_range_is_not_given_others_instead_before_the_cool_down_is_over() -> None:
    office = Office("aaaaaaab")
    office.settle()
    office.slow = True
    office.shards = {each: shard(each, holder=Holder("a", 3)) for each in RANGES[:7]}
    office.shards[RANGES[7]] = shard(RANGES[7], holder=None, holder_text="", released=5)
    office.settings = replace(SETTINGS, churn_per_round=0.01, cooldown_seconds=1e9)
    office.look(0.0, today=1000.0)
    assert office.moved_at == 0
    office.settings = replace(office.settings, cooldown_seconds=30.0, churn_per_round=0.5)
    office.memory.moved_at = 40.0
    [taken, given] = office.look(60.1, today=1060.1).moves
    assert (taken.source, given.target, given.by_choice) == ("b", "a", False)
    assert office.moved_at == 1060, "an office that comes after knows it too"
    assert not office.look(90.0).moves
    assert {move.target for move in office.look(90.2).moves} == {"b"}


def test_left_over_records_of_another_protocol_do_not_stop_the_planning_for_ever() -> None:
    """Nobody here fences them, and they have no say in whether more than half of the members look dead."""
    office = Office("aabbaabb")
    office.members |= {name: replace(member(name), leaving=True, foreign=True) for name in "xyz"}
    office.settle()
    office.silent = {"x", "y", "z"}
    for second in range(30):
        office.look(float(second))
    assert office.memory.watch.suspicious_since is None
    office.silent.add("b")
    fenced = {name for second in range(30, 50) for name in office.look(float(second)).fence}
    assert fenced == {"b"}
