from __future__ import annotations

from chaos.probes.objects import changes, unsettled_objects
from chaos.probes.promises import broken_invariants, double_acts, fleet_writes, unattributed_writes
from fleet.devcluster.evidence.verdict import BROKEN, HELD, Finding, Judgement, Verdict
from tests.unit.chaos.targets.paper import PaperTarget


def test_a_broken_promise_is_told_of_with_what_was_found_first() -> None:
    target = PaperTarget()
    assert broken_invariants(target) == "none"
    late, later = Finding("I3", 7, 1.0, "a page was written"), Finding("I3", 9, 2.0, "another page was written")
    target.evidence.found = Verdict(
        invariants=[
            Judgement("I2", "epochs grow", HELD, 5),
            Judgement("I3", "no stale view", BROKEN, 5, findings=[late, later]),
            Judgement("I9", "no change is lost", BROKEN, 2),
        ]
    )
    assert broken_invariants(target) == "I3 a page was written; I9 "
    assert broken_invariants(target, without=["I9", "I3"]) == "none"


def test_double_acts_are_everything_that_two_did_or_one_did_twice() -> None:
    target = PaperTarget()
    target.evidence.found = Verdict(
        fleet_writes=100,
        overlap_violations=1,
        writes_after_release=2,
        unattributed_writes=4,
        duplicate_child_posts=8,
        duplicate_status_writes=16,
    )
    assert (double_acts(target), unattributed_writes(target), fleet_writes(target)) == (27, 4, 100)


def test_objects_are_those_of_the_people() -> None:
    target = PaperTarget(busy_seconds=1)
    assert (unsettled_objects(target), changes(target)) == (5, 3)
