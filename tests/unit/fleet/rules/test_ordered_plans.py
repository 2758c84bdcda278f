"""What people ordered binds the coordinator: frozen fleets and drained members."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from fleet.records.controls import Controls, Order
from fleet.records.record import MemberRecord, ShardMap, ShardRecord
from fleet.rules.agenda import Agenda, Look, Memory, draw_up
from fleet.rules.plan_settings import PlanSettings
from shards.keyrange import KeyRange, equal_boundaries, ranges_from
from tests.unit.fleet.records.records import member, shard, shard_map

RANGES = ranges_from(equal_boundaries(4))
SETTINGS = PlanSettings(churn_per_round=1.0, cooldown_seconds=0.0, debounce_seconds=0.0)
FROZEN = Controls().freeze(Order(why="incident"))


@dataclass
class Scene:
    """Members a and b at epoch 3 with two of four ranges each; `look` plans, with everybody renewed before."""

    members: dict[str, MemberRecord] = field(default_factory=lambda: {"a": member("a"), "b": member("b")})
    targets: tuple[str, ...] = ("a", "a", "b", "b")
    memory: Memory = field(default_factory=Memory)
    renewals: int = 0

    def look(self, controls: Controls, at: float = 0.0) -> Agenda:
        self.renewals += 1
        self.members = {name: replace(each, version=f"v{self.renewals}") for name, each in self.members.items()}
        shown: ShardMap = shard_map(
            "web",
            boundaries=equal_boundaries(4),
            targets=self.targets,
            opened=frozenset(RANGES),
            floors=dict.fromkeys(self.members, 3),
            shard_epochs=dict.fromkeys(RANGES, 5),
        )
        shards: dict[KeyRange, ShardRecord] = {each: shard(each, holder=None, released=5) for each in RANGES}
        seen = Look(shown.coordinator_epoch, shown, shards, self.members, at, 8.0, controls)
        return draw_up(seen, self.memory, SETTINGS, at)

    def planned(self, controls: Controls) -> tuple[str, ...]:
        agenda = self.look(controls)
        return agenda.map.targets if agenda.map is not None else self.targets


def test_a_frozen_fleet_moves_nothing_by_choice() -> None:
    scene = Scene(targets=("a", "a", "a", "a"))
    assert scene.planned(FROZEN) == ("a", "a", "a", "a")
    assert sorted(scene.planned(Controls())) == ["a", "a", "b", "b"]


def test_a_frozen_fleet_still_gives_an_owner_to_what_has_none() -> None:
    scene = Scene(targets=("a", "a", "gone", ""))
    assert scene.planned(FROZEN) == ("a", "a", "b", "b")


def test_a_drained_member_hands_over_what_it_has_and_gets_nothing() -> None:
    scene = Scene(targets=("a", "", "b", "b"))
    assert scene.planned(Controls().drain("b", Order())) == ("a", "a", "a", "a")


def test_a_pod_is_drained_with_all_its_members() -> None:
    scene = Scene(targets=("a", "b", "c", "c"))
    for name, pod in (("a", "one"), ("b", "one"), ("c", "two")):
        scene.members[name] = member(name, pod=pod)
    assert scene.planned(Controls().drain("one", Order())) == ("c", "c", "c", "c")


def test_a_drained_member_of_a_frozen_fleet_keeps_what_it_has_and_gets_nothing() -> None:
    scene = Scene(targets=("a", "", "b", "b"))
    assert scene.planned(FROZEN.drain("b", Order())) == ("a", "a", "b", "b")


def test_a_drained_member_is_better_than_no_owner() -> None:
    scene = Scene(targets=("gone", "gone", "b", "b"), members={"b": member("b")})
    assert scene.planned(Controls().drain("b", Order())) == ("b", "b", "b", "b")


def test_a_member_that_is_drained_no_more_gets_its_part_again() -> None:
    scene = Scene(targets=("a", "a", "a", "a"))
    drained = Controls().drain("b", Order())
    assert scene.planned(drained) == ("a", "a", "a", "a")
    assert sorted(scene.planned(drained.undrain("b"))) == ["a", "a", "b", "b"]


def test_a_drained_member_of_a_frozen_fleet_that_is_gone_keeps_nothing() -> None:
    scene = Scene(targets=("a", "a", "b", "b"))
    scene.members["b"] = member("b", holder=None)
    assert scene.planned(FROZEN.drain("b", Order())) == ("a", "a", "a", "a")
