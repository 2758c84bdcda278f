"""The page of Sieve's scenarios says of each what its plan says, and what its tests hold."""

from __future__ import annotations

import re
from pathlib import Path

from tests.integration.sieve.catalogue import CATALOGUE

PAGE = Path(__file__).resolve().parents[2] / "docs" / "stale-scenarios.md"
_ROW = re.compile(
    r"^\| (\d+) \| ([^|]+) \| ([SIUX]) \| [^|]+ \| (fails|passes)[^|]* \| (fails|passes)[^|]* \| [^|]+ \|$", re.M
)


def test_each_scenario_has_its_row_with_its_outcomes() -> None:
    word = {True: "fails", False: "passes"}
    planned = [
        (str(each.number), each.bug, each.kind, word[each.fails_without], word[each.fails_with]) for each in CATALOGUE
    ]
    assert _ROW.findall(PAGE.read_text()) == planned
