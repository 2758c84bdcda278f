from __future__ import annotations

import pytest

from chaos.actions.limits import exhaust_files, lift_limits, limit_memory
from shards.errors import Unreachable
from tests.unit.chaos.targets.own_paper import OwnTarget


def test_a_worker_without_descriptors_loses_the_connections_that_it_has() -> None:
    target = OwnTarget()
    assert exhaust_files(target=target)["worker"] == "a-0"
    assert target.pods.done == [("files", "a", "worker-0", 3)]
    (fault,) = target.server.faults.values()
    assert (fault["fault"], fault["match"]) == ("cut", {"member": "a-0"})


def test_a_worker_whose_connections_cannot_be_cut_gets_its_descriptors_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a storm would not know that it has something to end."""
    target = OwnTarget()

    def refuse(*faults: object) -> None:
        raise Unreachable("no answer")

    monkeypatch.setattr(target.server, "inject", refuse)
    with pytest.raises(Unreachable):
        exhaust_files(target=target)
    assert target.pods.done == [("files", "a", "worker-0", 3), ("lifted",)]


def test_memory_is_limited_to_what_is_there_and_some_more() -> None:
    target = OwnTarget()
    assert limit_memory(8, "b-0", target)["limit_mib"] == 508
    lift_limits(target)
    assert target.pods.done == [("memory", "b", "worker-0", 8), ("lifted",)]
