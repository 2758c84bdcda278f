"""Who may still act though somebody deleted the record that says so."""

from __future__ import annotations

from dataclasses import replace

from fleet.records.record import Incarnation, MemberRecord
from fleet.rules.reshard import echoed
from fleet.rules.vanished import VanishedMembers
from tests.unit.fleet.records.records import member

LEASE = 8.0


def watching(*members: MemberRecord) -> VanishedMembers:
    """Of a coordinator that has seen them for longer than a lease, at second 100."""
    vanished = VanishedMembers()
    vanished.observe({each.name: each for each in members}, 50.0)
    vanished.observe({each.name: each for each in members}, 100.0)
    return vanished


A = replace(member("a"), lease_seconds=LEASE, seen_map=5, uid="1")
B = replace(member("b"), lease_seconds=LEASE, seen_map=5, uid="2")


def test_whose_record_was_deleted_counts_as_one_that_has_repeated_no_map_for_a_lease() -> None:
    vanished = watching(A, B)
    vanished.observe({"b": B}, 101.0)

    assert not echoed(5, vanished.everybody([B], 101.0 + LEASE))
    assert echoed(5, vanished.everybody([B], 101.1 + LEASE))


def test_a_record_that_was_made_again_is_somebody_elses() -> None:
    vanished = watching(A, B)
    again = replace(A, uid="3", holder=Incarnation("other-pod.nonce", 1))
    vanished.observe({"a": again, "b": B}, 101.0)

    assert not echoed(5, vanished.everybody([again, B], 102.0))


def test_what_only_a_live_read_lacks_is_gone_too() -> None:
    assert not echoed(5, watching(A, B).everybody([B], 101.0))


def test_who_left_or_was_fenced_is_not_waited_for() -> None:
    vanished = watching(replace(A, holder=None), B)
    vanished.observe({"b": B}, 101.0)

    assert echoed(5, vanished.everybody([B], 101.0))


def test_a_name_is_doubted_for_a_lease_after_its_record_vanished() -> None:
    vanished = watching(A, B)
    vanished.observe({"b": B}, 101.0)

    assert vanished.doubted(("a", "b", "c"), 101.0 + LEASE) == {"a"}
    assert vanished.doubted(("a", "b", "c"), 101.1 + LEASE) == frozenset()


def test_who_has_not_watched_for_a_lease_doubts_every_name() -> None:
    vanished = VanishedMembers()
    vanished.observe({"b": B}, 100.0)

    assert vanished.doubted(("a", "b"), 101.0) == {"a", "b"}


def test_a_lease_that_was_shortened_counts_for_as_long_as_it_was() -> None:
    vanished = watching(replace(A, lease_seconds=60.0), B)
    vanished.observe({"a": A, "b": B}, 110.0)

    assert vanished.longest(170.0) == 60.0
    assert vanished.longest(170.1) == LEASE


def test_who_has_watched_for_less_than_a_lease_does_not_know_who_vanished_before() -> None:
    vanished = VanishedMembers()
    vanished.observe({"b": B}, 100.0)

    assert not echoed(5, vanished.everybody([B], 100.0 + LEASE))
    assert echoed(5, vanished.everybody([B], 100.1 + LEASE))
