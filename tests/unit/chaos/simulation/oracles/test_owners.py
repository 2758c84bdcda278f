"""I1: two tenures over one key at one instant."""

from __future__ import annotations

import pytest

from chaos.simulation.happenings import Struck
from chaos.simulation.oracles.owners import OneOwner
from chaos.simulation.strikes import ClockRate
from shards.keyrange import KeyRange
from tests.unit.chaos.simulation.oracles.history import FIRST, SECOND, History


@pytest.fixture
def history() -> History:
    return History(OneOwner)


def test_a_handover_is_none(history: History) -> None:
    history.opens(1.0, "a/1", 1)
    history.acts(1.5, "a/1", 1)
    history.closes(2.0, "a/1", 1)
    history.opens(2.1, "b/1", 2)
    history.acts(2.2, "b/1", 2)
    assert (history.said, history.checks) == ([], 2)


def test_two_tenures_of_one_range_are_one_too_many(history: History) -> None:
    history.opens(1.0, "a/1", 1)
    history.opens(2.0, "b/1", 2)
    assert history.said == [f"a@1 and b@1 both may act on {FIRST}"]


def test_overlapping_ranges_have_keys_in_common(history: History) -> None:
    history.opens(1.0, "a/1", 1)
    history.opens(2.0, "b/1", 1, KeyRange(0, 10))
    assert "which overlap" in history.said[0]


def test_other_ranges_have_not(history: History) -> None:
    history.opens(1.0, "a/1", 1)
    history.opens(2.0, "b/1", 1, SECOND)
    assert history.said == []


def test_who_hangs_past_its_deadline_does_not_own(history: History) -> None:
    history.opens(1.0, "a/1", 1)
    history.until["a/1"] = 2.0
    history.opens(2.5, "b/1", 2)
    assert (history.said, history.checks) == ([], 1)


def test_a_deadline_that_moves_again_is_seen(history: History) -> None:
    history.opens(1.0, "a/1", 1)
    history.until["a/1"] = 2.0
    history.opens(2.5, "b/1", 2)
    history.until["a/1"] = 4.0
    history.member(3.0, "b/1", "b", 1)
    assert history.said == [f"a@1 and b@1 both may act on {FIRST}"]


def test_a_process_that_died_owns_nothing(history: History) -> None:
    history.lived(0.0, "a/1", "started")
    history.opens(1.0, "a/1", 1)
    history.lived(2.0, "a/1", "crashed")
    history.opens(2.5, "b/1", 2)
    assert history.said == []


def test_an_act_on_what_another_has_come_to_own_is_found(history: History) -> None:
    history.opens(2.0, "b/1", 2)
    history.acts(2.5, "a/1", 1)
    assert "acts on a key" in history.said[0]


def test_one_that_was_sent_before_and_lands_late_is_none(history: History) -> None:
    history.opens(2.0, "b/1", 2)
    history.acts(2.5, "a/1", 1, sent_at=1.9)
    assert history.said == []


def test_nothing_is_promised_with_a_clock_beyond_the_margin(history: History) -> None:
    history.jury.hear(Struck(1.0, ClockRate(at=1.0, process="a", rate=0.5, seconds=1.0)))
    history.opens(1.0, "a/1", 1)
    history.opens(2.0, "b/1", 2)
    assert history.said == []


def test_within_the_margin_it_is(history: History) -> None:
    history.jury.hear(Struck(1.0, ClockRate(at=1.0, process="a", rate=0.95, seconds=1.0)))
    history.opens(1.0, "a/1", 1)
    history.opens(2.0, "b/1", 2)
    assert len(history.said) == 1


def test_who_began_within_a_lease_of_a_restore_cannot_know_of_it(history: History) -> None:
    history.restored(1.0)
    history.lived(1.5, "b/1", "started")
    history.opens(1.0, "a/1", 1)
    history.opens(2.0, "b/1", 2)
    assert history.said == []


def test_all_others_have_to_wait_after_a_restore(history: History) -> None:
    history.lived(0.0, "b/1", "started")
    history.opens(0.5, "a/1", 1)
    history.restored(1.0)
    history.opens(2.0, "b/1", 2)
    assert len(history.said) == 1
