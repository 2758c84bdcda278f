"""What was deleted and lingers is looked at again, should its end never be told."""

from __future__ import annotations

import pytest

import shards.gates.doomed
from shards.gates.doomed import Doom, Doomed
from shards.gates.own_writes import OVERDUE_SECONDS, OwnWrites, Phase
from shards.objects import ObjectName
from tests.unit.shards.gates.stores import KEY, PAGE, PAGES, Cache, meta

DOOM = Doom(KEY, PAGES, PAGE, "u1")


def test_a_key_is_told_now_and_then_as_long_as_its_view_holds_what_it_deleted() -> None:
    cache, writes, doomed = Cache(), OwnWrites(), Doomed()
    cache.shows(20)
    doomed.begin(DOOM, 1000.0)
    told = [now for now in range(1000, 1200) if doomed.sweep(cache.views, writes, float(now)) == [KEY]]
    assert told == [1000 + OVERDUE_SECONDS, 1000 + 2 * OVERDUE_SECONDS]


def test_its_view_counts_as_wrong_about_it_until_a_live_read() -> None:
    cache, writes, doomed = Cache(), OwnWrites(), Doomed()
    cache.shows(20)
    doomed.begin(DOOM, 0.0)
    assert writes.blocked(KEY, cache.views) is None
    doomed.sweep(cache.views, writes, OVERDUE_SECONDS)
    blocked = writes.blocked(KEY, cache.views)
    assert blocked is not None
    assert blocked.needs_read
    [barrier] = writes.waiting(KEY, cache.views)
    assert (barrier.phase, barrier.uid, barrier.resource_version) == (Phase.STALE, "u1", "20")
    writes.settle(barrier, meta(20), cache.views[PAGES], admitted=True)
    assert writes.blocked(KEY, cache.views) is None, "it lingers still"


def test_what_the_view_has_seen_the_end_of_is_forgotten() -> None:
    cache, writes, doomed = Cache(), OwnWrites(), Doomed()
    cache.shows(20)
    doomed.begin(DOOM, 0.0)
    cache.pages.delete(meta(21))
    assert doomed.sweep(cache.views, writes, 1000.0) == []
    assert len(doomed) == len(writes) == 0


def test_so_is_one_whose_name_another_has() -> None:
    cache, writes, doomed = Cache(), OwnWrites(), Doomed()
    cache.shows(20)
    doomed.begin(DOOM, 0.0)
    cache.shows(22, uid="u2")
    assert doomed.sweep(cache.views, writes, 1000.0) == []
    assert len(doomed) == 0


def test_no_more_than_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards.gates.doomed, "MOST", 10)
    doomed = Doomed()
    for number in range(20):
        doomed.begin(Doom(KEY, PAGES, ObjectName("ns", f"p{number}"), f"u{number}"), float(number))
    assert len(doomed) == 10
