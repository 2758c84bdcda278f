"""The gate of one key: what it wrote must be in its view before it runs again."""

from __future__ import annotations

import pytest

from shards.gates.handover_gate import mark_of
from shards.gates.missed import MOST
from shards.gates.own_writes import Barrier, Blocked, OwnWrites, Phase
from shards.informers.namespaced_store import NamespacedReader
from shards.objects import Key, ObjectName, Resource
from shards.stores.store import Entry, StoreReader, StoreWriter
from shards.versions import Incomparable
from tests.unit.shards.gates.stores import KEY, OTHER, PAGE, PAGES, SITES, Cache, meta


@pytest.fixture
def cache() -> Cache:
    return Cache()


@pytest.fixture
def writes() -> OwnWrites:
    return OwnWrites()


def created(writes: OwnWrites, version: int = 20, uid: str = "u1", key: Key = KEY) -> Barrier:
    barrier = writes.begin(key, PAGES, PAGE, "")
    writes.landed(barrier, uid, str(version))
    return barrier


class TestOwnWrites:
    def test_a_key_that_wrote_nothing_is_free(self, writes: OwnWrites, cache: Cache) -> None:
        assert writes.blocked(KEY, cache.views) is None

    def test_a_key_waits_until_the_view_shows_its_write(self, writes: OwnWrites, cache: Cache) -> None:
        created(writes, 20)
        assert writes.blocked(KEY, cache.views) == Blocked("v1/configmaps ns/page landed 20", frozenset({PAGES}), False)
        cache.shows(19)
        assert writes.blocked(KEY, cache.views) is not None
        cache.shows(20)
        assert writes.blocked(KEY, cache.views) is None
        assert len(writes) == 0

    def test_a_refused_write_does_not_stand_in_for_a_deletion_that_no_view_shows_yet(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        """Or the next owner, who is told of no refusal, would act on what was deleted."""
        cache.shows(20)
        writes.deleted(writes.begin(KEY, PAGES, PAGE, "u1", "20"), "u1", "20")
        for _ in range(2):
            writes.stale(writes.begin(KEY, PAGES, PAGE, ""))
        unseen = writes.unseen(cache.views)[PAGES]
        assert [each.phase for each in unseen] == [Phase.DELETED, Phase.STALE]
        mark = mark_of("d", PAGES, "20", unseen)
        assert mark is not None
        assert [(each.uid, each.deleted) for each in mark.unseen] == [("u1", True)]

    def test_that_an_object_left_the_view_before_it_came_back_does_not_show_its_deletion(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        cache.shows(18)
        cache.pages.delete(meta(19))
        writes.deleted(writes.begin(KEY, PAGES, PAGE, "u1", "20"), "u1", "20")
        assert writes.blocked(KEY, cache.views) is not None
        cache.shows(20)
        assert writes.blocked(KEY, cache.views) is not None
        cache.pages.delete(meta(21))
        assert writes.blocked(KEY, cache.views) is None

    def test_a_later_version_counts_too(self, writes: OwnWrites, cache: Cache) -> None:
        created(writes, 20)
        cache.shows(31)
        assert writes.blocked(KEY, cache.views) is None

    def test_versions_are_compared_by_length_first(self, writes: OwnWrites, cache: Cache) -> None:
        created(writes, 100)
        cache.shows(99)
        assert writes.blocked(KEY, cache.views) is not None

    def test_other_keys_are_not_held_back(self, writes: OwnWrites, cache: Cache) -> None:
        created(writes)
        assert writes.blocked(OTHER, cache.views) is None

    def test_a_request_on_the_wire_blocks_its_key(self, writes: OwnWrites, cache: Cache) -> None:
        writes.begin(KEY, PAGES, PAGE, "")
        cache.shows(99)
        blocked = writes.blocked(KEY, cache.views)
        assert blocked is not None
        assert blocked.needs_read

    def test_a_write_that_failed_blocks_nothing(self, writes: OwnWrites, cache: Cache) -> None:
        writes.failed(writes.begin(KEY, PAGES, PAGE, ""))
        assert writes.blocked(KEY, cache.views) is None
        assert len(writes) == 0

    def test_every_write_counts_but_only_the_latest_of_an_object(self, writes: OwnWrites, cache: Cache) -> None:
        created(writes, 20)
        created(writes, 25)
        site = writes.begin(KEY, SITES, ObjectName("ns", "a"), "uid-a", "5")
        writes.landed(site, "uid-a", "22")
        assert len(writes.waiting(KEY, cache.views)) == 2
        cache.shows(25)
        assert writes.waiting(KEY, cache.views) == (site,)

    def test_answers_that_come_in_the_other_order_leave_the_later_version(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        first, second = (writes.begin(KEY, PAGES, PAGE, "u1", "10") for _ in range(2))
        writes.landed(second, "u1", "21")
        writes.landed(first, "u1", "20")
        cache.shows(20)
        assert writes.blocked(KEY, cache.views) is not None
        cache.shows(21)
        assert writes.blocked(KEY, cache.views) is None

    def test_what_was_read_live_must_be_shown_before_the_next_run(self, writes: OwnWrites, cache: Cache) -> None:
        cache.shows(12)
        writes.read(KEY, PAGES, PAGE, "u1", "20")
        assert writes.expects(KEY, PAGES, "u1")
        assert writes.blocked(KEY, cache.views) is not None
        cache.shows(20)
        assert writes.blocked(KEY, cache.views) is None

    def test_a_write_is_seen_when_its_object_was_deleted_after_it(self, writes: OwnWrites, cache: Cache) -> None:
        created(writes, 20)
        cache.pages.delete(meta(21))
        assert writes.blocked(KEY, cache.views) is None

    def test_a_bookmark_past_the_write_of_an_object_that_is_gone_frees_the_key(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        created(writes, 20)
        cache.pages.bookmark("19")
        assert writes.blocked(KEY, cache.views) is not None
        cache.pages.bookmark("20")
        assert writes.blocked(KEY, cache.views) is None

    def test_a_list_past_the_write_frees_the_key(self, writes: OwnWrites, cache: Cache) -> None:
        created(writes, 20)
        cache.pages.replace([Entry(meta(20), b"{}")], "24")
        assert writes.blocked(KEY, cache.views) is None

    def test_a_view_that_goes_back_closes_the_gate_again(self, writes: OwnWrites, cache: Cache) -> None:
        created(writes, 20)
        cache.shows(20)
        assert writes.shown(KEY, cache.views)
        cache.pages.replace([Entry(meta(5), b"{}")], "6")
        assert not writes.shown(KEY, cache.views)
        assert writes.blocked(KEY, cache.views) is not None

    def test_a_view_of_another_resource_raises_and_opens_nothing(self, writes: OwnWrites, cache: Cache) -> None:
        created(writes, 20)
        cache.writers[SITES].bookmark("99")
        with pytest.raises(Incomparable, match="websites say nothing about v1/configmaps"):
            writes.blocked(KEY, {PAGES: cache.views[SITES], SITES: cache.views[PAGES]})
        assert len(writes) == 1

    def test_a_view_that_is_not_there_or_has_no_list_opens_nothing(self, writes: OwnWrites, cache: Cache) -> None:
        """The first store of KEP-5647 took both for ready."""
        created(writes, 20)
        with pytest.raises(KeyError):
            writes.blocked(KEY, {SITES: cache.views[SITES]})
        assert writes.blocked(KEY, {PAGES: StoreWriter(resource=PAGES).reader}) is not None

    def test_an_answer_whose_version_nobody_can_order_waits_for_that_very_version(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        writes.landed(writes.begin(KEY, PAGES, PAGE, "u1", "12"), "u1", "v7")
        cache.shows(99)
        cache.pages.bookmark("500")
        assert writes.blocked(KEY, cache.views) is not None

    def test_progress_of_a_resource_says_nothing_about_another(self, writes: OwnWrites, cache: Cache) -> None:
        created(writes, 20)
        cache.writers[SITES].bookmark("99")
        assert writes.blocked(KEY, cache.views) is not None


class TestDeletions:
    def deleted(self, writes: OwnWrites, version: str = "20") -> Barrier:
        barrier = writes.begin(KEY, PAGES, PAGE, "u1", version)
        writes.deleted(barrier, "u1", version)
        return barrier

    def test_a_key_waits_until_the_view_shows_that_the_object_is_gone(self, writes: OwnWrites, cache: Cache) -> None:
        cache.shows(20)
        self.deleted(writes)
        assert writes.blocked(KEY, cache.views) is not None
        cache.shows(21)
        assert writes.blocked(KEY, cache.views) is not None
        cache.pages.delete(meta(22))
        assert writes.blocked(KEY, cache.views) is None

    def test_an_object_that_the_view_never_saw_is_not_gone(self, writes: OwnWrites, cache: Cache) -> None:
        self.deleted(writes, "20")
        assert writes.blocked(KEY, cache.views) is not None
        cache.shows(20)
        cache.pages.delete(meta(21))
        assert writes.blocked(KEY, cache.views) is None

    def test_a_successor_under_the_same_name_proves_it(self, writes: OwnWrites, cache: Cache) -> None:
        cache.shows(20)
        self.deleted(writes)
        cache.shows(25, uid="u2")
        assert writes.blocked(KEY, cache.views) is None

    def test_without_a_known_version_only_the_deletion_itself_counts(self, writes: OwnWrites, cache: Cache) -> None:
        self.deleted(writes, "")
        cache.pages.bookmark("500")
        assert writes.blocked(KEY, cache.views) is not None
        cache.pages.delete(meta(501))
        assert writes.blocked(KEY, cache.views) is None


class TestDoubt:
    def test_nothing_that_the_view_shows_ends_a_doubt(self, writes: OwnWrites, cache: Cache) -> None:
        writes.in_doubt(writes.begin(KEY, PAGES, PAGE, ""))
        cache.shows(99)
        cache.pages.bookmark("500")
        blocked = writes.blocked(KEY, cache.views)
        assert blocked is not None
        assert blocked.needs_read

    def test_a_later_write_of_the_object_does_not_end_a_doubt(self, writes: OwnWrites, cache: Cache) -> None:
        writes.in_doubt(writes.begin(KEY, PAGES, PAGE, "u1", "5"))
        created(writes, 20)
        cache.shows(20)
        assert writes.blocked(KEY, cache.views) is not None

    def test_a_later_write_of_the_object_ends_a_refusal(self, writes: OwnWrites, cache: Cache) -> None:
        writes.stale(writes.begin(KEY, PAGES, PAGE, "u1", "5"))
        assert writes.blocked(KEY, cache.views) is not None
        created(writes, 20)
        cache.shows(20)
        assert writes.blocked(KEY, cache.views) is None

    def test_a_live_read_that_finds_the_object_makes_the_key_wait_for_that_version(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        barrier = writes.begin(KEY, PAGES, PAGE, "")
        writes.in_doubt(barrier)
        writes.settle(barrier, meta(30), cache.views[PAGES], admitted=True)
        assert writes.blocked(KEY, cache.views) == Blocked("v1/configmaps ns/page landed 30", frozenset({PAGES}), False)
        cache.shows(30)
        assert writes.blocked(KEY, cache.views) is None

    def test_a_create_that_never_happened_is_forgotten(self, writes: OwnWrites, cache: Cache) -> None:
        barrier = writes.begin(KEY, PAGES, PAGE, "")
        writes.in_doubt(barrier)
        writes.settle(barrier, None, cache.views[PAGES], admitted=False)
        assert writes.blocked(KEY, cache.views) is None

    def test_an_object_that_turns_out_to_be_gone_must_leave_the_view(self, writes: OwnWrites, cache: Cache) -> None:
        cache.shows(12)
        barrier = writes.begin(KEY, PAGES, PAGE, "u1", "12")
        writes.in_doubt(barrier)
        writes.settle(barrier, None, cache.views[PAGES], admitted=False)
        assert writes.blocked(KEY, cache.views) is not None
        cache.pages.delete(meta(31))
        assert writes.blocked(KEY, cache.views) is None

    def test_a_phantom_under_the_name_of_a_create_must_leave_the_view(self, writes: OwnWrites, cache: Cache) -> None:
        cache.shows(12, uid="old")
        barrier = writes.begin(KEY, PAGES, PAGE, "")
        writes.in_doubt(barrier)
        writes.settle(barrier, None, cache.views[PAGES], admitted=False)
        assert writes.blocked(KEY, cache.views) is not None
        cache.pages.delete(meta(13, uid="old"))
        assert writes.blocked(KEY, cache.views) is None

    def test_an_object_that_the_view_will_never_show_is_not_waited_for(self, writes: OwnWrites, cache: Cache) -> None:
        barrier = writes.begin(KEY, PAGES, PAGE, "")
        writes.in_doubt(barrier)
        writes.settle(barrier, meta(30, uid="foreign"), cache.views[PAGES], admitted=False)
        assert writes.blocked(KEY, cache.views) is None

    def test_what_the_view_will_never_show_ends_a_phantom_under_its_name(self, writes: OwnWrites, cache: Cache) -> None:
        cache.shows(12, uid="old")
        barrier = writes.begin(KEY, PAGES, PAGE, "")
        writes.outside(barrier, "new", cache.views[PAGES])
        assert writes.blocked(KEY, cache.views) is not None, "the answer proves that the object of that name has gone"
        cache.pages.delete(meta(13, uid="old"))
        assert writes.blocked(KEY, cache.views) is None
        writes.outside(writes.begin(KEY, PAGES, PAGE, ""), "new", cache.views[PAGES])
        assert writes.blocked(KEY, cache.views) is None, "the view holds nothing that it could get rid of"

    def test_a_history_that_went_back_is_taken_from_the_live_read(self, writes: OwnWrites, cache: Cache) -> None:
        barrier = created(writes, 2000)
        writes.settle(barrier, meta(30), cache.views[PAGES], admitted=True)
        cache.shows(30)
        assert writes.blocked(KEY, cache.views) is None

    def test_a_live_read_that_comes_too_late_leaves_later_writes_alone(self, writes: OwnWrites, cache: Cache) -> None:
        first = created(writes, 20)
        cache.shows(20)
        assert writes.blocked(KEY, cache.views) is None
        created(writes, 30)
        writes.settle(first, meta(25), cache.views[PAGES], admitted=True)
        cache.shows(25)
        assert writes.blocked(KEY, cache.views) is not None

    def test_a_phantom_of_another_object_must_leave_the_view(self, writes: OwnWrites, cache: Cache) -> None:
        cache.shows(12, uid="old")
        barrier = writes.begin(KEY, PAGES, PAGE, "old", "12")
        writes.stale(barrier)
        writes.settle(barrier, meta(30, uid="foreign"), cache.views[PAGES], admitted=False)
        assert writes.blocked(KEY, cache.views) is not None
        cache.pages.delete(meta(29, uid="old"))
        assert writes.blocked(KEY, cache.views) is None


class TestLostHistory:
    """A server that was restored from a backup: versions from before compare with nothing any more."""

    def test_all_keys_wait_for_a_list_that_began_since_whatever_the_numbers_say(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        created(writes, 2000)
        cache.pages.replace([], "6")
        writes.history_lost(PAGES)
        cache.pages.bookmark("9999")
        for key in (KEY, OTHER):
            blocked = writes.blocked(key, cache.views)
            assert blocked == Blocked(
                "v1/configmaps went back in history and is listed again", frozenset({PAGES}), False, whole=True
            )
            assert not writes.shown(key, cache.views)
        assert writes.levels.lists() == (PAGES,)

    def test_that_list_settles_what_was_written_in_the_history_that_is_over(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        created(writes, 2000)
        deletion = writes.begin(OTHER, PAGES, ObjectName("ns", "gone"), "u2", "1999")
        writes.deleted(deletion, "u2", "1999")
        writes.stale(writes.begin(OTHER, PAGES, ObjectName("ns", "refused"), "u3", "7"))
        cache.pages.replace([Entry(meta(5, uid="u2", name="gone"), b"{}")], "6")
        writes.history_lost(PAGES)
        writes.levels.listed(PAGES, writes.levels.numbers)
        assert writes.blocked(KEY, cache.views) is None
        assert writes.blocked(OTHER, cache.views) is None

    def test_a_list_that_was_asked_for_before_the_history_went_back_settles_nothing(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        asked = writes.levels.numbers
        writes.history_lost(PAGES)
        writes.levels.listed(PAGES, asked)
        assert writes.blocked(KEY, cache.views) is not None
        asked = writes.levels.numbers
        writes.history_lost(PAGES)
        writes.levels.listed(PAGES, asked)
        assert writes.blocked(KEY, cache.views) is not None, "it went back once more since"

    def test_doubts_and_other_resources_stay_as_they_are(self, writes: OwnWrites, cache: Cache) -> None:
        doubt = writes.begin(KEY, PAGES, PAGE, "")
        writes.in_doubt(doubt)
        site = writes.begin(KEY, SITES, ObjectName("ns", "a"), "uid-a", "5")
        writes.landed(site, "uid-a", "12")
        writes.history_lost(PAGES)
        writes.levels.listed(PAGES, writes.levels.numbers)
        assert writes.waiting(KEY, cache.views) == (doubt, site)


class TestHousekeeping:
    def test_a_sweep_forgets_what_the_view_shows_and_reaches_every_key_in_turn(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        for index in range(10):
            created(writes, 20 + index, key=Key("ns", f"k{index}", f"u{index}"))
        cache.shows(24)
        for _ in range(4):
            writes.sweep(cache.views, 0.0, limit=3)
        assert len(writes) == 5

    def test_a_sweep_keeps_what_is_not_seen(self, writes: OwnWrites, cache: Cache) -> None:
        created(writes, 20)
        writes.sweep(cache.views, 0.0)
        assert writes.blocked(KEY, cache.views) is not None

    def test_a_write_that_is_not_shown_for_long_makes_its_key_overdue_now_and_then(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        created(writes, 20)
        told = [now for now in range(1000, 1200) if writes.sweep(cache.views, float(now)) == [KEY]]
        assert told == [1075, 1150]
        cache.shows(20)
        assert writes.sweep(cache.views, 2000.0) == []

    def test_what_came_and_went_between_two_lists_wakes_its_key_as_no_event_will(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        created(writes, 20)
        cache.pages.replace([], "21")
        assert writes.sweep(cache.views, 0.0) == [KEY]
        assert writes.sweep(cache.views, 1.0) == []

    def test_what_had_left_the_view_before_the_write_was_not_seen_to_go(self, writes: OwnWrites, cache: Cache) -> None:
        cache.shows(18)
        cache.pages.replace([], "19")
        created(writes, 20)
        cache.pages.replace([], "21")
        assert writes.sweep(cache.views, 0.0) == [KEY]

    def test_the_end_of_what_the_view_never_held_told_nobody(self, writes: OwnWrites, cache: Cache) -> None:
        created(writes, 20)
        cache.pages.delete(meta(21))
        assert writes.sweep(cache.views, 0.0) == [KEY]

    def test_what_came_and_went_while_a_list_was_under_way_wakes_its_key(self, writes: OwnWrites, cache: Cache) -> None:
        created(writes, 20)
        listed = cache.pages.begin()
        listed.add(Entry(meta(20), b"{}"))
        listed.remove(meta(21))
        assert list(listed.commit("22")) == []
        assert writes.sweep(cache.views, 0.0) == [KEY]

    def test_what_goes_while_a_list_is_under_way_and_was_there_before_wakes_nobody_twice(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        created(writes, 20)
        cache.shows(20)
        listed = cache.pages.begin()
        listed.add(Entry(meta(20), b"{}"))
        listed.remove(meta(21))
        assert len(list(listed.commit("22"))) == 1
        assert writes.sweep(cache.views, 0.0) == []

    def test_every_key_is_woken_whose_writes_no_view_tells_of_however_many_they_are(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        first, per_key = [Key("ns", str(number), f"uid-{number}") for number in range(3)], MOST // 2
        for key in first:
            for child in range(per_key):
                uid = f"{key.name}-{child}"
                writes.landed(writes.begin(key, PAGES, ObjectName("ns", uid), ""), uid, "20")
        cache.pages.replace([], "21")
        assert sorted(writes.sweep(cache.views, 0.0)) == sorted(first)

    def test_a_key_that_finds_again_what_no_view_shows_is_woken_ever_more_seldom(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        cache.pages.replace([], "21")
        told = []
        for now in range(100):
            created(writes, 20)
            told += [now] if writes.sweep(cache.views, float(now)) else []
        assert told == [0, 2, 5, 10, 19, 36, 69]

    def test_what_was_seen_to_go_wakes_nobody_twice(self, writes: OwnWrites, cache: Cache) -> None:
        created(writes, 20)
        cache.shows(20)
        cache.pages.replace([], "21")
        assert writes.sweep(cache.views, 0.0) == []


class TestTheBound:
    """Two writes are remembered one by one; what comes beyond that is known by what the view has to reach."""

    @pytest.fixture
    def writes(self) -> OwnWrites:
        return OwnWrites(most=2)

    def children(self, writes: OwnWrites, versions: range, key: Key = KEY) -> None:
        for version in versions:
            barrier = writes.begin(key, PAGES, ObjectName("ns", f"p{version}"), "")
            writes.landed(barrier, f"u{version}", str(version))

    def test_writes_beyond_it_wait_for_the_view_as_a_whole(self, writes: OwnWrites, cache: Cache) -> None:
        self.children(writes, range(20, 30))
        assert len(writes.waiting(KEY, cache.views)) == 2
        for version in (20, 21, 28):
            cache.pages.apply(meta(version, uid=f"u{version}", name=f"p{version}"), b"{}")
        blocked = writes.blocked(KEY, cache.views)
        assert blocked is not None
        assert (blocked.whole, blocked.needs_read) == (True, False)
        assert "has to reach 29: more writes than are remembered one by one" in blocked.reason
        assert not writes.shown(KEY, cache.views)
        cache.pages.bookmark("29")
        assert writes.blocked(KEY, cache.views) is None
        assert KEY not in writes

    def test_nothing_is_destroyed_at_it(self, writes: OwnWrites, cache: Cache) -> None:
        assert not writes.full(KEY)
        self.children(writes, range(20, 22))
        assert writes.full(KEY)
        assert writes.full(OTHER)
        cache.pages.replace([], "21")
        writes.sweep(cache.views, 0.0)
        assert not writes.full(OTHER)

    def test_a_key_beyond_it_stays_so_until_its_view_is_there(self, writes: OwnWrites, cache: Cache) -> None:
        self.children(writes, range(20, 22))
        self.children(writes, range(22, 24), OTHER)
        cache.pages.bookmark("21")
        writes.sweep(cache.views, 0.0)
        assert not writes.full(KEY)
        assert writes.full(OTHER)
        cache.pages.bookmark("23")
        writes.sweep(cache.views, 0.0)
        assert not writes.full(OTHER)

    @pytest.mark.parametrize("outcome", ["in doubt", "deleted", "refused", "odd"])
    def test_what_no_version_shows_waits_for_a_list(self, writes: OwnWrites, cache: Cache, outcome: str) -> None:
        self.children(writes, range(20, 22))
        barrier = writes.begin(OTHER, PAGES, PAGE, "u1", "12")
        if outcome == "in doubt":
            writes.in_doubt(barrier)
        elif outcome == "deleted":
            writes.deleted(barrier, "u1", "12")
        elif outcome == "refused":
            writes.stale(barrier)
        else:
            writes.landed(barrier, "u1", "v7")
        cache.pages.bookmark("999")
        blocked = writes.blocked(OTHER, cache.views)
        assert blocked is not None
        assert blocked.whole
        assert writes.levels.lists() == (PAGES,)
        assert writes.blocked(KEY, cache.views) is None
        writes.levels.listed(PAGES, writes.levels.numbers)
        assert writes.blocked(OTHER, cache.views) is None

    def test_a_list_that_was_asked_for_before_a_write_does_not_show_it(self, writes: OwnWrites, cache: Cache) -> None:
        self.children(writes, range(20, 22))
        writes.in_doubt(writes.begin(OTHER, PAGES, PAGE, ""))
        asked = writes.levels.numbers
        writes.in_doubt(writes.begin(OTHER, PAGES, ObjectName("ns", "later"), ""))
        writes.levels.listed(PAGES, asked)
        assert writes.blocked(OTHER, cache.views) is not None

    def test_nor_does_it_end_the_wait_for_a_version(self, writes: OwnWrites, cache: Cache) -> None:
        asked = writes.levels.numbers + 1
        self.children(writes, range(20, 23))
        writes.levels.listed(PAGES, asked)
        assert writes.blocked(KEY, cache.views) is not None

    def test_memory_is_bounded_by_keys_however_much_is_written(self, writes: OwnWrites) -> None:
        for key in (KEY, OTHER):
            self.children(writes, range(20, 2_000), key)
        assert writes._held == 2
        assert sum(map(len, writes.levels._keys.values())) == 2


class TestSeveralInformers:
    """One resource watched namespace by namespace: what is said of the whole is what the oldest view says."""

    @pytest.fixture
    def parts(self) -> dict[str, StoreWriter]:
        made = {namespace: StoreWriter(resource=PAGES) for namespace in ("ns", "other")}
        for part in made.values():
            part.replace([], "10")
        return made

    def views(self, parts: dict[str, StoreWriter]) -> dict[Resource, StoreReader]:
        return {PAGES: NamespacedReader({name: part.reader for name, part in parts.items()}, lambda _: True)}

    def test_an_object_is_judged_by_the_view_of_its_own_namespace(
        self, writes: OwnWrites, parts: dict[str, StoreWriter]
    ) -> None:
        created(writes, 20)
        parts["other"].bookmark("99")
        assert writes.blocked(KEY, self.views(parts)) is not None
        parts["ns"].apply(meta(20), b"{}")
        assert writes.blocked(KEY, self.views(parts)) is None

    def test_writes_beyond_the_bound_wait_for_the_oldest_view(self, parts: dict[str, StoreWriter]) -> None:
        writes = OwnWrites(most=0)
        created(writes, 20)
        parts["ns"].bookmark("99")
        assert writes.blocked(KEY, self.views(parts)) is not None
        parts["other"].bookmark("20")
        assert writes.blocked(KEY, self.views(parts)) is None

    def test_a_history_that_goes_back_in_one_namespace_goes_back_for_the_whole(
        self, parts: dict[str, StoreWriter]
    ) -> None:
        (view,) = self.views(parts).values()
        assert view.version.text == "10"
        parts["other"].replace([], "7")
        assert view.regressions == 1
        assert view.version.text == "7"
