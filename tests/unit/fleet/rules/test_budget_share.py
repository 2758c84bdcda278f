"""The fleet's budget of requests: who gets how much, and that together they never have more than there is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.records.record import PARTS, Holder, Incarnation, MemberRecord, ShardMap, ShardRecord, ShardStatus, Share
from fleet.rules.budget_share import (
    CRUMBS,
    FLOOR,
    REVIEW_SECONDS,
    BudgetMemory,
    demand_of,
    fair_parts,
    held_parts,
    next_shares,
    part_of,
    working_members,
)
from shards.keyrange import PartitionKey, equal_boundaries, ranges_from

RANGES = ranges_from(equal_boundaries(4))
MAP = ShardMap(5, 1, "web", "id", PartitionKey.UID, equal_boundaries(4), ("a", "a", "b", ""), opened=frozenset(RANGES))
RECORDS = [ShardRecord(each, ShardStatus.ACTIVE, 7, Holder("a", 3), "a@3") for each in RANGES]
LEASE = 8.0


def test_members_that_own_or_are_to_own_something_share_what_nobody_has_planned() -> None:
    assert working_members(MAP, RECORDS, "a") == 2
    assert working_members(MAP, [], "a") == 2


def test_who_asks_counts_itself() -> None:
    """One that has just joined takes too small a part, never one that nobody gave up."""
    assert working_members(MAP, RECORDS, "c") == 3
    assert working_members(replace(MAP, targets=("",) * 4), [], "c") == 1


def test_a_holder_that_has_to_let_go_counts_until_it_has() -> None:
    moving = [*RECORDS[:3], replace(RECORDS[3], holder=Holder("d", 1), holder_text="d@1")]
    assert working_members(MAP, moving, "a") == 3
    released = [*RECORDS[:3], replace(RECORDS[3], holder=None, holder_text="", released=7)]
    assert working_members(MAP, released, "a") == 2


def test_a_fenced_holder_does_not_count() -> None:
    dead = [replace(RECORDS[0], holder=Holder("d", 1), holder_text="d@1")]
    assert working_members(replace(MAP, floors={"d": 2}), dead, "a") == 2


# -- fairness ---------------------------------------------------------------------------------------------------------

demands = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, PARTS), min_size=1)


@given(demands)
def test_all_of_the_budget_is_handed_out_and_no_more(needs: dict[str, int]) -> None:
    parts = fair_parts(needs)
    assert parts.keys() == needs.keys()
    assert PARTS - 2 * len(needs) <= sum(parts.values()) <= PARTS


@given(demands)
def test_everybody_has_the_floor(needs: dict[str, int]) -> None:
    assert min(fair_parts(needs).values()) >= PARTS // (FLOOR * len(needs))


@given(demands)
def test_where_there_is_enough_everybody_gets_what_it_needs(needs: dict[str, int]) -> None:
    floor = PARTS // (FLOOR * len(needs))
    if sum(max(need, floor) for need in needs.values()) <= PARTS:
        assert all(part >= needs[name] - 1 for name, part in fair_parts(needs).items())


@given(demands)
def test_nobody_has_more_than_another_that_needs_more_than_it_has(needs: dict[str, int]) -> None:
    parts = fair_parts(needs)
    short = [name for name in needs if needs[name] > parts[name] + 1]
    assert all(parts[other] <= parts[name] + 1 for name in short for other in parts)


@given(demands, st.sampled_from("abcdefgh"))
def test_needing_more_never_gives_less(needs: dict[str, int], who: str) -> None:
    if who in needs:
        assert fair_parts({**needs, who: PARTS})[who] >= fair_parts(needs)[who]


def test_a_busy_member_gets_what_idle_ones_leave() -> None:
    parts = fair_parts({"busy": PARTS, "idle": 0, "calm": 100_000})
    assert parts == {"busy": 816_667, "idle": 83_333, "calm": 100_000}


def test_nobody_shares_nothing() -> None:
    assert fair_parts({}) == {}


# -- what a member may use --------------------------------------------------------------------------------------------

SHARED = replace(MAP, shares={"a": Share(400_000, 700_000, 5, 3)})


def test_a_member_uses_what_the_map_gives_its_own_incarnation_and_nothing_without() -> None:
    assert part_of(SHARED, RECORDS, Holder("a", 3), 1.0) == pytest.approx(0.4)
    assert part_of(SHARED, RECORDS, Holder("a", 4), 1.0) == 0.0
    assert part_of(SHARED, RECORDS, Holder("b", 3), 1.0) == 0.0


def test_a_map_that_has_lost_its_shares_raises_nobody() -> None:
    assert part_of(MAP, RECORDS, Holder("a", 3), 1.0) == pytest.approx(0.5)
    assert part_of(MAP, RECORDS, Holder("a", 3), 0.25) == pytest.approx(0.25)


def test_a_member_holds_what_it_had_until_it_says_that_it_follows() -> None:
    share = Share(400_000, 700_000, 5, 3)
    assert held_parts(share, member("a", seen_map=4)) == 700_000
    assert held_parts(share, member("a", seen_map=5)) == 400_000
    assert held_parts(share, None) == 700_000


@pytest.mark.parametrize(("needed", "told"), [(None, None), (0.25, 250_000), (7.0, PARTS), (0.0, 0)])
def test_what_is_told_of_a_demand(needed: float | None, told: int | None) -> None:
    class Limiter:
        def share(self, part: float) -> None: ...

        def demand(self) -> float | None:
            return needed

    assert demand_of(Limiter()) == told


# -- how shares change hands ------------------------------------------------------------------------------------------


def member(name: str, demand: int | None = 0, **changes: object) -> MemberRecord:
    record = MemberRecord(name, Incarnation("s", 1), epoch=3, lease_seconds=LEASE, seen_map=5, demand=demand)
    return replace(record, **changes)  # type: ignore[arg-type]


@dataclass
class Office:
    """A coordinator that writes what it decides, and members that follow when the test says so."""

    map: ShardMap = field(default_factory=lambda: replace(MAP, targets=("",) * 4))
    members: dict[str, MemberRecord] = field(default_factory=dict)
    memory: BudgetMemory = field(default_factory=BudgetMemory)
    now: float = 0.0

    def look(self) -> bool:
        """Whether a map was written."""
        shares = next_shares(self.map, [], self.members, self.memory, lease_seconds=LEASE, now=self.now)
        if shares == self.map.shares:
            return False
        self.map = replace(self.map, version=self.map.version + 1, shares=shares)
        return True

    def follow(self, *names: str) -> None:
        for name in names or self.members:
            self.members[name] = replace(self.members[name], seen_map=self.map.version)

    def need(self, **needs: int) -> None:
        for name, demand in needs.items():
            self.members[name] = replace(self.members.get(name) or member(name), demand=demand)

    def parts(self) -> dict[str, int]:
        return {name: share.parts for name, share in self.map.shares.items()}


def test_members_that_begin_together_have_equal_parts_at_once() -> None:
    office = Office()
    office.need(a=0, b=0)
    assert office.look()
    assert office.parts() == {"a": PARTS // 2, "b": PARTS // 2}
    office.follow()
    assert not office.look()


def test_where_nobody_knows_of_a_budget_nothing_is_written() -> None:
    office = Office(members={"a": member("a", demand=None)})
    assert not office.look()


def test_a_newcomer_waits_until_the_others_have_given_up_its_part() -> None:
    office = Office()
    office.need(a=PARTS)
    office.look()
    office.follow()
    office.need(b=PARTS)
    assert office.look()
    assert office.parts() == {"a": PARTS // 2}
    assert not office.look()
    office.follow("a")
    assert office.look()
    assert office.parts() == {"a": PARTS // 2, "b": PARTS // 2}


def test_what_an_idle_member_leaves_goes_to_a_busy_one_in_two_steps() -> None:
    office = Office()
    office.need(a=0, b=0)
    office.look()
    office.follow()
    office.need(a=900_000, b=10_000)
    office.now += REVIEW_SECONDS
    assert office.look()
    lowered = office.parts()
    assert lowered["a"] == PARTS // 2
    assert lowered["b"] == PARTS // 2 // FLOOR
    assert not office.look()
    office.follow("b")
    assert office.look()
    assert office.parts()["a"] >= PARTS - lowered["b"] - 4


def test_needs_that_are_met_cost_no_map_write() -> None:
    office = Office()
    office.need(a=0, b=0)
    office.look()
    office.follow()
    for i in range(200):
        office.now += 2.0
        office.need(a=(i * 7919) % 480_000, b=(i * 104_729) % 480_000)
        assert not office.look()


def test_needs_are_looked_at_now_and_then_only() -> None:
    office = Office()
    writes = 0
    office.need(a=0, b=0)
    for i in range(600):
        office.now += 1.0
        office.need(a=PARTS if i % 4 < 2 else 0, b=0 if i % 4 < 2 else PARTS)
        writes += office.look()
        office.follow()
    assert writes <= 1 + 2 * 600 / REVIEW_SECONDS


def test_a_member_that_was_fenced_or_left_gives_its_part_back() -> None:
    office = Office()
    office.need(a=PARTS, b=PARTS)
    office.look()
    office.follow()
    office.members["b"] = replace(office.members["b"], holder=None, epoch=4)
    while office.look():
        office.follow()
    assert office.parts() == {"a": PARTS}


def test_a_record_that_is_older_than_the_share_takes_nothing_away() -> None:
    """A new coordinator's view may be behind: it shows a fence after which the member has begun anew."""
    office = Office()
    office.need(a=PARTS, b=PARTS)
    office.members["b"] = replace(office.members["b"], epoch=5)
    office.look()
    office.follow()
    office.members["b"] = replace(office.members["b"], holder=None, epoch=4)
    assert not office.look()
    office.members["b"] = replace(office.members["b"], holder=Incarnation("s", 1), epoch=3)
    assert not office.look()
    assert office.map.shares["b"].epoch == 5


def test_one_without_a_record_keeps_its_part_until_its_lease_is_over() -> None:
    office = Office()
    office.need(a=PARTS, b=PARTS)
    office.look()
    office.follow()
    del office.members["b"]
    office.now += 1.0
    office.look()
    assert "b" in office.parts()
    office.now += 2 * LEASE + 1.0
    while office.look():
        office.follow()
    assert office.parts() == {"a": PARTS}


def test_one_that_began_anew_uses_nothing_until_it_is_told_and_then_what_it_had() -> None:
    office = Office()
    office.need(a=0, b=0)
    office.look()
    office.follow()
    office.members["b"] = replace(office.members["b"], epoch=4, seen_map=0)
    assert part_of(office.map, [], Holder("b", 4), 1.0) == 0.0
    assert office.look()
    assert part_of(office.map, [], Holder("b", 4), 1.0) == pytest.approx(0.5)


def test_a_fleet_that_ran_without_shares_is_told_before_anybody_new_gets_any() -> None:
    """Each of its workers may have had all of it, by the map that it followed."""
    office = Office(map=MAP)
    office.need(a=PARTS, b=PARTS, c=PARTS)
    assert office.look()
    assert office.parts().keys() == {"a", "b"}
    assert not office.look()
    office.follow("a")
    assert not office.look()
    office.follow("b")
    assert office.look()
    assert sum(office.parts().values()) >= PARTS - PARTS // CRUMBS


# -- whatever happens, in whatever order ------------------------------------------------------------------------------

Step = tuple[str, str, int]


def steps(seed: int, count: int = 400) -> Iterator[Step]:
    rng = random.Random(seed)
    kinds = ["need"] * 4 + ["follow"] * 4 + ["report"] * 4 + ["look"] * 6 + ["show"] * 4
    kinds += ["restart", "fence", "office"]
    for _ in range(count):
        amount = rng.choice((0, PARTS // 10, PARTS // 2, PARTS))
        kind = rng.choice(kinds)
        yield kind, rng.choice("abcd"), rng.randrange(15) if kind == "look" else amount


class World:
    """Members each follow a map of their own choice, never an older one. The coordinator sees records that may be old,
    and is replaced by one that remembers nothing, and may see older ones. Nothing is older than a lease."""

    def __init__(self, mistake: str = "") -> None:
        self.office = Office()
        self.maps: list[ShardMap] = [self.office.map]
        self.follows: dict[str, int] = {}
        """By acting member: index of the map that it follows."""
        self.epochs: dict[str, int] = {}
        self.parts: dict[str, float] = {}
        self.last_epochs: dict[str, int] = {}
        self.mistake = mistake
        self.records: dict[str, MemberRecord] = {}
        self.history: list[tuple[float, dict[str, MemberRecord]]] = [(0.0, {})]
        self.shown = 0

    def join(self, name: str) -> None:
        """Under a higher epoch, with a view that may be old."""
        epoch = self.last_epochs.get(name, 2) + (self.mistake != "same epoch" or name not in self.last_epochs)
        self.epochs[name] = self.last_epochs[name] = epoch
        self.follows.setdefault(name, len(self.maps) - 1)
        self.parts[name] = 1.0
        known = self.records.get(name)
        demand = known.demand if known is not None else 0
        self.records[name] = member(name, demand, epoch=epoch, seen_map=0)

    def step(self, what: str, name: str, amount: int) -> None:
        office = self.office
        self.history.append((office.now, dict(self.records)))
        if what == "look":
            office.now += amount
            self.history.append((office.now, dict(self.records)))
            while self.history[self.shown][0] < office.now - LEASE:
                self.shown += 1
            office.members = dict(self.history[self.shown][1])
            if self.mistake == "told before":
                office.follow()
            if office.look():
                self.maps.append(office.map)
        elif what == "show":
            self.shown = len(self.history) - 1
        elif what == "office":
            office.memory = BudgetMemory()
            self.shown = max(0, self.shown - 5) if self.mistake != "same epoch" else self.shown
        elif what == "need" and name not in self.epochs:
            self.join(name)
        elif name not in self.epochs:
            return
        elif what == "need":
            self.records[name] = replace(self.records[name], demand=amount)
        elif what == "follow":
            self.follows[name] = min(self.follows[name] + 1, len(self.maps) - 1)
        elif what == "report":
            followed = self.maps[self.follows[name]].version
            self.records[name] = replace(self.records[name], seen_map=followed)
        elif what == "restart":
            self.join(name)
        else:
            self.last_epochs[name] += self.mistake != "same epoch"
            self.records[name] = replace(self.records[name], holder=None, epoch=self.last_epochs[name])
            del self.epochs[name]

    def in_use(self) -> float:
        """What all that act may send together. Without a map that has shares nobody has anything to send."""
        used = 0.0
        for name, epoch in self.epochs.items():
            shown = self.maps[self.follows[name]]
            if shown.shares:
                self.parts[name] = part_of(shown, [], Holder(name, epoch), self.parts[name])
                used += self.parts[name]
        return used


@pytest.mark.parametrize("seed", range(60))
def test_together_they_never_have_more_than_the_budget(seed: int) -> None:
    world = World()
    for step in steps(seed):
        world.step(*step)
        assert world.in_use() <= 1.0 + 1e-9


@pytest.mark.parametrize("mistake", ["told before", "same epoch"])
def test_a_walk_finds_a_mistake(mistake: str) -> None:
    """As if whoever is told to have less knew at once; as if the share of an incarnation were also its successor's."""
    most = 0.0
    for seed in range(20):
        world = World(mistake)
        for step in steps(seed):
            world.step(*step)
            most = max(most, world.in_use())
    assert most > 1.2


@pytest.mark.parametrize("seed", range(20))
def test_once_they_follow_everybody_has_its_floor_and_nothing_is_left_over(seed: int) -> None:
    world = World()
    for step in steps(seed):
        world.step(*step)
    world.step("need", "a", PARTS)
    for _ in range(12):
        world.step("show", "", 0)
        world.step("look", "", int(REVIEW_SECONDS) + 1)
        for name in world.epochs:
            world.follows[name] = len(world.maps) - 1
            world.step("report", name, 0)
    shares = world.office.map.shares
    assert shares.keys() == world.epochs.keys()
    floor = PARTS // (FLOOR * len(shares))
    assert all(share.parts >= floor - PARTS // CRUMBS for share in shares.values())
    assert sum(share.parts for share in shares.values()) >= PARTS - 2 * PARTS // CRUMBS
