from __future__ import annotations

import pytest

from chaos.actions.processes import kill_coordinator, kill_pod, kill_worker, pause_worker, resume_workers
from chaos.targets.target import TargetFailed
from tests.unit.chaos.targets.paper import LOW, PaperTarget, span, verdict


def test_the_worker_that_owns_most_ranges_is_killed() -> None:
    target = PaperTarget(busy_seconds=9)
    assert kill_worker(target=target) == {"worker": "a-0", "pid": 4711, "ranges": 2, "unsettled": 5}
    assert [end.member for end in target.pods.ends] == ["a-0"]


def test_a_worker_can_be_named() -> None:
    assert kill_worker("b-0", PaperTarget())["worker"] == "b-0"


@pytest.mark.parametrize(("worker", "why"), [("b-0", "b-0 owns no range"), ("c-0", "there is no worker 'c-0'")])
def test_a_worker_whose_death_would_prove_nothing_is_not_killed(worker: str, why: str) -> None:
    target = PaperTarget()
    target.evidence.found = verdict(span(LOW, "a-0@1", 1.0))
    with pytest.raises(TargetFailed, match=why):
        kill_worker(worker, target)
    assert not target.pods.ends


def test_who_was_paused_goes_on() -> None:
    target = PaperTarget()
    assert pause_worker(target=target) == {"worker": "a-0", "ranges": 2}
    assert target.pods.paused == [("a", "worker-0")]
    resume_workers(target)
    assert not target.pods.paused


def test_the_pod_of_the_busiest_worker_is_the_one_that_loses_its_power() -> None:
    target = PaperTarget()
    assert kill_pod(target=target) == {"pod": "a"}
    assert target.pods.names() == ["b"]


def test_of_the_coordinators_pod_only_the_agent_is_killed() -> None:
    target = PaperTarget()
    assert kill_coordinator(target) == {"pod": "a", "pid": 4711}
    assert (target.pods.ended[0].child, target.pods.names()) == ("agent", ["a", "b"])
