"""I8 and I22: what maps may say, and what they may move."""

from __future__ import annotations

from chaos.simulation.oracles.layouts import FewMoves, WholeSpace
from fleet.records.record import Holder
from shards.keyrange import WHOLE, KeyRange, equal_boundaries, ranges_from
from tests.unit.chaos.simulation.oracles.history import FIRST, SECOND, History

LOW = KeyRange(0, 9)


def test_maps_and_claims_in_order_are_right() -> None:
    history = History(WholeSpace)
    history.map(1.0, "agent-1/1", 1)
    history.member(1.0, "a/1", "a", 1)
    history.shard(2.0, "a/1", FIRST, epoch=2, holder="a@1")
    history.shard(2.0, "a/1", SECOND, epoch=2, holder="a@1")
    history.map(3.0, "agent-1/1", 2, ("a", "a"))
    assert (history.said, history.checks) == ([], 4)


def test_a_map_that_does_not_begin_at_zero_loses_keys() -> None:
    history = History(WholeSpace)
    history.map(1.0, "agent-1/1", 1, boundaries=(5, SECOND.first))
    assert history.said == ["map version 1 does not cover the hash space"]


def test_a_map_that_forgets_a_held_range_is_found() -> None:
    history = History(WholeSpace)
    history.shard(1.0, "a/1", LOW, epoch=2, holder="a@1")
    history.map(2.0, "agent-1/1", 1)
    assert history.said == [f"{LOW} is held and unknown to map 1"]


def test_one_that_lets_it_retire_is_right() -> None:
    history = History(WholeSpace)
    history.shard(1.0, "a/1", LOW, epoch=2, holder="a@1")
    history.map(2.0, "agent-1/1", 1, retiring=frozenset({LOW}))
    assert history.said == []


def test_a_claim_of_keys_that_another_holds_is_found() -> None:
    history = History(WholeSpace)
    history.member(1.0, "a/1", "a", 1)
    history.shard(1.0, "a/1", FIRST, epoch=2, holder="a@1")
    history.shard(2.0, "b/1", LOW, epoch=2, holder="b@1")
    assert history.said == [f"b@1 claims keys of {LOW} that lie in {FIRST} of a@1 too"]


def test_one_of_what_a_dead_member_held_is_not() -> None:
    history = History(WholeSpace)
    history.shard(1.0, "a/1", FIRST, epoch=2, holder="a@1")
    history.shard(2.0, "b/1", LOW, epoch=2, holder="b@1")
    assert history.said == []


def test_what_a_hand_left_outside_the_map_may_stay_until_it_is_seen_to() -> None:
    history = History(WholeSpace)
    history.shard(1.0, "hand", LOW, epoch=2, holder="a@1")
    history.map(2.0, "agent-1/1", 1)
    assert history.said == []


def test_what_an_old_map_that_a_hand_put_back_does_not_know_may_be_missing_from_the_next() -> None:
    history = History(WholeSpace)
    history.shard(1.0, "a/1", LOW, epoch=2, holder="a@1")
    history.map(2.0, "hand", 1)
    history.map(3.0, "agent-1/1", 9)
    assert history.said == []


def test_who_has_not_heard_of_a_restore_may_write_over_the_map_of_the_backup_what_it_did_before() -> None:
    """It retired a range; the backup still has that as held, and the very map that it read."""
    for sent_at, said in ((3.2, []), (9.0, [f"{WHOLE} is held and unknown to map 2"])):
        history = History(WholeSpace)
        history.map(1.0, "agent-1/1", 1, retiring=frozenset({WHOLE}))
        history.shard(1.5, "a/1", WHOLE, epoch=2, holder="a@1")
        history.restored(3.0)
        history.map(sent_at, "agent-1/1", 2)
        assert history.said == said


def test_what_has_come_since_the_restore_is_known_to_who_writes_the_next_map() -> None:
    history = History(WholeSpace)
    history.map(1.0, "agent-1/1", 1, retiring=frozenset({WHOLE}))
    history.restored(3.0)
    history.shard(3.1, "a/1", WHOLE, epoch=2, holder="a@1")
    history.map(3.2, "agent-1/1", 2)
    assert history.said == [f"{WHOLE} is held and unknown to map 2"]


def test_a_rebalance_that_gives_those_who_joined_their_share_is_right() -> None:
    history = History(FewMoves)
    history.map(1.0, "agent-1/1", 1, ("a", "a", "a", "a"))
    for name in ("a", "b"):
        history.member(1.0, f"{name}/1", name, 1)
    history.map(2.0, "agent-1/1", 2, ("a", "a", "b", "b"))
    assert (history.said, history.checks) == ([], 1)


def test_of_many_who_joined_each_that_is_given_a_range_has_taken_a_whole_one() -> None:
    for targets, said in (
        (("a", "b", "c", "d"), []),
        (("b", "b", "b", "b"), ["map 2 moves 4 ranges of living members; 2 would do"]),
    ):
        history = History(FewMoves)
        history.map(1.0, "agent-1/1", 1, ("a",) * 4)
        for name in "abcdefghijklmnop":
            history.member(1.0, f"{name}/1", name, 1)
        history.map(2.0, "agent-1/1", 2, targets)
        assert history.said == said


def test_who_joined_a_moment_ago_may_be_taken_for_gone() -> None:
    for joined_at, said in (
        (4.5, []),
        (3.0, ["map 3 moves 8 ranges of living members; 6 would do"]),
    ):
        history = History(FewMoves)
        for name in ("a", "b"):
            history.member(1.0, f"{name}/1", name, 1)
        history.map(2.0, "agent-1/1", 1, ("a",) * 4 + ("b",) * 4)
        history.member(joined_at, "a/2", "a", 3)
        history.map(5.0, "agent-1/1", 2, ("b",) * 8)
        history.map(5.5, "agent-1/1", 3, ("a",) * 4 + ("b",) * 4)
        assert history.said == said


def test_a_range_that_is_given_back_to_who_holds_it_has_not_moved() -> None:
    for holder, said in (("a@1", []), ("", ["map 3 moves 4 ranges of living members; 3 would do"])):
        history = History(FewMoves)
        for name in ("a", "b"):
            history.member(0.0, f"{name}/1", name, 1)
        history.map(1.0, "agent-1/1", 1, ("a", "a"))
        for each in (FIRST, SECOND):
            history.shard(1.5, "a/1", each, epoch=2, holder=holder)
        history.map(2.0, "agent-1/1", 2, ("b", "b"))
        history.map(2.5, "agent-1/1", 3, ("a", "a"))
        assert history.said == said


def test_a_free_range_that_its_target_did_not_claim_in_time_does_not_move_away_from_it() -> None:
    """R13: what nobody has had costs nothing to give to somebody else, once there was time to claim it."""
    for taken_at, last_holder, said in (
        (4.0, None, []),
        (4.0, Holder("b", 1), ["map 2 moves 8 ranges of living members; 6 would do"]),
        (2.9, None, ["map 2 moves 8 ranges of living members; 6 would do"]),
    ):
        history = History(FewMoves)
        for name in ("a", "b"):
            history.member(0.0, f"{name}/1", name, 1)
        eighths = ranges_from(equal_boundaries(8))
        history.map(1.0, "agent-1/1", 1, ("b",) * 8)
        history.map(2.0, "agent-1/1", 1, ("b",) * 8)
        for each in eighths:
            history.shard(2.1, "agent-1/1", each, epoch=1, last_holder=last_holder)
        history.map(taken_at, "agent-1/1", 2, ("a",) * 8)
        assert history.said == said


def test_a_range_that_never_came_to_a_target_that_had_time_to_take_it_has_not_moved_at_all() -> None:
    """R13: what a member was late for goes back, and it is tried with others."""
    for late_seconds, said in ((1.5, []), (0.5, ["map 4 moves 8 ranges of living members; 6 would do"])):
        history = History(FewMoves)
        for name in ("a", "b"):
            history.member(0.0, f"{name}/1", name, 1)
        eighths = ranges_from(equal_boundaries(8))
        history.map(2.0, "agent-1/1", 1, ("a",) * 8)
        for each in eighths:
            history.shard(2.5, "a/1", each, epoch=2, holder="a@1")
        history.map(3.0, "agent-1/1", 2, ("b",) * 4 + ("a",) * 4)
        for each in eighths[:4]:
            history.shard(3.1, "a/1", each, epoch=2, last_holder=Holder("a", 1))
        history.map(3.0 + late_seconds, "agent-1/1", 3, ("a",) * 8)
        history.map(6.0, "agent-1/1", 4, ("a",) * 4 + ("b",) * 4)
        assert history.said == said


def test_one_that_moves_everything_is_found_also_over_several_maps() -> None:
    history = History(FewMoves)
    history.map(1.0, "agent-1/1", 1, ("a",) * 8)
    for name in ("a", "b"):
        history.member(1.0, f"{name}/1", name, 1)
    history.map(2.0, "agent-1/1", 2, ("b",) * 4 + ("a",) * 4)
    assert history.said == []
    history.map(3.0, "agent-1/1", 3, ("b",) * 8)
    assert history.said == ["map 3 moves 8 ranges of living members; 6 would do"]


def test_what_a_hand_wrote_begins_a_new_count() -> None:
    history = History(FewMoves)
    history.map(1.0, "agent-1/1", 1, ("a",) * 8)
    history.member(1.0, "a/1", "a", 1)
    history.map(2.0, "hand", 2, ("b",) * 8)
    history.restored(3.0)
    assert history.said == []
