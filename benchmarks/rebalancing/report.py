"""The figures of docs/benchmarks/rebalancing.md, as `make bench-rebalancing` found them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.document import replaced
from benchmarks.table import Row

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks" / "rebalancing.md"
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


class Section(NamedTuple):
    """What one measurement found."""

    name: str
    rows: tuple[Row, ...]


def write(document: Path, sections: Sequence[Section], how: str) -> None:
    """Replaces the figures. how: how they were measured, one line. Raises ValueError for a page without their marks."""
    document.write_text(replaced(document, BEGIN, END, figures(sections, how)))


def figures(sections: Sequence[Section], how: str) -> str:
    lines = [how]
    for section in sections:
        lines += ["", f"`{section.name}`", "", "| quantity | value | target |", "|---|---|---|"]
        lines += [f"| {row.quantity} | {_value(row)} | {_target(row)} |" for row in section.rows]
    return "\n".join(lines)


def _value(row: Row) -> str:
    return "never" if row.value is None else f"{row.value:,g} {row.unit}".rstrip()


def _target(row: Row) -> str:
    if row.target is None:
        return ""
    return f"{'>=' if row.at_least else '<='} {row.target:g}{'' if row.ok else ', MISSED'}"
