"""The gates: what a key, or a shard, must have seen before it runs."""

from __future__ import annotations

import random

import pytest

from shards.gate import (
    LONGEST_PROBE_SECONDS,
    MAX_UNSEEN,
    Barrier,
    Blocked,
    HandoverGate,
    OwnWrites,
    Parking,
    Phase,
    mark_of,
)
from shards.objects import Key, Meta, ObjectName, Resource
from shards.store import Entry, StoreWriter
from shards.watermark import ResourceMark, Unseen, Watermark

SITES = Resource("demo", "v1", "websites")
PAGES = Resource("", "v1", "configmaps")
KEY = Key("ns", "a", "uid-a")
OTHER = Key("ns", "b", "uid-b")
PAGE = ObjectName("ns", "page")


def meta(version: int, *, uid: str = "u1", name: str = "page") -> Meta:
    return Meta(name=name, namespace="ns", uid=uid, resource_version=str(version))


class Cache:
    """Two stores that are synced at version 10."""

    def __init__(self) -> None:
        self.writers = {SITES: StoreWriter(), PAGES: StoreWriter()}
        for writer in self.writers.values():
            writer.replace([], "10")
        self.views = {resource: writer.reader for resource, writer in self.writers.items()}
        self.pages = self.writers[PAGES]

    def shows(self, version: int, *, uid: str = "u1") -> None:
        self.pages.apply(meta(version, uid=uid), b"{}")


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


class TestHousekeeping:
    def test_a_sweep_forgets_what_the_view_shows_and_reaches_every_key_in_turn(
        self, writes: OwnWrites, cache: Cache
    ) -> None:
        for index in range(10):
            created(writes, 20 + index, key=Key("ns", f"k{index}", f"u{index}"))
        cache.shows(24)
        for _ in range(4):
            writes.sweep(cache.views, limit=3)
        assert len(writes) == 5

    def test_a_sweep_keeps_what_is_not_seen(self, writes: OwnWrites, cache: Cache) -> None:
        created(writes, 20)
        writes.sweep(cache.views)
        assert writes.blocked(KEY, cache.views) is not None


class TestParking:
    BLOCKED = Blocked("why", frozenset({PAGES}), False)

    @pytest.fixture
    def parking(self) -> Parking:
        return Parking(random.Random(3))

    def test_looks_that_are_due_come_at_doubling_distances_up_to_five_seconds(self, parking: Parking) -> None:
        now, delays = 0.0, []
        for _ in range(12):
            delays.append(parking.park(KEY, self.BLOCKED, now))
            now += delays[-1]
        assert 0.08 <= delays[0] <= 0.1
        assert all(0.8 * min(0.1 * 2**n, 5.0) <= delay <= min(0.1 * 2**n, 5.0) for n, delay in enumerate(delays))
        assert max(delays) <= LONGEST_PROBE_SECONDS

    def test_looks_that_events_cause_change_no_date(self, parking: Parking) -> None:
        first = parking.park(KEY, self.BLOCKED, 0.0)
        again = parking.park(KEY, self.BLOCKED, 0.01)
        assert again == pytest.approx(first - 0.01)
        assert parking.keys[KEY].probes == 0

    def test_only_keys_that_wait_for_the_resource_are_looked_at(self, parking: Parking) -> None:
        parking.park(KEY, self.BLOCKED, 0.0)
        parking.park(OTHER, Blocked("why", frozenset({SITES}), False), 0.0)
        assert parking.on(PAGES) == (KEY,)
        parking.park(KEY, Blocked("why", frozenset({SITES}), False), 1.0)
        assert parking.on(PAGES) == ()
        assert set(parking.on(SITES)) == {KEY, OTHER}

    def test_a_released_key_leaves_nothing_behind(self, parking: Parking) -> None:
        parking.park(KEY, self.BLOCKED, 0.0)
        parking.release(KEY)
        parking.release(KEY)
        assert len(parking) == 0
        assert parking.on(PAGES) == ()

    def test_a_key_whose_live_read_failed_is_looked_at_rarely(self, parking: Parking) -> None:
        parking.park(KEY, self.BLOCKED, 0.0)
        parking.pause(KEY, 1.0)
        assert 3.0 <= parking.park(KEY, self.BLOCKED, 2.0) <= 4.0

    def test_a_key_that_was_freed_while_its_live_read_failed_is_not_paused(self, parking: Parking) -> None:
        parking.park(KEY, self.BLOCKED, 0.0)
        parking.release(KEY)
        parking.pause(KEY, 1.0)
        assert len(parking) == 0


class TestMarks:
    def barrier(self, phase: Phase, version: str = "20") -> Barrier:
        return Barrier(KEY, PAGES, PAGE, "u1", version, phase)

    def test_unseen_writes_and_deletions_are_listed(self) -> None:
        mark = mark_of("d", PAGES, "20", [self.barrier(Phase.LANDED), self.barrier(Phase.DELETED, "18")])
        assert mark == ResourceMark(
            "d",
            "20",
            (
                Unseen("v1/configmaps", "ns", "page", "u1", "20"),
                Unseen("v1/configmaps", "ns", "page", "u1", "18", deleted=True),
            ),
        )

    @pytest.mark.parametrize("phase", [Phase.SENT, Phase.IN_DOUBT])
    def test_a_doubt_makes_the_next_owner_list(self, phase: Phase) -> None:
        assert mark_of("d", PAGES, "20", [self.barrier(phase)]) is None

    def test_a_refused_write_is_nothing_to_wait_for(self) -> None:
        assert mark_of("d", PAGES, "20", [self.barrier(Phase.STALE)]) == ResourceMark("d", "20")

    def test_too_many_unseen_writes_make_the_next_owner_list(self) -> None:
        many = [self.barrier(Phase.LANDED)] * MAX_UNSEEN
        assert mark_of("d", PAGES, "20", many) is not None
        assert mark_of("d", PAGES, "20", [*many, self.barrier(Phase.LANDED)]) is None


DIGESTS = {"pages": "d"}


class TestHandoverGate:
    def gate(self, mark: ResourceMark | None, *, epoch: int = 4, expected: int = 4) -> HandoverGate:
        watermark = None if mark is None else Watermark(epoch, {"pages": mark})
        return HandoverGate(watermark, expected, DIGESTS)

    def test_it_opens_when_the_view_is_at_the_mark(self, cache: Cache) -> None:
        gate = self.gate(ResourceMark("d", "20"))
        views = {"pages": cache.views[PAGES]}
        assert gate.reason(views) == "pages: is at 10, behind the watermark 20"
        cache.pages.bookmark("20")
        assert gate.open(views)

    def test_an_object_at_the_mark_is_enough(self, cache: Cache) -> None:
        gate = self.gate(ResourceMark("d", "20"))
        cache.shows(21)
        assert gate.open({"pages": cache.views[PAGES]})

    def test_a_view_that_never_held_an_object_has_no_mark_to_reach(self, cache: Cache) -> None:
        assert self.gate(ResourceMark("d", "")).open({"pages": cache.views[PAGES]})

    def test_a_view_without_a_complete_list_is_never_open(self) -> None:
        assert not self.gate(ResourceMark("d", "")).open({"pages": StoreWriter().reader})

    @pytest.mark.parametrize(
        "gate",
        [
            HandoverGate(None, 4, DIGESTS),
            HandoverGate(Watermark(3, {"pages": ResourceMark("d", "5")}), 4, DIGESTS),
            HandoverGate(Watermark(4, {"pages": ResourceMark("another view", "5")}), 4, DIGESTS),
            HandoverGate(Watermark(4, {"others": ResourceMark("d", "5")}), 4, DIGESTS),
        ],
        ids=["no watermark", "another epoch", "another digest", "no mark"],
    )
    def test_without_a_usable_mark_only_a_list_after_the_claim_opens_it(self, gate: HandoverGate, cache: Cache) -> None:
        views = {"pages": cache.views[PAGES]}
        assert gate.needs_list("pages")
        cache.pages.bookmark("999")
        assert not gate.open(views)
        gate.listed("pages", "999")
        assert not gate.needs_list("pages")
        assert gate.open(views)

    def test_a_view_that_went_back_behind_its_list_closes_it_again(self, cache: Cache) -> None:
        gate = self.gate(None)
        views = {"pages": cache.views[PAGES]}
        gate.listed("pages", "10")
        assert gate.open(views)
        cache.pages.replace([], "7")
        assert gate.reason(views) == "pages: is behind its own list at 10"
        gate.demand_list("pages")
        assert gate.needs_list("pages")

    def test_unseen_writes_must_be_shown_one_by_one(self, cache: Cache) -> None:
        unseen = (Unseen("v1/configmaps", "ns", "page", "u1", "20"),)
        gate = self.gate(ResourceMark("d", "20", unseen))
        views = {"pages": cache.views[PAGES]}
        cache.pages.apply(meta(21, name="other", uid="u2"), b"{}")
        assert gate.open(views), "a view at 21 that does not hold the object proves it gone"
        cache.pages.replace([Entry(meta(15), b"{}"), Entry(meta(21, name="other", uid="u2"), b"{}")], "20")
        assert gate.reason(views) == "pages: has not shown the old owner's write to ns/page"

    def test_an_unseen_deletion_is_shown_by_absence_from_a_view_past_the_mark(self, cache: Cache) -> None:
        unseen = (Unseen("v1/configmaps", "ns", "page", "u1", "12", deleted=True),)
        gate = self.gate(ResourceMark("d", "12", unseen))
        views = {"pages": cache.views[PAGES]}
        cache.shows(12)
        assert not gate.open(views)
        cache.pages.delete(meta(23))
        assert gate.open(views)

    def test_a_demanded_list_replaces_the_mark(self, cache: Cache) -> None:
        gate = self.gate(ResourceMark("d", "20"))
        gate.demand_list("pages")
        assert gate.needs_list("pages")
        gate.listed("pages", "10")
        assert gate.open({"pages": cache.views[PAGES]})
