"""Every oracle is shown to fire on a history that breaks its promise, and to be silent on one that keeps it."""

from __future__ import annotations

import msgspec
import pytest

from fleet.devcluster.evidence.verdict import Gap, Verdict
from fleet.devcluster.judging.judge import judge
from fleet.devcluster.recording.journal import GAP, LATE, LOST, RESTORED
from fleet.records.object_names import LEASES
from fleet.records.record import ShardStatus
from shards.journal import Note
from shards.keyrange import SPACE, WHOLE, KeyRange, PartitionKey
from tests.unit.fleet.devcluster.chronicle import LOWER, NAMES, UPPER, Chronicle, two_members, uid_in

LOW, HIGH = uid_in(LOWER), uid_in(UPPER)


def rules(verdict: Verdict) -> list[str]:
    return [finding.rule for finding in verdict.findings]


@pytest.fixture
def story() -> Chronicle:
    return two_members()


def test_a_history_that_keeps_every_promise_is_clean(story: Chronicle) -> None:
    story.write("create", LOW, "a@1", name="child", uid="c1", owner_uid=LOW)
    story.write("patch", HIGH, "b@1", subresource="status", uid=HIGH, content="x")
    story.shard(LOWER, 2, released_by="a@1")
    story.shard(LOWER, 3, "b@1")
    story.write("patch", LOW, "b@1", subresource="status", uid=LOW, content="x")
    verdict = judge(story.entries)
    assert verdict.clean
    assert verdict.findings == []
    assert (verdict.children, verdict.child_posts, verdict.status_writes, verdict.fleet_writes) == (1, 1, 2, 3)
    assert verdict.takeovers == 0


def test_after_a_restore_epochs_and_children_come_again_and_overlaps_are_found_as_before(story: Chronicle) -> None:
    story.write("create", LOW, "a@1", name="child", uid="c1", owner_uid=LOW)
    story.add(RESTORED, "", "")
    verdict = judge(story.entries)
    assert (verdict.clean, verdict.missing) == (True, 0)
    story.member("a", 1)
    story.member("b", 1)
    story.shard(LOWER, 1, "b@1")
    story.write("create", LOW, "b@1", name="child", uid="c2", owner_uid=LOW)
    assert judge(story.entries).clean
    assert judge(story.entries).broken_invariants == []
    story.write("patch", LOW, "a@1", name="child", uid="c2")
    assert judge(story.entries).overlap_violations == 1


def test_children_are_counted_while_they_live(story: Chronicle) -> None:
    story.write("create", LOW, "a@1", name="one", uid="c1", owner_uid=LOW)
    story.write("create", LOW, "a@1", name="two", uid="c2", owner_uid=LOW)
    story.add("delete", "v1/configmaps", "one", uid="c1", removed=True)
    verdict = judge(story.entries)
    assert (verdict.children, verdict.child_posts) == (1, 2)


def test_posting_a_living_child_again_is_a_duplicate(story: Chronicle) -> None:
    story.write("create", LOW, "a@1", name="child", uid="c1", owner_uid=LOW)
    story.write("create", LOW, "a@1", name="child", status=409)
    verdict = judge(story.entries)
    assert verdict.duplicate_child_posts == 1
    assert verdict.child_posts == 2
    assert not verdict.clean


def test_a_second_create_that_succeeds_shows_that_the_first_child_is_gone(story: Chronicle) -> None:
    """The server has one object of a name; a proxy's journal need not tell of every deletion."""
    for uid in ("c1", "c2"):
        story.write("create", LOW, "a@1", name="child", uid=uid, owner_uid=LOW)
    verdict = judge(story.entries)
    assert verdict.duplicate_child_posts == 0
    assert verdict.children == 1


def test_posting_a_child_again_after_its_deletion_is_no_duplicate(story: Chronicle) -> None:
    story.write("create", LOW, "a@1", name="child", uid="c1", owner_uid=LOW)
    story.add("delete", "v1/configmaps", "child", uid="c1", removed=True)
    story.write("create", LOW, "a@1", name="child", uid="c2", owner_uid=LOW)
    assert judge(story.entries).duplicate_child_posts == 0


def test_meeting_the_child_of_somebody_else_is_no_duplicate(story: Chronicle) -> None:
    story.write("create", HIGH, "b@1", name="child", uid="c1", owner_uid=HIGH)
    story.write("create", LOW, "a@1", name="child", status=409)
    assert judge(story.entries).duplicate_child_posts == 0


def test_writing_the_same_status_twice_in_a_row_is_a_duplicate(story: Chronicle) -> None:
    for content in ("x", "y", "y"):
        story.write("patch", LOW, "a@1", subresource="status", uid=LOW, content=content)
    verdict = judge(story.entries)
    assert (verdict.status_writes, verdict.duplicate_status_writes) == (3, 1)


def test_returning_to_an_earlier_status_is_no_duplicate(story: Chronicle) -> None:
    for content in ("x", "y", "x"):
        story.write("patch", LOW, "a@1", subresource="status", uid=LOW, content=content)
    assert judge(story.entries).duplicate_status_writes == 0


def test_repairing_a_status_that_somebody_else_wrote_is_no_duplicate(story: Chronicle) -> None:
    story.write("patch", LOW, "a@1", subresource="status", uid=LOW, content="x")
    story.add("patch", "v1/configmaps", "thing", subresource="status", uid=LOW, content="y", user_agent="kubectl/1")
    story.write("patch", LOW, "a@1", subresource="status", uid=LOW, content="x")
    verdict = judge(story.entries)
    assert (verdict.status_writes, verdict.duplicate_status_writes) == (2, 0)


def test_a_claim_over_a_holder_that_had_not_released_is_a_takeover(story: Chronicle) -> None:
    story.member("a", 2, held=False, by="agent@1")
    story.shard(LOWER, 3, "b@1")
    verdict = judge(story.entries)
    assert verdict.takeovers == 1
    assert verdict.clean
    first, second = verdict.timeline[str(LOWER)]
    assert (first.holder, first.ended_by) == ("a@1", "takeover")
    assert (second.holder, second.over, second.epoch) == ("b@1", "a@1", 3)


def test_two_live_incarnations_with_overlapping_ranges_are_a_violation(story: Chronicle) -> None:
    story.shard(WHOLE, 2, "b@1")
    verdict = judge(story.entries)
    assert verdict.overlap_violations == 1
    assert "a@1 holds" in verdict.findings[0].what


def test_an_overlap_is_counted_when_it_begins_and_not_again_while_it_lasts(story: Chronicle) -> None:
    story.shard(WHOLE, 2, "b@1")
    story.member("a", 1)
    story.member("b", 1)
    assert judge(story.entries).overlap_violations == 1


def test_ranges_of_different_partition_keys_always_overlap(story: Chronicle) -> None:
    story.shard(UPPER, 2, "c@1", key=PartitionKey.NAMESPACE)
    assert judge(story.entries).overlap_violations == 2


def test_a_fenced_holder_and_a_retired_range_overlap_with_nobody(story: Chronicle) -> None:
    story.member("a", 2, held=False, by="agent@1")
    story.shard(UPPER, 3, status=ShardStatus.RETIRED)
    story.shard(WHOLE, 2, "c@1")
    assert judge(story.entries).overlap_violations == 0


def test_a_member_that_comes_back_alive_into_an_overlap_is_noticed(story: Chronicle) -> None:
    story.member("a", 2, held=False, by="agent@1")
    story.shard(LOWER, 3, "b@1")
    story.shard(WHOLE, 2, "a@2")
    assert judge(story.entries).overlap_violations == 0
    story.member("a", 2, by="a@2")
    assert judge(story.entries).overlap_violations == 2


def test_a_write_by_another_than_the_holder_is_a_violation(story: Chronicle) -> None:
    story.write("patch", LOW, "b@1")
    verdict = judge(story.entries)
    assert verdict.overlap_violations == 1
    assert verdict.writes_after_release == 0


def test_a_write_by_a_fenced_incarnation_is_a_violation(story: Chronicle) -> None:
    story.member("a", 2, held=False, by="agent@1")
    story.write("patch", LOW, "a@1")
    verdict = judge(story.entries)
    assert rules(verdict) == ["overlap_violations"]
    assert "fenced" in verdict.findings[0].what


def test_a_write_by_an_earlier_incarnation_of_the_holder_is_a_violation(story: Chronicle) -> None:
    story.member("a", 2, by="a@2")
    story.shard(LOWER, 3, "a@2")
    story.write("patch", LOW, "a@1")
    story.write("patch", LOW, "a@2")
    assert rules(judge(story.entries)) == ["overlap_violations"]


def test_a_write_after_the_authors_own_release_is_counted_as_such(story: Chronicle) -> None:
    story.shard(LOWER, 2, released_by="a@1", by="a@1")
    story.write("patch", LOW, "a@1")
    verdict = judge(story.entries)
    assert (verdict.overlap_violations, verdict.writes_after_release) == (1, 1)


def test_a_new_claim_ends_the_time_after_a_release(story: Chronicle) -> None:
    story.shard(LOWER, 2, released_by="a@1")
    story.shard(LOWER, 3, "a@1")
    story.write("patch", LOW, "a@1")
    assert judge(story.entries).clean


def test_a_refused_write_breaks_nothing(story: Chronicle) -> None:
    story.write("patch", LOW, "b@1", status=409)
    assert judge(story.entries).clean


def test_a_fleet_write_that_does_not_say_who_is_counted(story: Chronicle) -> None:
    story.add("patch", "v1/configmaps", "thing", user_agent="fleet/0 m=a e=1 s=x k=default/site")
    story.add("patch", "v1/configmaps", "thing", user_agent="kubectl/1")
    verdict = judge(story.entries)
    assert verdict.unattributed_writes == 1
    assert not verdict.clean


def test_documents_and_the_fleets_own_events_need_no_author(story: Chronicle) -> None:
    story.add("patch", "v1/configmaps", "web-controls", user_agent="fleet/0 m=agent e=1 r=coordinator")
    story.add("create", "v1/configmaps", "web-quarantine", user_agent="fleet/0 m=a e=1 r=coordination")
    story.add("create", "v1/events", "web-map.1", user_agent="fleet/0 m=agent e=1 r=events")
    verdict = judge(story.entries)
    assert (verdict.unattributed_writes, verdict.fleet_writes, verdict.event_writes) == (0, 0, 1)
    story.add("create", "v1/events", "web-map.1", user_agent="fleet/0 m=agent e=1")
    story.add("patch", "v1/configmaps", "web-controls", user_agent="fleet/0 m=a e=1")
    story.add("patch", "v1/configmaps", "web-pages", user_agent="fleet/0 m=agent e=1 r=coordinator")
    assert judge(story.entries).unattributed_writes == 3


def test_writes_of_coordination_objects_need_no_author(story: Chronicle) -> None:
    story.map()
    verdict = judge(story.entries)
    assert (verdict.map_writes, verdict.member_lease_writes, verdict.fleet_writes) == (1, 2, 0)
    assert verdict.lease_writes_per_range == {str(LOWER): 2, str(UPPER): 2}
    assert verdict.clean


def test_what_a_fault_held_on_the_wire_was_sent_while_its_author_owned(story: Chronicle) -> None:
    sent = story.write("patch", LOW, "a@1", status=0)
    sent.verb, sent.note = LOST, '{"fault":"late_landing","seconds":5}'
    story.shard(LOWER, 2, released_by="a@1", by="a@1")
    story.write("patch", LOW, "a@1")
    story.write(LATE, LOW, "a@1", status=0)
    assert judge(story.entries).clean
    story.write("patch", LOW, "a@1")
    assert not judge(story.entries).clean


def test_a_create_that_was_held_may_have_got_its_name_from_the_server(story: Chronicle) -> None:
    sent = story.write("create", LOW, "a@1", name="", status=0)
    sent.verb, sent.note = LOST, '{"fault":"late_landing","seconds":5}'
    story.shard(LOWER, 2, released_by="a@1", by="a@1")
    story.write("create", LOW, "a@1", name="thing-x7f2q")
    story.write(LATE, LOW, "a@1", name="", status=0)
    assert judge(story.entries).clean
    story.write("create", LOW, "a@1", name="thing-9hx4w")
    assert not judge(story.entries).clean


def test_who_is_below_its_floor_in_the_map_may_not_write(story: Chronicle) -> None:
    story.add("delete", str(LEASES), NAMES.member("a"), removed=True)
    story.write("patch", LOW, "a@1")
    assert judge(story.entries).clean
    story.layout(7, ("b", "b"), (0, SPACE // 2), floors={"a": 2})
    story.write("patch", LOW, "a@1")
    assert judge(story.entries).overlap_violations == 1


def test_an_unowned_range_is_timed_from_its_release_to_the_next_claim(story: Chronicle) -> None:
    story.shard(LOWER, 2, released_by="a@1")
    story.map()
    story.shard(LOWER, 3, "b@1")
    gap = judge(story.entries).gaps[-1]
    assert gap == Gap(str(LOWER), "release", 7.0, 9.0, "default/web")
    assert gap.seconds == 2.0


def test_an_unowned_range_is_timed_from_its_members_death(story: Chronicle) -> None:
    story.member("a", 2, by="a@2")
    lasting = judge(story.entries).gaps[-1]
    assert (lasting, lasting.seconds) == (Gap(str(LOWER), "death", 7.0, None, "default/web"), None)
    story.shard(LOWER, 3, "a@2")
    assert judge(story.entries).gaps[-1] == Gap(str(LOWER), "death", 7.0, 8.0, "default/web")


def test_a_shard_lease_that_somebody_deletes_ends_the_ownership(story: Chronicle) -> None:
    name = NAMES.shard(LOWER)
    story.add("delete", str(LEASES), name, removed=True, user_agent="fleet/0 m=agent e=1 r=coordination")
    story.write("patch", LOW, "a@1")
    verdict = judge(story.entries)
    assert verdict.timeline[str(LOWER)][0].ended_by == "deletion"
    assert verdict.overlap_violations == 1


def test_a_hand_that_takes_a_lease_makes_no_other_owner(story: Chronicle) -> None:
    """Its holder cannot know yet, and nobody else claims what was not released."""
    story.add("delete", str(LEASES), NAMES.shard(LOWER), removed=True)
    story.shard(UPPER, 2)
    story.member("b", 2, held=False)
    story.write("patch", LOW, "a@1")
    story.write("patch", HIGH, "b@1")
    assert judge(story.entries).clean


def test_nor_does_one_that_says_that_a_held_range_is_retired(story: Chronicle) -> None:
    story.shard(LOWER, 2, "a@1", status=ShardStatus.RETIRED)
    story.write("patch", LOW, "a@1")
    assert judge(story.entries).clean
    story.shard(LOWER, 3, "c@1", by="c@1")
    story.write("patch", LOW, "a@1")
    assert rules(judge(story.entries)) == ["overlap_violations"]


class TestLostEntries:
    """A journal that lost entries accuses nobody of what they may explain."""

    def lose(self, story: Chronicle, count: int = 5) -> None:
        """The entries that come next have numbers that are higher by so many."""
        story.lost += count

    def test_an_owner_whose_claim_was_lost_may_write(self, story: Chronicle) -> None:
        story.shard(LOWER, 2, released_by="a@1", by="a@1")
        self.lose(story)
        story.write("patch", LOW, "b@1")
        story.write("patch", LOW, "a@1")
        verdict = judge(story.entries)
        assert verdict.clean
        assert (verdict.missing, verdict.partial) == (5, True)

    def test_a_member_that_joined_anew_in_lost_entries_may_write(self, story: Chronicle) -> None:
        story.member("a", 2, held=False, by="agent@1")
        self.lose(story)
        story.shard(LOWER, 3, "a@3", by="a@3")
        story.write("patch", LOW, "a@3")
        assert judge(story.entries).clean

    def test_what_is_seen_after_the_loss_is_judged(self, story: Chronicle) -> None:
        self.lose(story)
        story.shard(LOWER, 4, "b@1", by="b@1")
        story.write("patch", LOW, "a@1")
        assert rules(judge(story.entries)) == ["overlap_violations"]

    def test_ranges_that_were_never_seen_are_not_judged(self) -> None:
        story = Chronicle()
        story.member("a", 1)
        story.shard(LOWER, 2, "a@1")
        story.write("patch", HIGH, "b@1")
        assert judge(story.entries).clean

    def test_a_journal_that_tells_the_fleet_from_its_beginning_knows_what_is_not_there(self) -> None:
        story = Chronicle()
        story.layout(1, ("a", "b"), (0, UPPER.first), verb="create")
        story.member("a", 1)
        story.write("patch", HIGH, "b@1")
        assert rules(judge(story.entries)) == ["overlap_violations"]

    def test_a_marker_stands_for_itself_and_what_is_missing_before_it(self, story: Chronicle) -> None:
        story.add(GAP, "", "")
        assert (judge(story.entries).entries, judge(story.entries).missing) == (6, 1)
        self.lose(story, 3)
        story.add(GAP, "", "")
        story.write("patch", LOW, "b@1")
        verdict = judge(story.entries)
        assert (verdict.entries, verdict.missing, verdict.clean) == (7, 5, True)

    def test_lines_that_a_worker_could_not_write_are_missing_too(self, story: Chronicle) -> None:
        verdict = judge(story.entries, [Note("lost", 1.0, "a", count=4)])
        assert (verdict.missing, verdict.partial) == (4, True)

    def test_a_write_of_a_lease_that_failed_may_have_been_carried_out(self, story: Chronicle) -> None:
        for name in (NAMES.shard(LOWER), NAMES.member("b")):
            story.add("update", str(LEASES), name, status=504, user_agent="fleet/0 m=b e=1 r=coordination")
        story.write("patch", LOW, "b@1")
        story.write("patch", HIGH, "b@1")
        assert judge(story.entries).clean
        story.shard(LOWER, 2, "a@1", by="a@1")
        story.write("patch", LOW, "b@1")
        assert not judge(story.entries).clean

    def test_spans_end_where_their_end_was_lost_and_go_on_where_it_was_not(self, story: Chronicle) -> None:
        self.lose(story)
        story.shard(LOWER, 2, "a@1", by="a@1")
        story.shard(UPPER, 7, "a@1", by="a@1")
        timeline = judge(story.entries).timeline
        assert [(span.holder, span.ended_by) for span in timeline[str(LOWER)]] == [("a@1", "")]
        assert [(span.holder, span.ended_by) for span in timeline[str(UPPER)]] == [("b@1", "lost"), ("a@1", "")]


class TestSeveralFleets:
    """On one server, each with members, ranges and epochs of its own."""

    @staticmethod
    def another(story: Chronicle, *members: str, ranges: tuple[KeyRange, ...] = (LOWER, UPPER)) -> Chronicle:
        """The fleet `shop`, whose members hold the ranges in turn, at epoch 5."""
        shop = story.beside("shop")
        for name in members:
            shop.member(name, 5)
        for index, covered in enumerate(ranges):
            shop.shard(covered, 2, f"{members[index % len(members)]}@5")
        return shop

    def test_they_do_not_overlap_with_each_other(self, story: Chronicle) -> None:
        shop = self.another(story, "c", ranges=(WHOLE,))
        story.write("patch", LOW, "a@1")
        story.write("patch", LOW, "c@5")
        shop.shard(WHOLE, 3, released_by="c@5")
        verdict = judge(story.entries)
        assert verdict.clean
        assert (verdict.member_lease_writes, verdict.fleet_writes) == (3, 2)
        assert [gap.fleet for gap in verdict.gaps] == ["default/web", "default/web", "default/shop"]

    def test_each_is_still_judged_by_itself(self, story: Chronicle) -> None:
        shop = self.another(story, "c", "d")
        shop.shard(WHOLE, 2, "d@5")
        story.write("patch", LOW, "d@5", within=LOWER)
        story.write("patch", LOW, "b@1", within=LOWER)
        story.write("patch", HIGH, "c@5", within=UPPER)
        verdict = judge(story.entries)
        assert rules(verdict) == ["overlap_violations"] * 3
        assert "c@5 holds" in verdict.findings[0].what
        assert ["b@1" in finding.what for finding in verdict.findings] == [False, True, False]

    def test_a_death_in_one_leaves_the_other_alone(self, story: Chronicle) -> None:
        self.another(story, "a", "b")
        story.member("a", 2, held=False, by="agent@1")
        verdict = judge(story.entries)
        assert [(gap.fleet, gap.cause) for gap in verdict.gaps if gap.ended_at is None] == [("default/web", "death")]

    def test_members_of_one_name_are_told_apart_by_the_range(self, story: Chronicle) -> None:
        self.another(story, "a", ranges=(WHOLE,))
        story.write("patch", HIGH, "a@5", within=WHOLE)
        story.write("patch", LOW, "a@1", within=LOWER)
        assert judge(story.entries).clean
        story.write("patch", HIGH, "a@5", within=UPPER)
        assert rules(judge(story.entries)) == ["overlap_violations"]

    def test_fleets_alike_in_members_and_ranges_are_told_apart_by_who_may_write(self, story: Chronicle) -> None:
        self.another(story, "b", "a")
        story.write("patch", LOW, "a@1", within=LOWER)
        story.write("patch", LOW, "b@5", within=LOWER)
        assert judge(story.entries).clean
        story.write("patch", LOW, "b@1", within=LOWER)
        story.write("patch", LOW, "b@4", within=LOWER)
        assert judge(story.entries).overlap_violations == 2

    def test_spans_of_one_range_stand_in_the_order_of_their_claims(self, story: Chronicle) -> None:
        self.another(story, "c")
        story.shard(LOWER, 3, "b@1")
        spans = judge(story.entries).timeline[str(LOWER)]
        assert [(span.fleet, span.holder) for span in spans] == [
            ("default/web", "a@1"),
            ("default/shop", "c@5"),
            ("default/web", "b@1"),
        ]

    def test_a_member_whose_lease_was_deleted_stays_its_fleets(self, story: Chronicle) -> None:
        self.another(story, "c", ranges=(WHOLE,))
        story.add("delete", str(LEASES), NAMES.member("b"), removed=True)
        story.write("patch", HIGH, "b@1", within=UPPER)
        assert judge(story.entries).clean


def test_the_verdict_is_json_with_its_conclusion(story: Chronicle) -> None:
    story.write("patch", LOW, "b@1")
    document = msgspec.json.decode(judge(story.entries).encode())
    assert document["clean"] is False
    assert document["overlap_violations"] == 1
    assert document["findings"][0]["rule"] == "overlap_violations"
