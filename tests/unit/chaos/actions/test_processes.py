from __future__ import annotations

from collections.abc import Callable

import pytest

from chaos.actions.pods import lose_pod
from chaos.actions.processes import (
    kill_coordinator,
    kill_pod,
    kill_worker,
    pause_pod,
    pause_worker,
    restart_pod,
    resume_workers,
    roll_pods,
    start_killed_pods,
    stop_busiest_pod,
    wait_for_owners,
)
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


@pytest.mark.parametrize("harm", [kill_pod, pause_pod, lose_pod])
def test_a_pod_whose_loss_would_prove_nothing_is_left_alone(harm: Callable[..., object]) -> None:
    """The coordinator's, say, where all ranges are another pod's."""
    target = PaperTarget()
    target.evidence.found = verdict(span(LOW, "a-0@1", 1.0))
    with pytest.raises(TargetFailed, match="no worker of the pod b owns a range"):
        harm("b", target=target)
    assert (target.pods.names(), target.pods.paused) == (["a", "b"], [])


def test_who_was_paused_goes_on() -> None:
    target = PaperTarget()
    assert pause_worker(target=target) == {"worker": "a-0", "ranges": 2}
    assert target.pods.paused == [("a", "worker-0")]
    resume_workers(target)
    assert not target.pods.paused


def test_the_pod_of_the_busiest_worker_is_the_one_that_loses_its_power() -> None:
    target = PaperTarget()
    assert kill_pod(target=target) == {"pod": "a", "ranges": 2}
    assert target.pods.names() == ["b"]


def test_of_the_coordinators_pod_only_the_agent_is_killed() -> None:
    target = PaperTarget()
    assert kill_coordinator(target) == {"pod": "a", "pid": 4711}
    assert (target.pods.ended[0].child, target.pods.names()) == ("agent", ["a", "b"])


def test_each_pod_of_a_roll_out_is_back_before_the_next_one_leaves() -> None:
    target = PaperTarget()
    assert roll_pods("2", 4.0, target) == {"pods": ["a", "b"], "revision": "2"}
    assert (target.pods.names(), target.now()) == (["a", "b"], 108.0)


def test_pods_that_were_killed_come_back_and_others_stay_away() -> None:
    target = PaperTarget()
    kill_pod("a", target)
    target.pods.stop("b")
    assert start_killed_pods(target) == {"pods": ["a"]}
    assert target.pods.names() == ["a"]


def test_the_pod_of_the_busiest_worker_is_told_to_end() -> None:
    target = PaperTarget()
    assert stop_busiest_pod(target) == {"pod": "a"}
    restart_pod("a", target)
    restart_pod("a", target)
    assert target.pods.names() == ["a", "b"]


def test_owners_are_waited_for_and_missed() -> None:
    assert wait_for_owners(2, 5.0, PaperTarget())["owners"] == 2
    with pytest.raises(TargetFailed, match="after 5 s 2 workers own ranges, not 3"):
        wait_for_owners(3, 5.0, PaperTarget())


def test_a_pod_stands_still_with_everything_that_it_has() -> None:
    target = PaperTarget()
    assert pause_pod(target=target) == {"pod": "a", "workers": ["a-0"]}
    assert target.pods.paused == [("a", "supervisor"), ("a", "agent"), ("a", "worker-0")]


def test_a_pod_that_cannot_be_paused_as_a_whole_is_not_left_half_paused(monkeypatch: pytest.MonkeyPatch) -> None:
    target = PaperTarget()
    pause = target.pods.pause

    def but_for_workers(pod: str, child: str) -> None:
        if child.startswith("worker"):
            raise TargetFailed(f"{child} of {pod} ended by itself")
        pause(pod, child)

    monkeypatch.setattr(target.pods, "pause", but_for_workers)
    with pytest.raises(TargetFailed, match="ended by itself"):
        pause_pod("a", target)
    assert not target.pods.paused
