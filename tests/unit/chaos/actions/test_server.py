from __future__ import annotations

import pytest

from chaos.actions.server import (
    back_up,
    break_watches,
    compact_history,
    end_faults,
    expect_recorded,
    freeze_replica,
    heal,
    inject,
    inject_all,
    pause_server,
    refuse_connections,
    restore,
    switch_to_replica,
)
from chaos.targets.target import TargetFailed
from fleet.devcluster.recording.journal import Entry, Shown
from tests.unit.chaos.targets.paper import PaperTarget


def asked_at(*times: float) -> list[Entry]:
    """Requests of a worker for Leases."""
    return [
        Entry(seq, time, "update", "coordination.k8s.io/v1/leases", user_agent="fleet/0 m=a-0 e=1")
        for seq, time in enumerate(times, 1)
    ]


@pytest.mark.parametrize(
    ("fault", "match"),
    [
        ({"fault": "reset"}, {"user_agent": "fleet/"}),
        ({"fault": "reset", "match": {"verbs": ["list"]}}, {"user_agent": "fleet/", "verbs": ["list"]}),
        ({"fault": "reset", "match": {"user_agent": "chaos/"}}, {"user_agent": "chaos/"}),
    ],
)
def test_a_fault_strikes_the_fleet_unless_it_says_whom(fault: dict[str, object], match: dict[str, object]) -> None:
    target = PaperTarget()
    assert inject(fault, target) == {"number": 1, "fault": "reset"}
    assert target.server.faults == {1: {"fault": "reset", "match": match}}


def test_the_healing_says_how_often_each_fault_has_struck() -> None:
    target = PaperTarget()
    inject({"fault": "reset"}, target)
    target.server.met = {1: 12}
    assert heal(target) == {"struck": {1: 12}}
    assert not target.server.faults


def test_several_faults_begin_at_once() -> None:
    target = PaperTarget()
    assert inject_all([{"fault": "reset"}, {"fault": "lost_ack"}], target) == {"faults": ["reset", "lost_ack"]}
    assert len(target.server.faults) == 2


def test_faults_that_have_struck_are_ended() -> None:
    target = PaperTarget()
    inject({"fault": "reset"}, target)
    target.server.met = {1: 3}
    assert end_faults(3, target) == {"struck": {1: 3}}
    assert not target.server.faults


def test_a_fault_that_has_met_too_little_proves_nothing_and_is_ended_all_the_same() -> None:
    target = PaperTarget()
    inject_all([{"fault": "reset"}, {"fault": "lost_ack"}], target)
    target.server.met = {1: 5, 2: 0}
    with pytest.raises(TargetFailed, match=r"fault 2 has struck 0 times, which is less than 1"):
        end_faults(target=target)
    assert not target.server.faults


def test_a_paused_server_goes_on_after_its_time() -> None:
    target = PaperTarget()
    target.evidence.recorded = asked_at(99.0, 100.1, 121.0)
    assert pause_server(20, target) == {"seconds": 20, "requests": 0}
    assert (target.time, target.server.stopped) == (120.0, False)


@pytest.mark.parametrize("times", [(99.0, 107.0), (90.0,)])
def test_an_outage_that_the_fleet_did_not_feel_proves_nothing(times: tuple[float, ...]) -> None:
    target = PaperTarget()
    target.evidence.recorded = asked_at(*times)
    with pytest.raises(TargetFailed, match=r"in 20 seconds without a server"):
        pause_server(20, target)
    assert not target.server.stopped


def test_connections_are_refused_to_everybody_and_for_a_time_only() -> None:
    target = PaperTarget()
    target.evidence.recorded = asked_at(99.0)
    assert refuse_connections(8, target) == {"seconds": 8, "requests": 0}
    assert target.server.faults == {1: {"fault": "unreachable", "until_seconds": 8}}
    assert target.time > 108


def test_watches_break_and_can_be_opened_again_at_once() -> None:
    target = PaperTarget()
    target.server.met = {1: 7}
    assert break_watches(target) == {"watches": 7}
    assert not target.server.faults


def test_watches_that_were_not_there_cannot_break() -> None:
    target = PaperTarget()
    target.server.met = {1: 0}
    with pytest.raises(TargetFailed, match="no watch open"):
        break_watches(target)


def test_the_busiest_worker_is_switched_to_the_replica_that_stands_still() -> None:
    target = PaperTarget()
    assert freeze_replica(target) == {"replica": "other"}
    target.server.met = {1: 0, 2: 4}
    assert switch_to_replica(verbs=["watch"], target=target) == {"worker": "a-0", "ranges": 2, "watches": 4}
    match = {"user_agent": "fleet/", "member": "a-0", "verbs": ["watch"]}
    assert target.server.faults == {1: {"fault": "stale_replica", "replica": "dev-2", "match": match}}


def test_what_is_stored_is_compacted_kept_and_put_back() -> None:
    target = PaperTarget()
    back_up(target)
    compact_history(target)
    assert restore(target) == {"seconds": 0.0}
    assert target.server.done == ["back up", "compact", "restore"]


def test_an_experiment_that_did_not_come_to_its_point_says_so() -> None:
    target = PaperTarget()
    target.evidence.recorded = [
        Entry(1, 1.0, "get", "v1/pods", status=401, user_agent="fleet/0 m=a-0"),
        Entry(2, 1.0, "get", "v1/pods", status=401, user_agent="kubectl"),
        Entry(3, 1.0, "event", "v1/pods", user_agent="fleet/0 m=a-0", shown=Shown(type="ERROR")),
    ]
    assert expect_recorded(1, status=401, target=target) == {"found": 1}
    assert expect_recorded(1, event="ERROR", target=target) == {"found": 1}
    with pytest.raises(TargetFailed, match="1 answers 401, which is less than 2"):
        expect_recorded(2, status=401, target=target)
