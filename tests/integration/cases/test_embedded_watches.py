"""What watches got wrong elsewhere, replayed on the embedded server. The table is in docs/cases.md."""

from __future__ import annotations

import asyncio

import pytest

from fleet.devcluster.faults import Events
from fleet.devcluster.faults.words import (
    Cut,
    DelayEvents,
    ExpireWatch,
    HideEvents,
    Refuse,
    Silence,
    StaleReplica,
    TooLarge,
    Unreachable,
)
from shards.watching.watch import AUDIT_SECONDS
from tests.integration.cases.informed import INFORMED, WATCHES, Informed, every, gaps, informed

pytestmark = pytest.mark.looptime

IDLE_SECONDS = 75.0
"""After so long a silent connection is given up."""


async def test_b28_quiet_watches_that_end_again_and_again_resume_where_the_last_one_was() -> None:
    async with informed("a", "b") as rig:
        for _ in range(5):
            rig.break_watches()
            await asyncio.sleep(10)
        versions = [int(each) for each in rig.resumed_from()]
        assert len(versions) == 6
        assert versions == sorted(versions)
        assert versions[0] > 0
        assert (len(rig.changes), len(rig.asked("list"))) == (2, 1)


@pytest.mark.parametrize("cause", [True, False], ids=["with a cause", "in words only"])
async def test_b31_a_front_end_that_is_behind_is_left_by_one_list(cause: bool) -> None:
    """It refuses what names a version that it has not reached, for ever: 504 every few seconds."""
    async with informed("a") as rig:
        began = asyncio.get_running_loop().time()
        rig.server.faults.inject(TooLarge(match=INFORMED, cause=cause, until_seconds=30))
        rig.break_watches()
        await rig.change("a", "x")
        await rig.equal(within_seconds=5)
        first, second, *_ = rig.asked(since=began)
        assert (first.kind, second.kind) == ("watch", "list")
        assert "resourceVersion" not in second.query
        await asyncio.sleep(30)
        assert len(rig.asked("list", since=began)) <= 12
        await rig.change("a", "y")
        await rig.equal(within_seconds=10)


async def test_b31_a_watch_that_meets_a_front_end_which_stands_still_goes_on_when_that_goes_on() -> None:
    """Real ones accept a version that they have not reached, and say nothing until they have."""
    async with informed("a") as rig:
        behind = rig.server.another("behind")
        frozen = rig.server.faults.inject(StaleReplica(match=WATCHES, replica="behind", frozen=True))
        await rig.change("a", "x")
        await rig.equal(within_seconds=5)
        rig.break_watches()
        await asyncio.sleep(300)
        await rig.change("a", "y")
        frozen.release()
        behind.watching.end()
        await rig.equal(within_seconds=31)


async def test_b34_an_error_within_a_good_answer_is_counted_and_acted_on() -> None:
    async with informed("a") as rig:
        rig.server.faults.inject(ExpireWatch(match=WATCHES, times=1))
        await rig.change("a", "x")
        await rig.equal(within_seconds=5)
        assert rig.counted("shardfleet_watch_events_total", type="ERROR") == 1
        assert len(rig.asked("list")) == 2


async def test_b35_b36_a_silent_watch_is_noticed_and_replaced_and_nothing_is_missed() -> None:
    """And meanwhile the view's age tells of it."""
    async with informed("a") as rig:
        await rig.change("a", "seen")
        await rig.equal(within_seconds=1)
        loop = asyncio.get_running_loop()
        began = loop.time()
        rig.server.faults.inject(Silence(match=WATCHES, times=1))
        await rig.change("a", "unseen")
        await rig.create("b")
        await rig.delete("a")
        await asyncio.sleep(60)
        assert set(rig.held()) == {"a"}
        assert loop.time() - rig.informer.current_at >= 60
        await rig.equal(within_seconds=IDLE_SECONDS + 5 - 60)
        assert set(rig.held()) == {"b"}
        await asyncio.sleep(61)
        assert loop.time() - rig.informer.current_at <= 61
        assert len(rig.asked("watch", since=began)) == 1
        assert len(rig.asked("list")) == 1


async def test_b37_a_busy_watch_is_never_cut_from_this_side() -> None:
    async with informed("a") as rig:
        before = len(rig.asked())
        await every(1, 120, lambda number: rig.change("a", str(number)))
        assert len(rig.asked()) == before
        await rig.equal(within_seconds=1)


async def test_b40_a_server_that_ends_every_watch_at_once_is_asked_a_few_times_a_minute() -> None:
    async with informed("a") as rig:
        began = asyncio.get_running_loop().time()
        cut = rig.server.faults.inject(Cut(match=WATCHES, clean=True))
        await asyncio.sleep(600)
        watches = rig.asked("watch", since=began)
        assert len(watches) <= 40
        assert max(gaps(watches)) <= 31
        assert len([each for each in watches if each.at > began + 540]) <= 4
        cut.release()
        await rig.change("a", "x")
        await rig.equal(within_seconds=35)


async def test_b41_a_server_that_restarts_is_trouble_until_the_view_is_current_again() -> None:
    """What `synced` says comes back as well: the history is gone."""
    async with informed("a") as rig:
        seen: set[tuple[bool, bool]] = set()

        async def look(_: int) -> None:
            seen.add((rig.informer.synced.is_set(), rig.informer.trouble == ""))

        rig.server.faults.inject(Unreachable(match=INFORMED, until_seconds=5))
        rig.break_watches()
        await rig.change("a", "x")
        await rig.delete("a")
        rig.lose_history()
        await every(0.05, 300, look)
        assert (True, False) in seen  # out of reach
        assert any(not synced for synced, _ in seen)  # the history is lost
        assert (rig.informer.synced.is_set(), rig.informer.trouble) == (True, "")
        await rig.equal(within_seconds=1)
        await rig.create("b")
        await rig.equal(within_seconds=1)


async def test_b43_what_happens_between_the_list_and_its_watch_is_heard_of() -> None:
    rig = Informed()
    rig.put(*(f"o{number}" for number in range(8)))
    gone = asyncio.Event()

    def delete() -> None:
        rig.server.faults.inject(DelayEvents(match=WATCHES, seconds=1))
        asyncio.get_running_loop().create_task(rig.delete("o0")).add_done_callback(lambda _: gone.set())

    rig.transport.before_page[2] = delete
    async with rig:
        await gone.wait()
        await rig.equal(within_seconds=5)
        assert "o0" not in rig.held()
        assert len(rig.asked("list")) == 2


async def test_b44_a_deletion_that_no_watch_ever_shows_is_found_by_the_audit() -> None:
    """Neither later events nor bookmarks nor new watches tell."""
    async with informed("a") as rig:
        rig.server.faults.inject(HideEvents(match=WATCHES, events=Events(types=("DELETED",), name="a")))
        await rig.delete("a")
        await rig.create("b")
        await asyncio.sleep(3600)
        assert set(rig.held()) == {"a", "b"}
        rig.break_watches()
        await asyncio.sleep(AUDIT_SECONDS[1])
        assert set(rig.held()) == {"b"}
        await rig.equal(within_seconds=1)


async def test_b53_refused_watches_cost_no_list_and_wait_as_they_are_told() -> None:
    async with informed("a") as rig:
        began = asyncio.get_running_loop().time()
        rig.server.faults.inject(Refuse(match=WATCHES, status=429, retry_after_seconds=7, until_seconds=60))
        rig.break_watches()
        await asyncio.sleep(60)
        watches = rig.asked("watch", since=began)
        assert 3 <= len(watches) <= 9
        assert min(gaps(watches)) >= 7
        await rig.change("a", "x")
        await rig.equal(within_seconds=15)
        assert rig.asked("list", since=began) == []


@pytest.mark.parametrize("after_bytes", [0, 1, 10, 100, 150, 200, 300])
@pytest.mark.parametrize("clean", [False, True])
async def test_b48_a_watch_that_breaks_within_an_event_misses_nothing(after_bytes: int, clean: bool) -> None:
    async with informed("a", "b") as rig:
        rig.server.faults.inject(
            Cut(match=WATCHES, after_bytes=after_bytes, clean=clean, inside_character=True, times=1)
        )
        await rig.change("a", "日本語" * 20)
        await rig.delete("b")
        await rig.create("c")
        await rig.equal(within_seconds=10)
        assert len(rig.asked("list")) == 1


async def test_the_oracle_of_these_tests_fires() -> None:
    """A view that lacks an event is told apart from the server's."""
    async with informed("a") as rig:
        rig.server.faults.inject(HideEvents(match=WATCHES, events=Events(types=("DELETED",))))
        await rig.delete("a")
        with pytest.raises(AssertionError, match="is not"):
            await rig.equal(within_seconds=60)
