from __future__ import annotations

import pytest

from chaos.actions.people import add_objects, change_objects, remove_objects, wait, wait_until_settled
from chaos.actions.processes import kill_worker
from chaos.targets.target import TargetFailed
from tests.unit.chaos.targets.paper import PaperTarget


def test_the_wait_ends_once_everything_is_owned_and_settled() -> None:
    answer = wait_until_settled(timeout_seconds=10, target=PaperTarget(busy_seconds=1.0))
    assert (answer["owned_share"], answer["unsettled"]) == (1.0, 0)
    assert answer["seconds"] == pytest.approx(1.0, abs=0.11)


def test_the_wait_goes_on_while_keys_of_the_dead_have_no_owner() -> None:
    target = PaperTarget()
    kill_worker(target=target)
    answer = wait_until_settled(timeout_seconds=3, target=target)
    assert (answer["owned_share"], answer["unsettled"]) == (0.5, 0)
    assert answer["seconds"] == pytest.approx(3.0, abs=0.11)


def test_nobody_changes_anything_while_it_settles() -> None:
    target = PaperTarget()
    wait_until_settled(timeout_seconds=1, target=target)
    assert target.people.per_second == 0.0
    change_objects(25.0, target)
    assert target.people.per_second == 25.0


def test_objects_are_added_and_time_passes() -> None:
    target = PaperTarget()
    add_objects(3, target)
    wait(2.5, target)
    assert (target.people.added, target.time) == (3, 102.5)


def test_objects_go_and_too_few_are_told() -> None:
    target = PaperTarget()
    add_objects(5, target)
    assert remove_objects(3, target) == {"removed": 3}
    with pytest.raises(TargetFailed, match="there were 2 objects to remove, which is less than 3"):
        remove_objects(3, target)
