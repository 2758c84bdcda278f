"""Informers under hours of simulated faults: equal to the server at the end, and nothing left behind.

`make simulate-watches` runs a day of them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DropEvents, HideEvents, StaleReplica, TruncateList, Word
from shards.watching.wire import Event, decode_event
from tests.integration.watchsim.clients import (
    AnyList,
    FirstPageIsAll,
    GoesOnAcrossExpiry,
    LeavesStreamsOpen,
    LeavesTasksBehind,
    Wrap,
)
from tests.integration.watchsim.simulation import simulate

HOURS = 2.0
SEEDS = (1, 2, 6, 13)
"""6: a deletion from before a restore arrived behind a list from after it, beside a shared stream. 13: a page of a list
was asked for with a token from before a restore."""


@pytest.fixture(autouse=True)
def no_logs() -> Iterator[None]:
    """What pytest keeps of thousands of warnings is memory too."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", SEEDS)
def test_hours_of_faults_leave_every_view_equal_to_the_server(seed: int) -> None:
    figures = simulate(seed, HOURS)
    assert figures.findings == []
    assert len(figures.faults) >= 12
    assert figures.written > 1000
    assert figures.watches > 100


def test_what_is_kept_does_not_grow_with_the_hours() -> None:
    figures = simulate(5, 0.5, measure_memory=True)
    assert figures.findings == []
    assert figures.grown_kib != 0.0


def test_memory_that_is_left_behind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []

    def keeping(line: bytes) -> Event:
        kept.append(decode_event(line))
        return kept[-1]

    monkeypatch.setattr("shards.informers.informer.decode_event", keeping)
    assert any("bytes more are in use" in each for each in simulate(5, 0.5, measure_memory=True).findings)


def test_a_seed_repeats_its_history() -> None:
    first, again = simulate(4, 1.0), simulate(4, 1.0)
    assert (first.written, first.told, first.watches, first.lists) == (
        again.written,
        again.told,
        again.watches,
        again.lists,
    )


@pytest.mark.parametrize(
    ("wrap", "found"),
    [
        (FirstPageIsAll, "the server has had it all the time"),
        (GoesOnAcrossExpiry, "in the view"),
        (LeavesStreamsOpen, "watches are open at the end"),
        (LeavesTasksBehind, "tasks are left"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_client_that_is_wrong_is_found(wrap: Wrap, found: str) -> None:
    for seed in range(6):
        findings = simulate(seed, HOURS, wrap=wrap).findings
        if any(found in each for each in findings):
            return
    pytest.fail(f"none of six hours showed it; the last one: {findings}")


def test_lists_from_any_cache_are_found_where_a_replica_lags() -> None:
    lags = StaleReplica(match=Match(verbs=("list",), user_agent="simulated-0"), lag_seconds=300.0)
    assert simulate(0, 1.0, lasting=(lags,)).findings == []
    findings = simulate(0, 1.0, wrap=AnyList, lasting=(lags,)).findings
    assert any("was deleted from the view, and the server has had it" in each for each in findings), findings


@pytest.mark.parametrize(
    ("word", "found"),
    [
        (TruncateList(match=Match(user_agent="simulated-0"), keep=1), "the server has had it all the time"),
        (HideEvents(match=Match(user_agent="simulated-0")), "in the view"),
        (DropEvents(match=Match(resource="v1/configmaps")), "in the view"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_a_server_leaves_out_without_a_sign_is_found(word: Word, found: str) -> None:
    findings = simulate(1, 0.5, lasting=(word,)).findings
    assert any(found in each for each in findings), findings
