from __future__ import annotations

import pytest

from chaos.actions import add_objects, kill_worker, wait_until_settled
from chaos.targets.target import TargetFailed
from tests.unit.chaos.target import PaperTarget, span, verdict


def test_the_worker_that_owns_most_ranges_is_killed() -> None:
    target = PaperTarget(busy_seconds=9)

    answer = kill_worker(target)

    assert answer == {"child": "worker-0", "pid": 4711, "ranges": 2, "unsettled": 5}
    assert [kill.child for kill in target.kills] == ["worker-0"]


def test_a_worker_can_be_named_by_its_slot() -> None:
    assert kill_worker(PaperTarget(), worker=1)["child"] == "worker-1"


@pytest.mark.parametrize("worker", [1, 7])
def test_a_worker_that_owns_nothing_is_not_killed(worker: int) -> None:
    target = PaperTarget()
    target.found = verdict(span("00", "dev-0@1", 1.0))

    with pytest.raises(TargetFailed, match=f"worker-{worker} owns no range"):
        kill_worker(target, worker=worker)
    assert not target.kills


def test_the_wait_ends_once_everything_is_owned_and_settled() -> None:
    target = PaperTarget(busy_seconds=1.0)

    answer = wait_until_settled(target, timeout_seconds=10)

    assert (answer["unowned"], answer["unsettled"]) == (0, 0)
    assert answer["seconds"] == pytest.approx(1.0, abs=0.11)


def test_the_wait_goes_on_while_ranges_of_the_dead_have_no_owner() -> None:
    target = PaperTarget()
    kill_worker(target)

    answer = wait_until_settled(target, timeout_seconds=3)

    assert (answer["unowned"], answer["unsettled"]) == (2, 0)
    assert answer["seconds"] == pytest.approx(3.0, abs=0.11)


def test_objects_are_added() -> None:
    target = PaperTarget()

    add_objects(target, count=3)

    assert target.added == 3
