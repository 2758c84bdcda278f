"""The section of docs/benchmarks.md with what `make bench-staleness` found."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmarks.document import replaced
from benchmarks.staleness.quantities import Found, delay_name, rows

BEGIN, END = "<!-- staleness -->", "<!-- end of staleness -->"

_DELAYS = (
    "watch delay",
    "creates, calls: twice",
    "without the gate",
    "reconciles",
    "live reads",
    "live reads a reconcile",
)


def write(document: Path, found: Found, how: str) -> None:
    """Replaces the section's figures. how: how they were measured, one line. Raises ValueError."""
    document.write_text(replaced(document, BEGIN, END, figures(found, how)))


def figures(found: Found, how: str) -> str:
    """What was measured, and no more: watch delays in one table, the rest in another."""
    return "\n".join(
        [how, "", *_table(_DELAYS, _delays(found)), "", *_table(("quantity", "value", "target"), _others(found))]
    )


def _delays(found: Found) -> Iterable[tuple[str, ...]]:
    for seconds, (gated, ungated) in found.late.items():
        yield (
            delay_name(seconds),
            f"{gated.duplicate_creates}, {gated.duplicate_calls}",
            f"{ungated.duplicate_creates}, {ungated.duplicate_calls}",
            str(gated.reconciles),
            str(gated.live_reads),
            f"{gated.reads_a_reconcile:.3g}",
        )


def _others(found: Found) -> Iterable[tuple[str, ...]]:
    for row in rows(found):
        if row.quantity.startswith("watch delay"):
            continue
        sign = ">=" if row.at_least else "<="
        target = "" if row.target is None else f"{sign} {row.target:g}{'' if row.ok else ', MISSED'}"
        yield row.quantity, f"{row.value:g} {row.unit}".rstrip(), target


def _table(head: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(each)} |" for each in (head, ("---",) * len(head), *lines)]
