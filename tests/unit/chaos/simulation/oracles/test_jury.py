"""The jury: every oracle has a place and an id of its own, and hears what it asks for."""

from __future__ import annotations

from chaos.simulation.oracles.jury import ORACLES, SORTS, Jury
from chaos.simulation.oracles.oracle import Oracle
from fleet.backends.local_store import LocalStore
from fleet.devcluster.checkers.registry import INVARIANTS
from tests.unit.chaos.simulation.oracles.history import History


def test_each_oracle_has_an_id_of_its_own_and_a_method_for_what_it_hears() -> None:
    assert len({each.id for each in ORACLES}) == len(ORACLES)
    for each in ORACLES:
        heard = {name for name in dir(each) if name.startswith("hears_")}
        assert heard <= set(SORTS.values()), each
        assert heard or each.pending is not Oracle.pending, f"{each} hears nothing and is asked nothing"


def test_those_of_invariants_say_what_their_checkers_say() -> None:
    sentences = {each.id: each.sentence for each in INVARIANTS}
    for each in ORACLES:
        if each.id.startswith("I"):
            assert each.sentence == sentences[each.id]


def test_a_jury_counts_what_it_has_asked() -> None:
    jury = Jury(LocalStore(), lease_seconds=2.0)
    assert jury.settled(1.0) == "there is no map"
    assert jury.checks["I7"] == 1
    assert jury.checks["I1"] == 0


def test_what_is_late_is_told_once_for_each_promise() -> None:
    jury = Jury(LocalStore(), lease_seconds=2.0)
    jury.overdue(60.0)
    assert [each.oracle for each in jury.breaches] == ["I7", "A3"]


def test_the_second_process_of_a_name_is_the_same_member() -> None:
    history = History(ORACLES[0])
    history.lived(0.0, "a-twin/1", "started")
    assert [each.process for each in history.jury.scene.running()] == ["a-twin/1"]
