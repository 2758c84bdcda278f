"""Twenty-seven invariants, each with a checker that hears something; the document says the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chaos.simulation.oracles.jury import ORACLES
from fleet.devcluster.checkers.registry import INVARIANTS
from fleet.devcluster.evidence.verdict import NOT_JUDGED
from fleet.devcluster.invariants.invariant import Invariant
from fleet.devcluster.judging.court import Court
from fleet.devcluster.judging.judge import judge

DOCUMENT = Path(__file__).parents[5] / "docs" / "invariants.md"
_ROW = re.compile(r"^\| (I\d+) \| (.+?) \| `(\w+\.\w+)` \| (.+?) \| (.+) \|$", re.MULTILINE)


def test_they_are_numbered_without_a_gap() -> None:
    assert [each.id for each in INVARIANTS] == [f"I{number}" for number in range(1, 28)]


@pytest.mark.parametrize("checker", INVARIANTS, ids=lambda each: each.id)
def test_each_hears_something_and_has_a_test_of_its_own(checker: type[Invariant]) -> None:
    assert [name for name in vars(checker) if name.startswith("hears_")]
    test = Path(__file__).with_name(f"test_{checker.__module__.rpartition('.')[2]}.py").read_text()
    assert f"class Test{checker.__name__}:" in test


def test_an_empty_journal_holds_nothing() -> None:
    assert {each.outcome for each in judge([]).invariants} == {NOT_JUDGED}


def test_the_table_has_each_with_its_sentence_checker_and_evidence_and_no_other() -> None:
    rows = _ROW.findall(DOCUMENT.read_text())
    assert [row[:4] for row in rows] == [
        (
            each.id,
            each.sentence,
            f"{each.__module__.rpartition('.')[2]}.{each.__name__}",
            ", ".join(("writes", *each.needs)) + (f" ({', '.join(each.also)})" if each.also else ""),
        )
        for each in INVARIANTS
    ]


def test_the_table_says_at_which_depth_each_is_judged() -> None:
    asked = {oracle.id for oracle in ORACLES}
    for row in _ROW.findall(DOCUMENT.read_text()):
        model, protocol, stack, embedded, real, cluster = row[4].split(" | ")
        assert (protocol == "yes") == (row[0] in asked), row[0]
        assert (stack == "yes") == (row[0] not in ("I12", "I25")), row[0]
        assert cluster == "not yet", row[0]
        assert model in ("yes", "-"), row[0]
        assert embedded == "yes", row[0]
        assert set(real.split(", ")) <= {"audit log", "worker journals", "proxy"}, row[0]


def test_every_hearing_of_a_checker_is_one_that_the_court_knows() -> None:
    """A misspelt one would never be called."""
    known = {name for name in vars(Invariant) if name.startswith("hears_")}
    for each in Court().invariants:
        assert {name for name in vars(type(each)) if name.startswith("hears_")} <= known
