"""The page of Sieve's scenarios says of each what its plan says, and what its tests hold."""

from __future__ import annotations

import re
from pathlib import Path

from tests.integration.sieve.catalogue import CATALOGUE

PAGE = Path(__file__).resolve().parents[2] / "docs" / "stale-scenarios.md"
_ROW = re.compile(
    r"^\| (\d+) \| ([^|]+) \| ([SIUX]) \| [^|]+ \| (fails|passes)[^|]* \| (fails|passes)[^|]* \| ([^|]+) \|$", re.M
)
WORD = {True: "fails", False: "passes"}


def test_each_scenario_has_its_row_with_its_outcomes() -> None:
    planned = [
        (str(each.number), each.bug, each.kind, WORD[each.fails_without], WORD[each.fails_with]) for each in CATALOGUE
    ]
    assert [row[:5] for row in _ROW.findall(PAGE.read_text())] == planned


def test_of_stale_ones_the_page_says_what_holds_them_off_alone() -> None:
    planned = {
        str(each.number): "lists, gates, acts" if each.live_read_suffices else "lists, gates"
        for each in CATALOGUE
        if each.kind == "S"
    }
    assert {row[0]: row[5] for row in _ROW.findall(PAGE.read_text()) if row[2] == "S"} == planned


def test_all_stale_scenarios_fail_without_the_protections_and_pass_with_them() -> None:
    stale = [each for each in CATALOGUE if each.kind == "S"]
    assert len(stale) == 19
    assert [(each.fails_without, each.fails_with) for each in stale] == [(True, False)] * 19


def test_none_of_the_46_is_missing() -> None:
    assert [each.number for each in CATALOGUE] == list(range(1, 47))
    kinds = [each.kind for each in CATALOGUE]
    assert {kind: kinds.count(kind) for kind in "ISUX"} == {"I": 11, "S": 19, "U": 7, "X": 9}
