"""I3 and I9: what owners know of their objects."""

from __future__ import annotations

import pytest

from chaos.simulation.oracles.views import FreshView, WokenUp
from tests.unit.chaos.simulation.oracles.history import FIRST, History


@pytest.fixture
def history() -> History:
    return History(FreshView)


def test_each_act_on_the_one_before_is_right(history: History) -> None:
    history.acts(1.0, "a/1", 1, based_on=5, version=6)
    history.acts(2.0, "b/1", 2, based_on=6, version=7)
    assert (history.said, history.checks) == ([], 2)


def test_an_act_on_what_was_before_another_is_found(history: History) -> None:
    history.acts(1.0, "a/1", 1, based_on=5, version=6)
    history.acts(2.0, "b/1", 2, based_on=5, version=7)
    assert history.said == [f"b@1 acts on key {FIRST.first + 1:#x} as it was at 5; a@1 had written 6"]


def test_one_that_was_sent_before_the_other_was_accepted_is_not(history: History) -> None:
    history.acts(1.0, "a/1", 1, based_on=5, version=6)
    history.acts(2.0, "b/1", 2, based_on=5, version=7, sent_at=0.9)
    assert history.said == []


def test_what_lands_late_neither_binds_nor_is_judged(history: History) -> None:
    history.acts(1.0, "a/1", 1, based_on=5, version=9, late=True)
    history.acts(2.0, "b/1", 2, based_on=6, version=10)
    history.acts(3.0, "a/1", 1, based_on=5, version=11, late=True)
    assert (history.said, history.checks) == ([], 1)


def test_so_does_what_was_overtaken_by_a_claim(history: History) -> None:
    history.shard(1.5, "b/1", epoch=2, holder="b@1")
    history.acts(1.8, "a/1", 1, based_on=5, version=9, sent_at=1.4)
    history.acts(2.0, "b/1", 2, based_on=6, version=10)
    assert history.said == []


def test_after_a_restore_versions_begin_again(history: History) -> None:
    history.acts(1.0, "a/1", 1, based_on=50, version=60)
    history.restored(2.0)
    history.acts(3.0, "a/1", 1, based_on=5, version=6)
    assert history.said == []


def test_a_change_that_somebody_acted_on_is_not_lost() -> None:
    history = History(WokenUp)
    history.changes(1.0, version=4)
    history.acts(2.0, "a/1", 1, based_on=4, version=5)
    assert (history.jury.settled(3.0), history.checks) == (None, 1)


def test_one_that_nobody_has_seen_is() -> None:
    history = History(WokenUp)
    history.changes(1.0, version=4)
    history.acts(2.0, "a/1", 1, based_on=3, version=5)
    assert history.jury.settled(3.0) == f"key {FIRST.first + 1:#x} has changed at 1.000 and nobody has acted on it"
