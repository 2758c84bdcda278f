from __future__ import annotations

import pytest

from chaos.actions.clocks import restart_with_clock, step_clock
from chaos.targets.target import TargetFailed
from tests.unit.chaos.targets.own_paper import OwnTarget
from tests.unit.chaos.targets.paper import PaperTarget


def test_a_pod_comes_back_with_a_clock_of_its_own() -> None:
    target = OwnTarget()
    assert restart_with_clock("a", 2.0, target)["rate"] == 2.0
    assert (target.pods.names(), target.pods.done) == (["a", "b"], [("clock", "a", 2.0)])


def test_the_clock_of_the_coordinator_can_be_set_whoever_it_is() -> None:
    target = OwnTarget()
    target.pods.in_office = "b"
    assert step_clock("coordinator", boot_seconds=6, wall_seconds=-3600, target=target)["pod"] == "b"
    assert target.pods.done == [("step", "b", 6, -3600)]


def test_clocks_of_pods_that_are_not_ours_are_out_of_reach() -> None:
    with pytest.raises(TargetFailed, match="the pods of the target paper are not processes of ours"):
        restart_with_clock("a", target=PaperTarget())


def test_the_clock_of_a_pod_that_owns_nothing_is_left_alone() -> None:
    target = OwnTarget()
    target.pods.start("c")
    with pytest.raises(TargetFailed, match="no worker of the pod c owns a range"):
        step_clock("c", boot_seconds=6.0, target=target)
    assert not target.pods.done
