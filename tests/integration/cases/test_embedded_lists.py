"""What lists and relists got wrong elsewhere, replayed on the embedded server. The table is in docs/cases.md."""

from __future__ import annotations

import asyncio

import pytest

from fleet.devcluster.faults import Events
from fleet.devcluster.faults.words import Cut, ExpireWatch, HideEvents, NoBookmarks, Slice, Unreachable
from shards.watching.listing import STREAM_QUIET_SECONDS
from tests.integration.cases.informed import CONFIGMAPS, INFORMED, LISTS, PAGE, WATCHES, Informed, informed

pytestmark = pytest.mark.looptime

NAMES = [f"o{number:02}" for number in range(5 * PAGE - 2)]
"""Five pages."""


async def missed(rig: Informed, *, seconds: float = 5.0) -> None:
    """The server is out of reach for so long; what happens meanwhile is history that is lost."""
    rig.server.faults.inject(Unreachable(match=INFORMED, until_seconds=seconds))
    rig.break_watches()


async def test_b19_b21_a_name_that_was_recreated_out_of_sight_is_told_as_an_end_and_a_beginning() -> None:
    async with informed("a", "b") as rig:
        [first] = [meta.uid for meta in rig.informer.store.metas() if meta.name == "a"]
        before = len(rig.changes)
        await missed(rig)
        await rig.delete("a")
        second = (await rig.create("a"))["metadata"]["uid"]
        rig.lose_history()
        await rig.equal(within_seconds=15)
        assert rig.uids()[before:] == [(first, ""), ("", second)]


async def test_b20_b22_an_end_that_was_missed_leaves_the_view_and_is_told() -> None:
    async with informed("a", "b") as rig:
        await missed(rig)
        await rig.delete("a")
        rig.lose_history()
        await rig.equal(within_seconds=15)
        assert set(rig.held()) == {"b"}
        assert [change.old.name for change in rig.changes if change.new is None and change.old] == ["a"]


async def test_b20_an_object_that_was_known_for_a_moment_only_leaves_no_phantom() -> None:
    async with informed("a") as rig:
        await rig.create("short")
        await asyncio.sleep(0)
        await missed(rig)
        await rig.delete("short")
        rig.lose_history()
        await rig.equal(within_seconds=15)
        assert set(rig.held()) == {"a"}


async def test_b23_indexes_follow_a_deletion_that_only_a_list_shows() -> None:
    async with informed() as rig:
        rig.put("a", text="one")
        rig.put("b", "c", text="two")
        await rig.equal(within_seconds=1)
        rig.server.faults.inject(HideEvents(match=WATCHES, events=Events(types=("DELETED",)), times=1))
        await rig.delete("b")
        await asyncio.sleep(1)
        assert rig.found("two") == ["b", "c"]
        await rig.informer.relist()
        await rig.equal(within_seconds=1)
        assert (rig.found("one"), rig.found("two")) == (["a"], ["c"])


async def test_b26_a_watch_begins_at_the_lists_version_whatever_item_comes_last() -> None:
    rig = Informed()
    rig.put("z", *NAMES)  # the last of the list is the oldest
    async with rig:
        newest = max(int(version) for version in rig.held().values())
        assert int(rig.held()["z"]) < newest
        assert int(rig.resumed_from()[0]) >= newest
        rig.break_watches()
        await asyncio.sleep(5)
        assert int(rig.resumed_from()[1]) >= newest
        assert len(rig.changes) == len(NAMES) + 1


async def test_b27_an_object_that_leaves_the_selector_is_gone_here_and_new_when_it_is_back() -> None:
    rig = Informed(selector="watched=yes")
    rig.put("a", "b", watched="yes")
    async with rig:
        for value in ("no", "yes"):
            labels = {"metadata": {"labels": {"watched": value}}}
            await rig.kubectl.merge_patch(CONFIGMAPS, "default", "a", labels)
            await asyncio.sleep(1)
            assert set(rig.held()) == ({"a", "b"} if value == "yes" else {"b"})
        rig.check()


async def test_b46_a_list_whose_rest_has_expired_begins_again_and_deletes_nothing() -> None:
    """On the third of five pages. What the server offers instead, an inconsistent rest, is not taken."""
    async with informed(*NAMES) as rig:
        shown: list[set[str]] = []

        def expire() -> None:
            rig.server.faults.inject(HideEvents(match=WATCHES))
            rig.put("later")
            rig.lose_history()
            rig.transport.before_page[3] = lambda: shown.append(set(rig.held()))

        rig.transport.before_page[3] = expire
        await rig.informer.relist()
        assert shown == [set(NAMES)]
        assert len([each for each in rig.asked("list") if "continue" not in each.query]) == 3
        assert [change.new.name for change in rig.changes[len(NAMES) :] if change.new] == ["later"]
        assert set(rig.held()) == {*NAMES, "later"}
        rig.check()


async def test_b45_a_server_that_marks_no_end_of_the_initial_events_is_listed_in_pages() -> None:
    rig = Informed(streams=True)
    rig.put(*NAMES)
    rig.server.faults.inject(NoBookmarks(match=WATCHES))
    async with rig:
        assert set(rig.held()) == set(NAMES)
        assert next(each.kind for each in rig.asked()) == "watch"
        [first, *_] = rig.asked("list")
        assert STREAM_QUIET_SECONDS <= first.at <= STREAM_QUIET_SECONDS + 5
        rig.check()


@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.99])
@pytest.mark.parametrize("clean", [False, True])
async def test_b48_a_page_that_breaks_off_is_no_list(part: float, clean: bool) -> None:
    async with informed(*NAMES) as rig:
        before = len(rig.changes)
        rig.server.faults.inject(Cut(match=LISTS, fraction=part, clean=clean, times=1))
        await rig.informer.relist()
        assert len(rig.changes) == before
        assert set(rig.held()) == set(NAMES)
        rig.check()


@pytest.mark.parametrize("piece_bytes", [1, 2, 3, 5, 7])
async def test_b47_characters_that_are_cut_in_two_arrive_whole(piece_bytes: int) -> None:
    """In lists and in events."""
    async with informed("a", "b") as rig:
        rig.server.faults.inject(Slice(match=INFORMED, piece_bytes=piece_bytes))
        await rig.informer.relist()
        await asyncio.sleep(1)
        for number in range(5):
            await rig.change("a", f"{'é漢🦊' * 20}{number}")
        await rig.equal(within_seconds=5)
        assert rig.informer.trouble == ""
        assert len(rig.asked("watch")) == 2
        assert rig.found(f"{'é漢🦊' * 20}4") == ["a"]


@pytest.mark.parametrize("old", [False, True], ids=["an event in the stream", "a status"])
async def test_b29_b30_what_follows_a_lost_history_is_a_list_that_names_a_version_which_was_seen_or_none(
    old: bool,
) -> None:
    async with informed("a") as rig:
        rig.server.settings.watch_expired_as_status = old
        before = len(rig.asked())
        seen = rig.informer.store.resource_version
        rig.server.faults.inject(ExpireWatch(match=WATCHES, times=1))
        await asyncio.sleep(5)
        after = rig.asked()[before:]
        assert [each.kind for each in after] == ["list", "watch"]
        assert after[0].query.get("resourceVersion", seen) == seen
        assert after[1].query["resourceVersion"].isdigit()


async def test_b32_b33_lists_that_are_too_old_to_watch_from_are_fetched_with_pauses_and_from_the_quorum() -> None:
    """Ten minutes of it, then all is well within half a minute."""
    async with informed("a") as rig:
        began = asyncio.get_running_loop().time()
        expire = rig.server.faults.inject(ExpireWatch(match=WATCHES))
        await asyncio.sleep(600)
        lists = rig.asked("list", since=began)
        assert 10 < len(lists) <= 600 / 3
        assert all("resourceVersion" not in each.query for each in lists[1:])
        late = [each for each in lists if each.at > began + 540]
        assert 6 <= len(late) <= 24
        expire.release()
        await rig.change("a", "x")
        await rig.equal(within_seconds=35)
