"""I7, I10 and A3: what must be so once nothing goes wrong any more."""

from __future__ import annotations

from chaos.simulation.happenings import Healed
from chaos.simulation.oracles.ends import AtRest, SoonOwned, WantedComesTrue
from chaos.simulation.outcome import Breach
from fleet.records.object_names import Kind
from fleet.records.record import Document, DocumentName
from shards.keyrange import KeyRange
from tests.unit.chaos.simulation.oracles.history import FIRST, SECOND, History


def settled(history: History) -> None:
    """Everything is as it should be."""
    for name, each in (("a", FIRST), ("b", SECOND)):
        history.member(1.0, f"{name}/1", name, 1)
        history.shard(2.0, f"{name}/1", each, epoch=2, holder=f"{name}@1")
        history.opens(2.1, f"{name}/1", 2, each)
    history.map(3.0, "agent-1/1", 1)
    history.jury.hear(Healed(4.0))


def test_a_fleet_whose_ranges_are_worked_on_is_settled() -> None:
    history = History(SoonOwned)
    settled(history)
    assert history.jury.settled(5.0) is None


def test_without_a_map_it_is_not() -> None:
    assert History(SoonOwned).jury.settled(5.0) == "there is no map"


def test_a_range_that_nobody_living_holds_is_not_owned() -> None:
    history = History(SoonOwned)
    settled(history)
    history.member(5.0, "agent-1/1", "b", 2, held=False)
    assert history.jury.settled(5.0) == f"range {SECOND} has no owner"


def test_nor_is_one_whose_holder_does_nothing() -> None:
    history = History(SoonOwned)
    settled(history)
    history.closes(5.0, "b/1", 2, SECOND)
    assert "does not act on it" in str(history.jury.settled(5.0))


def test_what_is_not_settled_in_time_is_a_breach() -> None:
    history = History(SoonOwned)
    settled(history)
    history.closes(5.0, "b/1", 2, SECOND)
    history.jury.overdue(24.0)
    what = f"range {SECOND} is held by b@1, who does not act on it, 20.0 s after the healing"
    assert history.jury.breaches == [Breach("I7", 24.0, what)]


def test_a_map_whose_targets_own_is_what_was_wanted() -> None:
    history = History(WantedComesTrue)
    settled(history)
    assert history.jury.settled(5.0) is None


def test_one_that_moves_or_retires_or_waits_for_a_range_is_not() -> None:
    history = History(WantedComesTrue)
    settled(history)
    history.map(5.0, "agent-1/1", 2, ("a", "a"))
    assert history.jury.settled(5.0) == f"range {SECOND} is held by b@1 and meant for a"
    history.map(6.0, "agent-1/1", 3, lost={SECOND: 3})
    assert history.jury.settled(6.0) == f"range {SECOND} is lost"
    history.map(6.0, "agent-1/1", 4, retiring=frozenset({KeyRange(0, 5)}))
    assert "is retiring" in str(history.jury.settled(6.0))


def test_nor_is_one_with_another_layout_than_is_asked_for() -> None:
    history = History(WantedComesTrue)
    settled(history)
    history.store.records[Kind.DOCUMENT, "config"] = Document(DocumentName.CONFIG, "shards: {count: 3}\n", "9")
    assert history.jury.settled(5.0) == "the layout has 2 ranges, 3 are asked for"
    history.map(6.0, "agent-1/1", 2, config_refused="9: too many")
    assert history.jury.settled(6.0) is None


def test_a_fleet_at_rest_writes_neither_maps_nor_shard_records() -> None:
    history = History(AtRest)
    settled(history)
    assert history.jury.settled(3.5) == "map only was written 0.500 s ago"
    history.member(4.0, "a/1", "a", 1, renewals=2)
    assert history.jury.settled(4.1) is None
