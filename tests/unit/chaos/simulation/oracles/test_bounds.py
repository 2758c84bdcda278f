"""A1, A2 and A4 to A6: what costs availability for nothing."""

from __future__ import annotations

import pytest

from chaos.simulation.oracles.bounds import BrownOutWaits, CauseFirst, SilenceFirst, StandbyFirst, TargetsClaim
from chaos.simulation.strikes import BrownOut, Pause, Steal
from fleet.health.range_steps import Step
from fleet.records.record import Holder, Standby
from tests.unit.chaos.simulation.oracles.history import FIRST, History

STANDBY = Standby(Holder("b", 1), 2)


@pytest.fixture
def moving() -> History:
    """a owns what the map means for b."""
    history = History(StandbyFirst)
    for process in ("a/1", "b/1"):
        history.lived(0.0, process, "started")
    history.shard(1.0, "a/1", epoch=2, holder="a@1")
    return history


def announced(history: History) -> History:
    history.member(2.0, "b/1", "b", 1)
    history.steps(10.0, "b/1", Step.STANDBY_SYNCED)
    history.shard(10.1, "b/1", epoch=2, holder="a@1", standby=STANDBY)
    return history


def test_a_drain_for_a_standby_that_is_there_is_right(moving: History) -> None:
    announced(moving)
    moving.steps(10.2, "a/1", Step.DRAINING, peer="b", epoch=2)
    assert (moving.said, moving.checks) == ([], 2)


def test_a_drain_for_nobody_is_found(moving: History) -> None:
    moving.steps(10.2, "a/1", Step.DRAINING, peer="b", epoch=2)
    assert moving.said == [f"a drains {FIRST} for b, who has not said that it stands by for it"]


def test_so_is_one_for_a_standby_of_before_the_last_claim(moving: History) -> None:
    announced(moving)
    moving.steps(10.2, "a/1", Step.DRAINING, peer="b", epoch=3)
    assert len(moving.said) == 1


def test_one_that_has_a_reason_of_its_own_is_not(moving: History) -> None:
    moving.steps(10.2, "a/1", Step.DRAINING, peer="b", why="its member leaves, and nobody was ready in time")
    assert moving.said == []


def test_one_for_a_standby_that_was_just_closed_is_not(moving: History) -> None:
    announced(moving)
    moving.steps(10.1, "b/1", Step.STANDBY_CLOSED)
    moving.steps(10.2, "a/1", Step.DRAINING, peer="b", epoch=2)
    assert moving.said == []


def test_one_for_a_standby_that_is_long_gone_is_found(moving: History) -> None:
    announced(moving)
    moving.steps(10.2, "b/1", Step.STANDBY_CLOSED)
    moving.steps(12.0, "a/1", Step.DRAINING, peer="b", epoch=2)
    assert moving.said == [f"a drains {FIRST} for b, who has not stood by for it for 1.800 s"]


def test_but_not_for_a_member_that_was_struck_since(moving: History) -> None:
    announced(moving)
    moving.steps(10.2, "b/1", Step.STANDBY_CLOSED)
    moving.struck(11.0, Pause(at=9.0, process="b", seconds=0.5))
    moving.steps(12.0, "a/1", Step.DRAINING, peer="b", epoch=2)
    assert moving.said == []


def test_an_announcement_of_what_is_not_ready_is_found(moving: History) -> None:
    moving.shard(10.1, "b/1", epoch=2, holder="a@1", standby=STANDBY)
    assert moving.said == [f"b@1 announces a standby of {FIRST} that is not ready"]


def test_the_target_claims() -> None:
    history = History(TargetsClaim)
    history.map(1.0, "agent-1/1", 1, ("a", "b"))
    history.shard(2.0, "a/1", epoch=2, holder="a@1")
    assert (history.said, history.checks) == ([], 1)


def test_another_does_not() -> None:
    history = History(TargetsClaim)
    history.map(1.0, "agent-1/1", 1, ("a", "b"))
    history.shard(2.0, "b/1", epoch=2, holder="b@1")
    assert history.said == [f"b@1 claims {FIRST}, which is meant for a"]


def test_who_was_the_target_until_just_now_may() -> None:
    history = History(TargetsClaim)
    history.map(1.0, "agent-1/1", 1, ("b", "b"))
    history.map(2.0, "agent-1/1", 2, ("a", "b"))
    history.shard(2.5, "b/1", epoch=2, holder="b@1")
    assert history.said == []
    history.shard(9.0, "b/1", epoch=3, holder="b@1")
    assert len(history.said) == 1


def test_who_is_silent_for_a_lease_is_fenced() -> None:
    history = History(SilenceFirst)
    history.lived(0.0, "a/1", "started")
    history.member(1.0, "a/1", "a", 1)
    history.member(3.1, "agent-1/1", "a", 2, held=False)
    assert (history.said, history.checks) == ([], 1)


def test_who_renewed_and_runs_is_not() -> None:
    history = History(SilenceFirst)
    history.lived(0.0, "a/1", "started")
    history.member(1.0, "a/1", "a", 1)
    history.member(2.0, "agent-1/1", "a", 2, held=False)
    assert history.said == ["agent-1/1 ends a@1, which runs and renewed 1.000 s ago"]


def test_nor_does_a_twin_take_its_name() -> None:
    history = History(SilenceFirst)
    history.lived(0.0, "a/1", "started")
    history.member(1.0, "a/1", "a", 1)
    history.lived(1.5, "a-twin/1", "started")
    history.member(2.0, "a-twin/1", "a", 2)
    assert history.said == ["a-twin/1 ends a@1, which runs and renewed 1.000 s ago"]


def test_who_died_is_replaced_at_once() -> None:
    history = History(SilenceFirst)
    history.lived(0.0, "a/1", "started")
    history.member(1.0, "a/1", "a", 1)
    history.lived(1.5, "a/1", "crashed")
    history.lived(1.6, "a/2", "started")
    history.member(1.7, "a/2", "a", 2)
    assert (history.said, history.checks) == ([], 1)


@pytest.fixture
def silent() -> History:
    """Three members that could not reach the server for longer than a lease."""
    history = History(BrownOutWaits)
    for name in ("a", "b", "c"):
        history.lived(0.0, f"{name}/1", "started")
        history.member(8.0, f"{name}/1", name, 1)
    history.struck(8.1, BrownOut(at=8.1, seconds=3.0))
    history.struck(11.1, BrownOut(at=8.1, seconds=3.0), over=True)
    return history


def test_a_fence_of_who_only_could_not_reach_the_server_is_found(silent: History) -> None:
    silent.member(11.2, "agent-1/1", "a", 2, held=False)
    assert silent.said == ["agent-1/1 fences a, which could not reach the server, as 3 of 3 could not"]


def test_one_of_a_member_that_is_dead_is_not(silent: History) -> None:
    silent.lived(9.0, "a/1", "crashed")
    silent.member(11.2, "agent-1/1", "a", 2, held=False)
    assert silent.said == []


def test_nor_is_one_while_most_are_heard_of(silent: History) -> None:
    for name in ("b", "c"):
        silent.member(11.2, f"{name}/1", name, 1, renewals=1)
    silent.member(11.3, "agent-1/1", "a", 2, held=False)
    assert silent.said == []


def test_nor_is_one_of_members_whose_records_a_hand_has_taken() -> None:
    history = History(BrownOutWaits)
    for name in ("a", "b"):
        history.lived(0.0, f"{name}/1", "started")
        history.member(8.0, f"{name}/1", name, 1)
        history.struck(8.1, Steal(at=8.1, record="member"))
        history.member(8.1, "hand", name, 1)
    history.member(10.3, "agent-1/1", "a", 2, held=False)
    assert history.said == []


def test_what_was_written_while_nobody_could_hear_of_it_is_no_silence(silent: History) -> None:
    silent.struck(11.3, BrownOut(at=11.3, seconds=1.0))
    for name in ("b", "c"):
        silent.member(11.4, f"{name}/1", name, 1, renewals=1)
    silent.struck(14.3, BrownOut(at=11.3, seconds=1.0), over=True)
    silent.member(14.4, "agent-1/1", "a", 2, held=False)
    assert silent.said == []


def expelled(**before: object) -> History:
    history = History(CauseFirst)
    history.map(1.0, "agent-1/1", 5, ("a", "b"), **before)
    history.member(2.0, "a/1", "a", 1, seen_map=4)
    history.member(9.0, "agent-1/1", "a", 1, seen_map=0, renewals=2)
    return history


def test_nobody_is_expelled_who_follows() -> None:
    assert expelled().said == ["agent-1/1 expels a@1, which follows"]


def test_who_does_not_repeat_a_loss_is() -> None:
    assert expelled(lost={FIRST: 5}).said == []
