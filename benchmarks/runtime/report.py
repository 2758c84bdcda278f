"""docs/benchmarks.md and its charts, as the benchmark leaves them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.document import replaced
from benchmarks.runtime.chart import Bar, bars
from benchmarks.runtime.comparison import HEAD, Comparison, cells

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
_OURS = "shardfleet"


def write(document: Path, rows: Sequence[Comparison], versions: Mapping[str, str], how: str) -> None:
    """Replaces the figures in the document and draws a chart of each quantity beside it, below `benchmarks/`.

    how: how they were measured, one line. Raises ValueError for a document without the two marks.
    """
    charts = document.parent / "benchmarks"
    charts.mkdir(exist_ok=True)
    for drawn_before in charts.glob("*.svg"):
        drawn_before.unlink()
    names = []
    for quantity in dict.fromkeys(row.quantity for row in rows):
        mine = [row for row in rows if row.quantity == quantity]
        drawn = chart(mine, versions)
        if drawn:
            name = f"{slug(quantity)}.svg"
            (charts / name).write_text(drawn)
            names.append((quantity, name))
    document.write_text(replaced(document, BEGIN, END, figures(rows, versions, how, names)))


def figures(
    rows: Sequence[Comparison], versions: Mapping[str, str], how: str, charts: Sequence[tuple[str, str]]
) -> str:
    """The part of the document that the benchmark writes: what was measured, and no more."""
    said = ", ".join(f"{name} {version}" for name, version in versions.items())
    lines = [how, "", f"Versions: {said}.", "", f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    lines += [f"| {' | '.join(cells(row))} |" for row in rows if row.ours is not None]
    lines.append("")
    lines += [f"![{quantity}](benchmarks/{name})" for quantity, name in charts]
    return "\n".join(lines) + "\n"


def chart(rows: Sequence[Comparison], versions: Mapping[str, str]) -> str:
    """One quantity: our bar, those of the peers, and a line at each target. "" where there is nothing to draw."""
    first = rows[0]
    found = [] if first.ours is None else [Bar(_OURS, first.ours, ours=True)]
    found += [Bar(row.peer, row.theirs) for row in rows if row.theirs is not None]
    if len(found) < 2 or min(each.value for each in found) < 0:
        return ""
    targets = []
    for row in rows:
        if row.target is None:
            continue
        if row.measure == "value":
            targets.append(("target", row.target))
        elif row.theirs is not None:
            moved = row.target * row.theirs if row.measure == "ratio" else row.target + row.theirs
            targets.append((f"{row.demand} {row.peer}" if len(rows) == 1 else "target", moved))
    lowest = min if first.bound == "at most" else max
    strictest = [lowest(targets, key=lambda each: each[1])] if targets else []
    return bars(first.quantity, first.unit, found, targets=strictest, note=", ".join(map(" ".join, versions.items())))


def slug(quantity: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", quantity.lower()).strip("-")
