"""Keys that wait for long are told from those that wait for a moment, whatever they wait for."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from shards.gates.own_writes import Blocked
from shards.gates.parking import Parked
from shards.objects import Key, Resource
from shards.queue.waiting_keys import LONG_SECONDS, MOST_COUNTED, LongWaits, WaitingKeys, WaitsFor

A, B, C = (Key("ns", name, f"uid-{name}") for name in "abc")
BLOCKED = Blocked("v1/configmaps ns/a landed 7", frozenset({Resource("", "v1", "configmaps")}), False)


def waits(waiting: WaitingKeys | None = None, **others: dict[Key, float]) -> LongWaits:
    """others: parked, running: keys with the time since which they are."""
    parked = {key: Parked(BLOCKED, since, since) for key, since in others.get("parked", {}).items()}
    return LongWaits(waiting or WaitingKeys(), parked, others.get("running", {}))


def test_a_key_that_waits_for_a_moment_is_not_told() -> None:
    waiting = WaitingKeys()
    waiting.waits(A, WaitsFor.READINESS, "later", 0.0)
    assert waits(waiting).count(LONG_SECONDS - 0.1) == 0
    assert waits(waiting).told("sites", 9, LONG_SECONDS - 0.1) == []
    assert waits(waiting).count(LONG_SECONDS) == 1


def test_it_is_told_with_its_first_moment_its_last_reason_and_how_often_it_was_told_to_wait() -> None:
    waiting = WaitingKeys()
    for now in range(40):
        assert waiting.waits(A, WaitsFor.READINESS, f"try {now}", float(now)) == now + 1
    [told] = waits(waiting).told("sites", 9, 40.0)
    assert (told.controller, told.key, told.since, told.times) == ("sites", "ns/a", 0.0, 40)
    assert (told.waits_for, told.why) == (WaitsFor.READINESS, "try 39")


def test_what_it_waits_for_may_change_without_the_wait_being_over() -> None:
    waiting = WaitingKeys()
    waiting.waits(A, WaitsFor.READINESS, "a child", 0.0)
    assert waiting.waits(A, WaitsFor.BREAKER, "paused", 20.0) == 1
    [told] = waits(waiting).told("sites", 9, 40.0)
    assert (told.since, told.waits_for) == (0.0, WaitsFor.BREAKER)


def test_a_wait_that_is_over_begins_anew() -> None:
    waiting = WaitingKeys()
    waiting.waits(A, WaitsFor.READINESS, "later", 0.0)
    assert waits(waiting).count(50.0) == 1
    waiting.over(A)
    waiting.over(B)
    assert waits(waiting).count(50.0) == 0
    waiting.waits(A, WaitsFor.READINESS, "later", 60.0)
    assert waits(waiting).count(80.0) == 0
    assert waits(waiting).count(90.0) == 1


def test_keys_of_the_gate_and_reconciles_that_run_on_count_too_each_key_once() -> None:
    waiting = WaitingKeys()
    waiting.waits(A, WaitsFor.AGAIN, "asks", 0.0)
    found = waits(waiting, parked={A: 5.0, B: 6.0, C: 95.0}, running={C: 60.0})
    assert found.count(100.0) == 3
    told = {each.key: (each.waits_for, each.since) for each in found.told("sites", 9, 100.0)}
    assert told == {
        "ns/a": (WaitsFor.AGAIN, 0.0),
        "ns/b": (WaitsFor.VIEW, 6.0),
        "ns/c": (WaitsFor.ITSELF, 60.0),
    }
    assert "does not show its own write" in found.told("sites", 9, 100.0)[1].why


def test_the_longest_are_told_first_and_no_more_than_asked_for() -> None:
    waiting = WaitingKeys()
    waiting.waits(B, WaitsFor.READINESS, "later", 3.0)
    found = waits(waiting, parked={A: 1.0}, running={C: 2.0})
    assert [each.key for each in found.told("sites", 2, 100.0)] == ["ns/a", "ns/c"]


def test_however_many_the_gate_holds_back_few_are_looked_at() -> None:
    many = {Key("ns", f"{i}", f"{i}"): 0.0 for i in range(5 * MOST_COUNTED)}
    assert waits(parked=many).count(100.0) == MOST_COUNTED


steps = st.lists(st.tuples(st.sampled_from((A, B, C)), st.sampled_from(("waits", "over", "look")), st.floats(0, 50)))


@given(steps)
def test_the_long_ones_are_always_those_whose_first_moment_is_long_ago(drawn: list[tuple[Key, str, float]]) -> None:
    waiting, since, now = WaitingKeys(), dict[Key, float](), 0.0
    for key, what, passed in drawn:
        now += passed
        if what == "waits":
            waiting.waits(key, WaitsFor.READINESS, "later", now)
            since.setdefault(key, now)
        elif what == "over":
            waiting.over(key)
            since.pop(key, None)
        else:
            found = waiting.long(now)
            assert found.keys() == {key for key, at in since.items() if now - at >= LONG_SECONDS}
            assert all(a.since <= b.since for a, b in pairwise(found.values()))
