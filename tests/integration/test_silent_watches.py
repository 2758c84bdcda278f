"""Watches that say nothing for long: a worker says so, and its views come back without a new watch, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import Silence
from shards.objects import Resource
from tests.integration.small_fleet import WEBSITES, SmallFleet, eventually, running, website
from tests.integration.test_ownership import status_writer

pytestmark = pytest.mark.looptime

SILENCE = Silence(match=Match(verbs=("watch",), resource=str(WEBSITES), member="a"))


async def test_a_worker_whose_watches_are_silent_says_so_and_keeps_its_promises() -> None:
    async with running(SmallFleet(status_writer, shards=2), "a") as fleet:
        worker = fleet.members["a"]
        fleet.server.faults.inject(SILENCE)
        await fleet.client.create(WEBSITES, "default", website("unseen"))
        reasons, seen = set(), 0
        for _ in range(900):
            await asyncio.sleep(1)
            status = worker.status()
            assert status["ready"] or status["reason"].startswith("a view of objects was last known to be current")
            reasons.add(status["ready"])
            seen += bool(fleet.writes(WEBSITES, "status"))
        assert reasons == {True, False}
        assert seen > 600  # the view was listed, and the object reconciled, with no watch to tell of it


async def test_without_a_bound_on_the_age_of_views_the_judge_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleet.health.health.VIEW_AGE_SECONDS", float("inf"))
    monkeypatch.setattr("shards.informers.freshness.STALE_SECONDS", float("inf"))
    fleet = SmallFleet(status_writer, shards=2, breaks=frozenset({"I18", "I26"}))
    async with running(fleet, "a"):
        fleet.server.faults.inject(SILENCE)
        await asyncio.sleep(300)


async def test_one_silence_costs_no_list() -> None:
    async with running(SmallFleet(status_writer, shards=1), "a") as fleet:
        worker = fleet.members["a"]
        before = _whole_lists(fleet)
        hold = fleet.server.faults.inject(SILENCE)
        await asyncio.sleep(60)
        hold.release()
        await eventually(lambda: worker.status()["ready"], within_seconds=30, what="ready again")
        await asyncio.sleep(300)
        assert worker.status()["ready"]
        assert _whole_lists(fleet) == before


def _whole_lists(fleet: SmallFleet) -> int:
    """Lists of Websites by informers; those of one object ask how far the server is."""
    assert fleet.server.recorder is not None
    found = [each for each in fleet.server.recorder.entries if each.verb == "list"]
    return sum(Resource.parse(each.resource) == WEBSITES for each in found)
