"""What rides on a member's record of how its controllers fare with and without a feature."""

from __future__ import annotations

from typing import Any, cast

from fleet.records.report_record import PartRecord
from fleet.workers.part_records import LONGEST_WORDS, part_records, rollout_record
from fleet.workers.range_runner import RangeRunner
from shards.features import Canary, Feature, Rollout
from shards.reconciling.figures import Figures

GATE = Feature.VERSION_GATE


class Runner:
    def __init__(self, *figures: Figures) -> None:
        self._figures = figures

    def figures(self) -> list[Figures]:
        return list(self._figures)


def figures(controller: str = "a", on: tuple[str, ...] = ("VersionGate",), **changes: Any) -> Figures:
    plain: dict[str, Any] = dict.fromkeys(("keys", "parked", "failing", "reconciles", "requests", "live_reads"), 1) | {
        "seconds": 300.0,
        "longest_wait_seconds": 0.123456,
        "longest_parked_seconds": 0.0,
        "paused": 0,
    }
    return Figures(controller=controller, on=on, **(plain | changes))


def records(*runners: Runner) -> tuple[PartRecord, ...]:
    return part_records(cast(list[RangeRunner], list(runners)))


def test_shards_with_the_same_features_add_up() -> None:
    [found] = records(
        Runner(figures(seconds=20.9, keys=5, paused=2)), Runner(figures(paused=1, longest_wait_seconds=7.0)), Runner()
    )
    assert (found.shards, found.seconds, found.keys, found.requests) == (2, 20, 6, 2)
    assert (found.longest_wait, found.paused) == (7.0, 3)


def test_there_is_one_record_for_each_controller_and_set_of_features() -> None:
    found = records(Runner(figures("a"), figures("b")), Runner(figures("a", ()), figures("b")))
    assert [(each.controller, each.on, each.shards) for each in found] == [
        ("a", "", 1),
        ("a", "VersionGate", 1),
        ("b", "VersionGate", 2),
    ]


def test_members_that_follow_the_same_say_the_same() -> None:
    one = Canary(frozenset({GATE}), frozenset({"a", "b"}), 0.25, {"x": "1", "y": "2"})
    other = Canary(frozenset({GATE}), frozenset({"b", "a"}), 0.25, {"y": "2", "x": "1"})
    assert rollout_record(Rollout(canary=one)).digest == rollout_record(Rollout(canary=other)).digest
    assert rollout_record(Rollout(canary=one)).digest != rollout_record(Rollout()).digest
    assert rollout_record(Rollout(frozenset(), one)).digest != rollout_record(Rollout(canary=one)).digest


def test_the_canary_is_told_in_words() -> None:
    canary = Canary(frozenset({GATE}), frozenset({"a"}), 0.25, {"track": "canary"})
    found = rollout_record(Rollout(frozenset({Feature.SERVER_SIDE_SHARDING}), canary))
    assert (found.confined, found.off) == (("VersionGate",), ("VersionGate", "SlotLabels"))
    assert found.part == "0.25 of the shards; controllers a; workers with track=canary"
    assert rollout_record(Rollout(canary=Canary(frozenset({GATE})))).part == "everything"
    assert rollout_record(Rollout()).part == ""
    many = Canary(frozenset({GATE}), frozenset(f"controller-{number}" for number in range(100)))
    assert len(rollout_record(Rollout(canary=many)).part) == LONGEST_WORDS
