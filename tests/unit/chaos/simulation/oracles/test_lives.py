"""I5, I23, I24 and I26: members that are dead, or that should be."""

from __future__ import annotations

from chaos.simulation.oracles.lives import Freed, HonestHealth, LiveRead, Stopped
from chaos.simulation.strikes import ClockRate, DroppedEvents
from tests.unit.chaos.simulation.oracles.history import FIRST, History


def test_a_fence_over_what_was_just_read_is_right() -> None:
    history = History(LiveRead)
    history.member(1.0, "a/1", "a", 1)
    history.reads(4.0, "agent-1/1", "a")
    history.member(4.1, "agent-1/1", "a", 2, held=False)
    assert (history.said, history.checks) == ([], 1)


def test_one_over_what_was_never_read_or_has_moved_since_is_found() -> None:
    history = History(LiveRead)
    history.member(1.0, "a/1", "a", 1)
    history.member(4.1, "agent-1/1", "a", 2, held=False)
    history.member(5.0, "a/1", "a", 3)
    history.reads(5.1, "agent-1/1", "a")
    history.member(5.2, "a/1", "a", 3, renewals=1)
    history.member(9.0, "agent-1/1", "a", 4, held=False)
    assert history.said == ["agent-1/1 fenced a, whose record it had not read live"] * 2


def test_leaving_for_good_is_no_fence() -> None:
    history = History(LiveRead)
    history.member(1.0, "a/1", "a", 1)
    history.member(4.1, "a/1", "a", 2, held=False)
    assert (history.said, history.checks) == ([], 0)


def test_acts_within_a_tenure_and_a_lease_are_right() -> None:
    history = History(Stopped)
    history.member(1.0, "a/1", "a", 1)
    history.opens(1.1, "a/1", 2)
    history.acts(2.0, "a/1", 2)
    history.closes(2.1, "a/1", 2)
    history.acts(2.2, "a/1", 2, sent_at=2.05)
    assert (history.said, history.checks) == ([], 3)


def test_an_act_that_was_sent_after_the_end_is_found() -> None:
    history = History(Stopped)
    history.opens(1.1, "a/1", 2)
    history.closes(2.0, "a/1", 2)
    history.acts(2.2, "a/1", 2, sent_at=2.1)
    assert history.said == [f"a@1 acts on {FIRST} at epoch 2, where it had ended"]


def test_so_is_one_after_the_release() -> None:
    history = History(Stopped)
    history.opens(1.1, "a/1", 2)
    history.shard(1.0, "a/1", epoch=2, holder="a@1")
    history.shard(2.0, "a/1", epoch=2)
    history.acts(2.2, "a/1", 2)
    assert len(history.said) == 1


def test_so_is_one_without_a_tenure() -> None:
    history = History(Stopped)
    history.acts(2.2, "a/1", 2)
    assert history.said == [f"a@1 acts on {FIRST} at epoch 2, where it never began to"]


def test_so_is_one_under_a_lease_that_has_run_out() -> None:
    history = History(Stopped)
    history.member(1.0, "a/1", "a", 1)
    history.opens(1.1, "a/1", 2)
    history.acts(2.75, "a/1", 2)
    assert history.said == []
    history.acts(2.9, "a/1", 2)
    assert "though its lease has run out, by 0.1" in history.said[0]


def test_a_clock_beyond_the_margin_excuses_it() -> None:
    history = History(Stopped)
    history.struck(1.0, ClockRate(at=1.0, process="a", rate=0.3, seconds=4.0))
    history.member(1.0, "a/1", "a", 1)
    history.opens(1.1, "a/1", 2)
    history.acts(3.9, "a/1", 2)
    assert history.said == []


def test_a_member_that_runs_or_was_fenced_has_a_record_that_says_so() -> None:
    history = History(Freed)
    history.lived(0.0, "a/1", "started")
    history.member(1.0, "a/1", "a", 1)
    assert history.jury.settled(2.0) is None
    history.lived(2.0, "a/1", "crashed")
    assert history.jury.settled(3.0) == "a@1 is held though its process is gone"
    history.member(4.0, "agent-1/1", "a", 2, held=False)
    assert history.jury.settled(5.0) is None


def test_a_twin_keeps_the_record_of_its_name() -> None:
    history = History(Freed)
    history.lived(0.0, "a-twin/1", "started")
    history.member(1.0, "a-twin/1", "a", 1)
    assert history.jury.settled(2.0) is None


def test_a_worker_that_runs_renews() -> None:
    history = History(HonestHealth)
    history.lived(0.0, "a/1", "started")
    history.member(1.0, "a/1", "a", 1)
    assert history.jury.settled(2.0) is None
    assert history.jury.settled(4.0) == "a/1 runs and has not renewed for 3.0 s"
    history.lived(4.0, "a/1", "left")
    assert history.jury.settled(5.0) is None


def follows(history: History, seen_map: int) -> None:
    history.lived(0.0, "a/1", "started")
    history.map(1.0, "agent-1/1", 1)
    history.map(1.5, "agent-1/1", 2)
    history.member(2.0, "a/1", "a", 1, seen_map=1)
    history.member(9.0, "a/1", "a", 1, seen_map=seen_map)


def test_who_renews_follows_the_map() -> None:
    history = History(HonestHealth)
    follows(history, 2)
    assert (history.said, history.checks) == ([], 1)


def test_who_does_not_is_found() -> None:
    history = History(HonestHealth)
    follows(history, 1)
    assert history.said == ["a/1 renews and does not follow map 2 of 7.5 s ago"]


def test_who_cannot_know_that_it_misses_an_event_is_not() -> None:
    history = History(HonestHealth)
    history.struck(0.5, DroppedEvents(at=0.5, process="a"))
    follows(history, 1)
    assert history.said == []
