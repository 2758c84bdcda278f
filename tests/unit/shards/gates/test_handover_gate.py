"""The gate of a shard: what the next owner's views must have seen."""

from __future__ import annotations

import pytest

from shards.gates.handover_gate import MAX_UNSEEN, HandoverGate, mark_of
from shards.gates.own_writes import Barrier, Phase
from shards.gates.watermark import ResourceMark, Unseen, Watermark
from shards.stores.store import Entry, StoreWriter
from tests.unit.shards.gates.stores import KEY, PAGE, PAGES, Cache, meta


@pytest.fixture
def cache() -> Cache:
    return Cache()


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

    @pytest.mark.parametrize("usable", [True, False])
    def test_a_history_that_goes_back_while_it_is_closed_needs_another_list(self, cache: Cache, usable: bool) -> None:
        gate = self.gate(ResourceMark("d", "20") if usable else None)
        views = {"pages": cache.views[PAGES]}
        gate.rearm(views)
        if not usable:
            gate.listed("pages", "10", regressions=0)
        cache.pages.replace([], "7")
        gate.rearm(views)
        assert gate.needs_list("pages")
        cache.pages.bookmark("25")
        assert not gate.open(views), "a version of the new history says nothing about a mark of the old one"
        gate.listed("pages", "25", regressions=1)
        gate.rearm(views)
        assert gate.open(views)

    def test_the_list_that_finds_a_history_gone_back_is_the_one_that_was_needed(self, cache: Cache) -> None:
        gate = self.gate(None)
        views = {"pages": cache.views[PAGES]}
        gate.rearm(views)
        cache.pages.replace([], "7")
        gate.listed("pages", "7", cache.views[PAGES].regressions)
        gate.rearm(views)
        assert gate.open(views)

    def test_a_mark_about_another_resource_opens_nothing(self, cache: Cache) -> None:
        gate = self.gate(ResourceMark("d", "5", (Unseen("v1/pods", "ns", "page", "u1", "5"),)))
        assert "v1/pods ns/page, of which it knows nothing" in gate.reason({"pages": cache.views[PAGES]})

    def test_a_demanded_list_replaces_the_mark(self, cache: Cache) -> None:
        gate = self.gate(ResourceMark("d", "20"))
        gate.demand_list("pages")
        assert gate.needs_list("pages")
        gate.listed("pages", "10")
        assert gate.open({"pages": cache.views[PAGES]})
