from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from fleet.records.record import Holder, MemberRecord, ShardMap, ShardRecord, ShardStatus, Standby
from fleet.rules.agenda import LONGEST_DEBOUNCE, LONGEST_REQUEST_SECONDS, Absence, Agenda, Look, Memory, draw_up
from fleet.rules.plan_settings import PlanSettings
from shards.keyrange import WHOLE, KeyRange, equal_boundaries, ranges_from
from tests.unit.fleet.records.records import member, shard, shard_map

LOW, HIGH = ranges_from(equal_boundaries(2))
LEASE = 8.0
PATIENT = PlanSettings(churn_per_round=1.0, cooldown_seconds=30.0, debounce_seconds=1.0, standby_deadline_seconds=60.0)


def held(each: KeyRange, holder: str = "a@3", **changes: object) -> ShardRecord:
    return shard(each, **({"holder": Holder.parse(holder), "holder_text": holder} | changes))


def free(each: KeyRange, status: ShardStatus = ShardStatus.ACTIVE, **changes: object) -> ShardRecord:
    return shard(each, **({"status": status, "holder": None, "holder_text": "", "released": 5} | changes))


@dataclass
class Office:
    """A coordinator's memory, and the fleet that it looks at: members a and b at epoch 3, each with one range."""

    settings: PlanSettings = PATIENT
    memory: Memory = field(default_factory=Memory)
    shown: ShardMap = field(
        default_factory=lambda: shard_map(
            "web",
            targets=("a", "b"),
            opened=frozenset({LOW, HIGH}),
            floors={"a": 3, "b": 3},
            shard_epochs={LOW: 5, HIGH: 5},
        )
    )
    shards: dict[KeyRange, ShardRecord] = field(default_factory=lambda: {LOW: held(LOW), HIGH: held(HIGH, "b@3")})
    members: dict[str, MemberRecord] = field(default_factory=lambda: {"a": member("a"), "b": member("b")})
    moves: int = 0

    def look(self, at: float, **changes: object) -> Agenda:
        """Everybody renews before, but for those whose records the test changes afterwards."""
        self.shown = replace(self.shown, **changes)  # type: ignore[arg-type]  # any field may change
        seen = Look(self.shown.coordinator_epoch, self.shown, dict(self.shards), dict(self.members), at, LEASE)
        return draw_up(seen, self.memory, self.settings, at)

    def renew(self, *names: str) -> None:
        for name in names:
            self.moves += 1
            self.members[name] = replace(self.members[name], version=f"v{self.moves}")

    def put(self, record: ShardRecord) -> None:
        self.shards[record.range] = record

    def settle(self) -> None:
        """The membership is known for longer than the debounce."""
        self.look(-20.0)
        self.renew(*self.members)
        self.look(0.0)


def test_a_fleet_at_rest_has_an_empty_agenda() -> None:
    office = Office()
    office.settle()
    agenda = office.look(1.0)
    assert (agenda.map, agenda.moves, agenda.fence, agenda.expel, agenda.missing, agenda.collect) == (
        None,
        (),
        (),
        (),
        (),
        (),
    )


def test_one_map_write_carries_targets_floors_losses_and_openings_together() -> None:
    office = Office(shown=shard_map("web", targets=("", ""), opened=frozenset({HIGH})))
    office.shards = {}
    office.settle()
    agenda = office.look(1.0)
    assert agenda.map is not None
    assert agenda.map.version == office.shown.version + 1
    assert agenda.map.targets == ("a", "b")
    assert agenda.map.opened == {LOW, HIGH}
    assert agenda.map.lost == {HIGH: office.shown.version + 1}
    assert agenda.map.floors == {"a": 3, "b": 3}
    assert agenda.upkeep.activate == (LOW,)


def test_a_fleet_is_at_rest_when_there_is_nothing_to_do_and_nobody_waits() -> None:
    office = Office()
    office.settle()
    assert office.look(1.0).rest
    office.put(held(LOW, "c@9"))
    assert not office.look(1.1).rest, "a holder's absence is to be proved"
    office.put(held(LOW, "b@3"))
    assert not office.look(1.2).rest, "a range is on its way"
    office.put(held(LOW))
    assert office.look(1.3).rest
    office.members["c"] = member("c", version="new")
    assert not office.look(1.4).rest, "the membership has changed a moment ago"
    del office.members["c"]
    assert not office.look(1.5).rest, "and again"
    office.renew("a", "b")
    assert office.look(9.0).rest
    office.renew("a")
    assert not office.look(9.1 + LEASE).rest, "somebody is silent"


def test_a_fleet_with_a_lost_range_is_not_at_rest_since_it_may_come_back_when_a_time_has_passed() -> None:
    office = Office()
    office.members |= {"c": member("c")}
    office.settle()
    office.look(LEASE)
    office.renew("a", "b")
    del office.members["c"], office.shards[LOW]
    office.look(LEASE + 0.5)
    office.renew("a", "b")
    for name in ("a", "b"):
        office.members[name] = replace(office.members[name], seen_map=office.shown.version)
    office.shown = replace(office.shown, lost={LOW: office.shown.version}, floors={"a": 3, "b": 3})

    waiting = office.look(LEASE + 3.0)
    assert waiting.upkeep.activate == (), "c may act on it, and has no record that could say otherwise"
    assert (waiting.map, waiting.fence, waiting.missing) == (None, (), ())
    assert not waiting.rest


def test_a_fleet_without_a_member_that_may_own_a_range_is_not_at_rest() -> None:
    office = Office()
    office.settle()
    office.members["a"] = replace(office.members["a"], holder=None, epoch=4, version="fenced")
    rests = [office.look(at).rest for at in (0.5, 2.0, 4.0)]
    assert not any(rests)


# -- floors ---------------------------------------------------------------------------------------------------------


def test_a_member_that_joins_again_costs_a_map_write_only_when_records_name_its_earlier_epochs() -> None:
    office = Office()
    office.settle()
    office.members["c"] = member("c", epoch=9)
    assert office.look(0.1).map is None
    office.members["a"] = replace(office.members["a"], epoch=4)
    agenda = office.look(0.2)
    assert agenda.map is not None
    assert agenda.map.floors == {"a": 4, "b": 3, "c": 9}


def test_a_member_without_a_record_is_dead_a_lease_after_a_live_read_has_proved_it() -> None:
    office = Office()
    office.settle()
    del office.members["b"]
    assert office.look(1.0).missing == (Holder("b", 3),)
    assert office.look(50.0).missing == (Holder("b", 3),)
    office.memory.absent["b"] = Absence(3, 50.0)
    office.renew("a")
    assert office.look(50.0 + LEASE).missing == ()
    assert office.shown.floors["b"] == 3
    agenda = office.look(50.1 + LEASE)
    assert agenda.map is not None
    assert agenda.map.floors["b"] == 4


def test_a_later_epoch_needs_a_proof_of_its_own() -> None:
    office = Office()
    office.settle()
    del office.members["b"]
    office.memory.absent["b"] = Absence(3, 0.0)
    office.put(held(HIGH, "b@7"))
    agenda = office.look(100.0)
    assert agenda.missing == (Holder("b", 7),)
    assert agenda.map is None or agenda.map.floors["b"] == 3


def test_a_member_whose_record_is_back_was_not_dead() -> None:
    office = Office()
    office.settle()
    found = office.members.pop("b")
    office.look(1.0)
    office.memory.absent["b"] = Absence(3, 1.0)
    office.members["b"] = found
    office.look(2.0)
    assert office.memory.absent == {}


# -- fences and targets ---------------------------------------------------------------------------------------------


def test_a_silent_member_is_fenced_keeps_its_ranges_until_then_and_loses_them_after() -> None:
    office = Office()
    office.settle()
    office.renew("a")
    office.look(5.0)
    agenda = office.look(8.1)
    assert agenda.fence == ("b",)
    assert agenda.map is None
    office.members["b"] = replace(office.members["b"], holder=None, epoch=4, version="fenced")
    agenda = office.look(9.5)
    assert agenda.map is not None
    assert agenda.map.targets == ("a", "a")
    assert agenda.map.floors["b"] == 4


def test_the_ranges_of_a_fenced_member_wait_for_its_return_within_the_restart_grace() -> None:
    office = Office(settings=replace(PATIENT, restart_grace_seconds=5.0))
    office.settle()
    office.renew("a")
    office.members["b"] = replace(office.members["b"], holder=None, epoch=4, version="fenced")
    office.look(10.0)
    assert office.look(14.9).moves == ()
    assert [move.range for move in office.look(15.1).moves] == [HIGH]


def test_a_membership_is_planned_on_when_it_has_come_to_rest() -> None:
    office = Office()
    office.settle()
    office.members["b"] = replace(office.members["b"], leaving=True)
    assert office.look(1.0).moves == ()
    assert office.look(1.9).moves == ()
    assert [move.target for move in office.look(2.0).moves] == ["a"]


def test_a_membership_that_never_comes_to_rest_is_planned_on_all_the_same() -> None:
    office = Office()
    office.settle()
    office.members["b"] = replace(office.members["b"], leaving=True)
    for step in range(10 * LONGEST_DEBOUNCE):
        at = 1.0 + step / 10
        office.members["c"] = member("c", leaving=step % 2 == 0, version=f"c{step}")
        assert office.look(at).moves == ()
    assert [move.range for move in office.look(1.1 + LONGEST_DEBOUNCE).moves] == [HIGH]


def test_a_voluntary_move_starts_the_cool_down() -> None:
    office = Office(settings=replace(PATIENT, churn_per_round=0.01))
    ranges = ranges_from(equal_boundaries(4))
    office.shown = shard_map(
        "web", boundaries=equal_boundaries(4), targets=("a",) * 4, opened=frozenset(ranges), floors={"a": 3, "b": 3}
    )
    office.shards = {each: held(each) for each in ranges}
    office.settle()
    office.memory.moved_at = -100.0
    first = office.look(1.0)
    assert len(first.moves) == 1
    assert first.map is not None
    assert office.look(2.0, targets=first.map.targets).moves == ()
    office.renew("a", "b")
    assert office.look(30.9).moves == ()
    assert office.look(31.0).moves == (), "the range is still on its way"
    office.put(held(first.moves[0].range, "b@3"))
    assert len(office.look(31.1).moves) == 1


# -- handovers that do not get on -----------------------------------------------------------------------------------


def moved(office: Office) -> None:
    """LOW shall go from a to b."""
    office.settings = replace(PATIENT, cooldown_seconds=1e9)
    office.settle()
    office.look(0.0, targets=("b", "b"))


def test_a_target_that_does_not_become_ready_loses_the_range_to_its_holder_and_does_not_get_it_again() -> None:
    office = Office()
    moved(office)
    office.renew("a", "b")
    assert office.look(59.0).moves == ()
    office.renew("a", "b")
    agenda = office.look(60.1)
    assert [(move.range, move.source, move.target) for move in agenda.moves] == [(LOW, "b", "a")]
    assert agenda.map is not None
    assert agenda.map.targets == ("a", "b")
    assert office.memory.barred == {LOW: {"b": 660.1}}
    office.renew("a", "b")
    office.look(661.0, targets=("a", "b"))
    assert office.memory.barred == {}


def test_the_deadline_of_a_standby_begins_anew_with_another_owner() -> None:
    office = Office()
    moved(office)
    office.renew("a", "b")
    office.put(held(LOW, epoch=9))
    assert office.look(59.0).moves == ()
    office.renew("a", "b")
    assert office.look(61.0).moves == ()


def test_a_holder_that_is_leaving_does_not_get_its_range_back() -> None:
    office = Office()
    moved(office)
    office.members["a"] = replace(office.members["a"], leaving=True)
    office.renew("a", "b")
    assert office.look(61.0).moves == ()


def test_a_member_that_keeps_what_a_ready_standby_waits_for_is_expelled_once() -> None:
    office = Office()
    moved(office)
    office.put(held(LOW, standby=Standby(Holder("b", 3), 5)))
    office.renew("a", "b")
    office.look(100.0)
    office.renew("a", "b")
    assert office.look(119.0).expel == ()
    agenda = office.look(120.1)
    assert agenda.expel == (Holder("a", 3),)
    office.memory.expelled["a"] = 3
    office.renew("a", "b")
    assert office.look(121.0).expel == ()
    office.memory.expelled.clear()
    office.members["a"] = replace(office.members["a"], epoch=4)
    assert office.look(121.5).expel == (), "its next incarnation holds nothing"


def test_a_member_that_keeps_a_range_that_retires_is_expelled() -> None:
    office = Office()
    office.settle()
    office.put(held(WHOLE))
    office.look(0.0, retiring=frozenset({WHOLE}))
    office.renew("a", "b")
    assert office.look(119.0, retiring=frozenset({WHOLE})).expel == ()
    assert office.look(120.1, retiring=frozenset({WHOLE})).expel == (Holder("a", 3),)
    office.put(free(WHOLE, ShardStatus.RETIRED))
    office.memory.expelled.clear()
    assert office.look(120.2, retiring=frozenset({WHOLE})).expel == ()


def test_a_member_that_does_not_repeat_a_loss_is_expelled() -> None:
    office = Office()
    office.settle()
    del office.shards[HIGH]
    office.members["a"] = replace(office.members["a"], seen_map=7)
    office.look(0.0, version=8, lost={HIGH: 8})
    office.members["b"] = replace(office.members["b"], seen_map=8)
    office.renew("a", "b")
    assert office.look(119.0).expel == ()
    assert office.look(120.1).expel == (Holder("a", 3),)
    office.members["a"] = replace(office.members["a"], epoch=4)
    assert office.look(120.2).expel == ()


# -- garbage --------------------------------------------------------------------------------------------------------

PATIENCE = LEASE + LONGEST_REQUEST_SECONDS


def test_a_retired_record_is_collected_when_this_office_has_seen_it_retired_for_long_enough() -> None:
    office = Office()
    office.put(free(WHOLE, ShardStatus.RETIRED, version="r"))
    office.settle()
    office.look(1.0, shard_epochs={LOW: 5, HIGH: 5, WHOLE: 5})
    assert office.look(PATIENCE - 20.0).collect == ()
    assert office.look(PATIENCE + 0.1).collect == (office.shards[WHOLE],)
    office.put(free(WHOLE, ShardStatus.RETIRED, version="s"))
    assert office.look(PATIENCE + 0.2).collect == ()


def test_the_map_remembers_the_epoch_of_a_record_before_it_is_collected() -> None:
    office = Office()
    office.put(free(WHOLE, ShardStatus.RETIRED, epoch=9))
    office.settle()
    agenda = office.look(PATIENCE + 0.1)
    assert agenda.collect == ()
    assert agenda.map is not None
    assert agenda.map.shard_epochs == {LOW: 5, HIGH: 5, WHOLE: 9}


@pytest.mark.parametrize("changes", [{"retiring": frozenset({WHOLE})}, {"boundaries": (0,), "targets": ("a",)}])
def test_a_range_of_the_layout_or_one_that_retires_is_never_collected(changes: dict[str, object]) -> None:
    office = Office()
    office.put(free(WHOLE, ShardStatus.RETIRED))
    office.settle()
    office.look(0.0, shard_epochs={WHOLE: 5}, **changes)
    assert office.look(10 * PATIENCE).collect == ()


def test_a_target_that_does_not_claim_a_free_range_in_time_loses_it() -> None:
    office = Office()
    office.put(free(LOW))
    office.settle()
    office.renew("a", "b")
    assert office.look(10.0).map is None
    office.renew("a", "b")
    agenda = office.look(10.0 + PATIENT.standby_deadline_seconds + 0.1)
    assert agenda.map is not None
    assert agenda.map.targets[0] == "b"
    assert LOW in office.memory.barred


def test_the_time_in_which_a_range_has_to_be_claimed_begins_when_it_is_free() -> None:
    """Its owner let go at the last moment at which the standby was in time."""
    office = Office()
    moved(office)
    office.renew("a", "b")
    assert office.look(59.0).moves == ()
    office.put(free(LOW))
    for at in (60.1, 118.0, 120.0):
        office.renew("a", "b")
        assert office.look(at).moves == ()
    office.renew("a", "b")
    assert office.look(120.2).moves[0].source == "b"


def test_nobody_loses_a_range_that_no_other_could_take() -> None:
    office = Office()
    del office.members["b"]
    office.put(free(LOW))
    office.settle()
    office.renew("a")
    office.look(10.0)
    office.renew("a")
    office.look(10.0 + PATIENT.standby_deadline_seconds + 0.1)
    assert office.memory.barred == {}
