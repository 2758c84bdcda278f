"""What each rule of the ownership protocol is there for: what breaks without it, and in which scenario that is seen.

The table of docs/ownership-rules.md is the source. A removal is a name that the moves ask for (`World.without`). Its
row is an expectation: the explorer must find exactly that, no more and no less, in the scenario that is named.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "ownership-rules.md"

OTHER_TABLES = "## What is explored"

_ROW = re.compile(r"^\| (.+?) \| (.+?) \| (safety|liveness|availability|nothing) \| (.+?) \| (`.+?`), in \*(.+?)\* \|$")


class Removal(NamedTuple):
    """rule: of the design, or a decision. part: what is removed, as it should be. breaks: see `explorer`.

    names: what is removed; several where one alone changes nothing because another covers it. words: the shortest
    counterexample; for NOTHING, what covers it.
    """

    rule: str
    part: str
    breaks: str
    words: str
    names: tuple[str, ...]
    scenario: str


def _removals() -> tuple[Removal, ...]:
    """Raises ValueError for a row of the table that cannot be read."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line == OTHER_TABLES:
            break
        if not line.startswith("| ") or "`" not in line:  # the head
            continue
        row = _ROW.match(line)
        if row is None:
            raise ValueError(f"{PAGE.name}: not a row of the table of rules: {line}")
        rule, part, breaks, words, names, scenario = row.groups()
        found.append(Removal(rule, part, breaks, words, tuple(re.findall("`(.+?)`", names)), scenario))
    return tuple(found)


REMOVALS = _removals()
