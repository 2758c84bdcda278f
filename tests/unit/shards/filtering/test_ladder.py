from __future__ import annotations

import random
from math import inf

import pytest

from shards.filtering.ladder import (
    AUDIT_SECONDS,
    CONFIRMATIONS,
    PAUSE_SECONDS,
    RECONNECT_SECONDS,
    STEADY_SECONDS,
    FilterLadder,
    Rung,
    Switch,
    Verdict,
)
from shards.objects import Resource
from shards.watching.source import FilterMode

SITES = Resource("demo.shardfleet.dev", "v1", "websites")
PAGES = Resource("", "v1", "configmaps")
SELECTOR, SLOTS = FilterMode.SHARD_SELECTOR, FilterMode.SLOT_LABELS


class Rig:
    def __init__(self) -> None:
        self.now = 1000.0
        self.told: list[tuple[Verdict, str]] = []
        self.pokes = 0
        self.ladder = FilterLadder(lambda: self.now, random.Random(1), told=self.tell, poked=self.poke)
        self.rung = self.ladder.rung(SITES, SELECTOR)

    def tell(self, rung: Rung) -> None:
        self.told.append((rung.verdict, rung.why))

    def poke(self) -> None:
        self.pokes += 1

    def usable(self) -> bool:
        return self.ladder.usable(SITES, SELECTOR)

    def ask(self, holds: bool | None) -> None:
        """At the time at which it is due."""
        self.now = max(self.now, self.ladder.next_due())
        assert self.rung in self.ladder.due()
        self.ladder.answered(self.rung, holds, "because")

    def proven(self) -> None:
        while not self.usable():
            self.ask(True)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_nothing_is_relied_on_before_it_is_proven_and_the_local_check_always_holds(rig: Rig) -> None:
    assert not rig.usable()
    assert not rig.ladder.usable(PAGES, SLOTS)
    assert rig.ladder.usable(PAGES, FilterMode.LOCAL)
    rig.ask(True)
    assert rig.usable()
    assert not rig.ladder.usable(PAGES, SELECTOR), "each resource has its own proof"
    assert rig.told == [(Verdict.PROVEN, "because")]


def test_a_foreign_object_ends_it_at_once_and_is_told_once(rig: Rig) -> None:
    rig.proven()
    for _ in range(5):
        rig.ladder.foreign(SITES, SELECTOR)
    assert not rig.usable()
    assert rig.rung.foreign == 5
    assert [verdict for verdict, _ in rig.told] == [Verdict.PROVEN, Verdict.REFUTED]


def test_a_probe_that_says_no_ends_it_too(rig: Rig) -> None:
    rig.proven()
    rig.ask(False)
    assert not rig.usable()


def test_an_answer_that_teaches_nothing_changes_nothing(rig: Rig) -> None:
    rig.proven()
    rig.ask(None)
    assert rig.usable()
    rig.ladder.failed(rig.rung, "no answer")
    assert rig.usable()
    assert rig.ladder.next_due() > rig.now


def test_it_comes_back_after_a_pause_and_several_proofs_in_a_row(rig: Rig) -> None:
    rig.proven()
    rig.ladder.foreign(SITES, SELECTOR)
    assert rig.ladder.next_due() - rig.now >= 0.8 * PAUSE_SECONDS[0]
    for number in range(CONFIRMATIONS):
        assert not rig.usable(), f"after {number} proofs"
        rig.ask(True)
    assert rig.usable()


def test_a_refusal_between_two_proofs_begins_anew(rig: Rig) -> None:
    rig.proven()
    rig.ladder.foreign(SITES, SELECTOR)
    for holds in (True, False, True):
        rig.ask(holds)
    assert not rig.usable()
    rig.ask(True)
    assert rig.usable()


def test_one_that_falls_again_and_again_is_tried_less_and_less(rig: Rig) -> None:
    pauses = []
    for _ in range(10):
        rig.proven()
        rig.ladder.foreign(SITES, SELECTOR)
        pauses.append(rig.ladder.next_due() - rig.now)
    assert pauses[3] > 4 * pauses[0]
    assert pauses[-1] >= 0.8 * PAUSE_SECONDS[1]
    assert max(pauses) <= 1.2 * PAUSE_SECONDS[1]


def test_a_proof_that_held_for_long_is_forgiven(rig: Rig) -> None:
    for _ in range(6):
        rig.proven()
        rig.ladder.foreign(SITES, SELECTOR)
    rig.proven()
    rig.now += STEADY_SECONDS
    rig.ladder.foreign(SITES, SELECTOR)
    assert rig.ladder.next_due() - rig.now <= 1.2 * PAUSE_SECONDS[0]


def test_a_server_that_never_filtered_is_asked_less_and_less(rig: Rig) -> None:
    asked = 0
    while rig.now < 1000.0 + 86_400:
        rig.ask(False)
        asked += 1
    assert asked < 45


def test_a_reconnect_asks_anew_but_not_each_time(rig: Rig) -> None:
    rig.proven()
    assert rig.ladder.next_due() - rig.now > RECONNECT_SECONDS
    for _ in range(100):
        rig.ladder.reconnected(SITES, SELECTOR)
    assert rig.ladder.next_due() - rig.now == RECONNECT_SECONDS
    assert rig.pokes == 1
    rig.ask(True)
    assert rig.ladder.next_due() - rig.now >= 0.8 * AUDIT_SECONDS


@pytest.mark.parametrize("answered", [True, False])
def test_a_reconnect_asks_no_sooner_where_nothing_could_be_learnt(rig: Rig, answered: bool) -> None:
    """A server in trouble ends watches again and again: that is no time for more questions."""
    rig.now = 2000.0
    if answered:
        rig.ladder.answered(rig.rung, None, "it is empty")
    else:
        rig.ladder.failed(rig.rung, "503")
    for _ in range(20):
        rig.now += 1.0
        rig.ladder.reconnected(SITES, SELECTOR)
        assert rig.ladder.due() == []
    assert rig.ladder.next_due() == 2000.0 + RECONNECT_SECONDS


def test_a_reconnect_finds_out_soon_that_a_server_was_upgraded(rig: Rig) -> None:
    for _ in range(5):
        rig.ask(False)
    rig.ladder.reconnected(SITES, SELECTOR)
    assert rig.ladder.next_due() - rig.now <= RECONNECT_SECONDS


def test_a_reconnect_shortens_no_pause_after_a_fall(rig: Rig) -> None:
    rig.proven()
    rig.ladder.foreign(SITES, SELECTOR)
    due = rig.ladder.next_due()
    rig.ladder.reconnected(SITES, SELECTOR)
    assert rig.ladder.next_due() == due


def test_a_reconnect_says_nothing_of_labels(rig: Rig) -> None:
    """Of a hundred views one connects anew every few seconds, and each audit lists what carries none."""
    slots = rig.ladder.rung(PAGES, SLOTS)
    rig.ladder.answered(slots, True, "because")
    due = slots.due_at
    rig.now += 60.0
    rig.ladder.reconnected(PAGES, SLOTS)
    assert slots.due_at == due


def test_a_view_that_nobody_proves_anything_for_may_reconnect(rig: Rig) -> None:
    rig.ladder.reconnected(PAGES, FilterMode.LOCAL)
    assert rig.pokes == 0


def test_switched_on_it_is_relied_on_without_a_proof_and_never_asked(rig: Rig) -> None:
    rig.ladder.follow({SELECTOR: Switch.ON})
    assert rig.usable()
    assert rig.ladder.any_usable(SELECTOR)
    assert rig.ladder.due() == []
    assert rig.ladder.next_due() == inf


def test_switched_on_foreign_objects_are_counted_and_told_once_and_change_nothing(rig: Rig) -> None:
    rig.ladder.follow({SELECTOR: Switch.ON})
    for _ in range(3):
        rig.ladder.foreign(SITES, SELECTOR)
    assert rig.usable()
    assert rig.rung.foreign == 3
    assert len(rig.told) == 1


def test_switched_off_it_is_never_relied_on(rig: Rig) -> None:
    rig.proven()
    rig.ladder.follow({SELECTOR: Switch.OFF})
    assert not rig.usable()
    assert not rig.ladder.any_usable(SELECTOR)
    assert rig.ladder.due() == []


def test_switched_to_auto_again_it_is_asked_at_once(rig: Rig) -> None:
    rig.proven()
    rig.ladder.follow({SELECTOR: Switch.OFF})
    pokes = rig.pokes
    rig.ladder.follow({SELECTOR: Switch.AUTO})
    assert rig.pokes == pokes + 1
    assert rig.ladder.due() == [rig.rung]


def test_what_is_assumed_holds_until_something_is_known(rig: Rig) -> None:
    rig.ladder.assume(SELECTOR, True)
    assert rig.usable()
    rig.ladder.foreign(SITES, SELECTOR)
    assert not rig.usable()
    assert rig.ladder.usable(PAGES, SELECTOR)
