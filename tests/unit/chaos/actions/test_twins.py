from __future__ import annotations

import pytest

from chaos.actions.twins import kill_first, start_twin, stop_twins
from chaos.targets.target import TargetFailed
from tests.unit.chaos.targets.own_paper import OwnTarget


def test_the_twin_outlives_the_pod_whose_name_it_bears() -> None:
    target = OwnTarget()
    assert start_twin(target=target) == {"pod": "a", "twin": "a-twin"}
    assert kill_first(target) == {"pod": "a"}
    assert target.pods.names() == ["a-twin", "b"]
    assert stop_twins(target) == {"pods": ["a-twin"]}
    assert target.pods.names() == ["b"]


def test_without_a_twin_nobody_is_killed() -> None:
    target = OwnTarget()
    with pytest.raises(TargetFailed, match="no pod has a twin"):
        kill_first(target)
    assert target.pods.names() == ["a", "b"]
