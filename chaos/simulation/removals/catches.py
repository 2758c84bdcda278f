"""What found each removal, and how the docs say it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from chaos.simulation.plan import Depth
from chaos.simulation.removals import REMOVALS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "removed-rules.md"
SCENARIOS = ROOT / "tests" / "integration" / "removed_rules"
"""One scenario for each removal that is caught, by its name."""

MARKS: Mapping[Depth, tuple[str, str]] = {
    "protocol": ("<!-- table: written by chaos.simulation.removals.search -->", "<!-- end of the table -->"),
    "stack": ("<!-- stack: written by chaos.simulation.removals.search -->", "<!-- end of the stack's -->"),
}
"""Between which the page has what was found at each depth."""


class Catch(NamedTuple):
    """seeds: that were played, with the one that caught it; 0 for a scenario that was written for it. oracle: "" when
    none did."""

    name: str
    seeds: int
    seed: int = -1
    oracle: str = ""
    what: str = ""

    @property
    def sentence(self) -> str:
        if not self.oracle:
            return f"{self.name}: nothing in {self.seeds} seeds"
        return f"{self.name}: {self.oracle} at seed {self.seed} ({self.seeds} played): {self.what}"


def table(catches: Mapping[str, Catch], page: str = "", depth: Depth = "protocol") -> str:
    """In order of the rules that are missed at that depth. page: what it says of removals without a catch stays."""
    lines = ["| rule | removed | found by | seeds until then | experiment |", "|---|---|---|---|---|"]
    known = {line.split("`")[-2].removeprefix("--break "): line for line in page.splitlines() if line.endswith("` |")}
    for name, removal in REMOVALS.items():
        if removal.depth != depth:
            continue
        catch = catches.get(name)
        if catch is not None:
            lines.append(f"| {removal.rule} | {removal.sentence} | {_found(catch, removal.covered)} |")
        elif name in known:
            lines.append(known[name])
    return "\n".join(lines)


def _found(catch: Catch, covered: str) -> str:
    """The columns of what found it."""
    if not catch.oracle:
        return f"nothing | none in {catch.seeds:,} | {covered or 'Not found yet.'} `{catch.name}`"
    seeds, what = f"{catch.seeds:,}" if catch.seeds else "a scenario", catch.what.replace("|", "/")
    return f"{catch.oracle} | {seeds} | {what}: `--break {catch.name}`"


def with_table(page: str, rows: str, depth: Depth = "protocol") -> str:
    """The page with another table between its marks. Raises ValueError for a page without them."""
    first, last = MARKS[depth]
    before, begin, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} has no table between its marks")
    return f"{before}{begin}\n{rows}\n{end}{after}"
