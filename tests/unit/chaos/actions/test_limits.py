from __future__ import annotations

from chaos.actions.limits import exhaust_files, lift_limits, limit_memory
from tests.unit.chaos.targets.own_paper import OwnTarget


def test_a_worker_without_descriptors_loses_the_connections_that_it_has() -> None:
    target = OwnTarget()
    assert exhaust_files(target=target)["worker"] == "a-0"
    assert target.pods.done == [("files", "a", "worker-0", 3)]
    (fault,) = target.server.faults.values()
    assert (fault["fault"], fault["match"]) == ("cut", {"member": "a-0"})


def test_memory_is_limited_to_what_is_there_and_some_more() -> None:
    target = OwnTarget()
    assert limit_memory(8, "b-0", target)["limit_mib"] == 508
    lift_limits(target)
    assert target.pods.done == [("memory", "b", "worker-0", 8), ("lifted",)]
