"""One line of the benchmark: a figure of ours beside a peer's, and what it has to be."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

Measure = Literal["ratio", "difference", "value"]
"""What the target is about: ours divided by theirs, ours minus theirs, or ours alone."""

Bound = Literal["at most", "at least", "exactly"]
_SIGNS: dict[Bound, str] = {"at most": "<=", "at least": ">=", "exactly": "="}


class Comparison(msgspec.Struct, frozen=True):
    """ours, theirs: medians over the rounds, in `unit`; theirs None where there is nobody to compare with.

    measured: what is compared with the target: the median of each round's own ratio or difference, since the rounds
    differ more than the peers within one; None where it could not be measured.
    target: None for a figure that is only told. judged: False where the target is meant for a larger cluster.
    """

    quantity: str
    ours: float | None
    unit: str = ""
    peer: str = ""
    theirs: float | None = None
    measured: float | None = None
    measure: Measure = "value"
    target: float | None = None
    bound: Bound = "at most"
    judged: bool = True

    @property
    def ok(self) -> bool:
        if self.target is None or not self.judged:
            return True
        if self.measured is None:
            return False
        if self.bound == "exactly":
            return self.measured == self.target
        return self.measured <= self.target if self.bound == "at most" else self.measured >= self.target

    @property
    def verdict(self) -> str:
        """ "" where nothing was demanded."""
        if self.target is None:
            return ""
        if not self.judged:
            return "not judged"
        return "ok" if self.ok else "MISSED"

    @property
    def demand(self) -> str:
        """The target for readers, such as `<= 0.10 x U`."""
        if self.target is None:
            return ""
        suffix = {"ratio": " x", "difference": f" {self.unit}".rstrip(), "value": ""}[self.measure]
        return f"{_SIGNS[self.bound]} {self.target:g}{suffix}"


class _Line(msgspec.Struct):
    quantity: str
    ours: float | None
    unit: str
    peer: str
    theirs: float | None
    measured: float | None
    measure: str
    target: float | None
    bound: str
    judged: bool
    ok: bool


def shown(value: float | None) -> str:
    """Three significant digits; thousands whole."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def cells(each: Comparison) -> tuple[str, ...]:
    """quantity, ours, peer, theirs, measured, target, verdict."""
    unit = f" {each.unit}" if each.unit else ""
    theirs = "" if each.theirs is None else shown(each.theirs) + unit
    measured = "" if each.measure == "value" else shown(each.measured)
    return (each.quantity, shown(each.ours) + unit, each.peer, theirs, measured, each.demand, each.verdict)


HEAD = ("quantity", "ours", "peer", "the peer's", "ratio or difference", "target", "")


def conclude(rows: Sequence[Comparison]) -> int:
    """Prints the rows, with JSON=1 in the environment one object a line; returns the exit code: 1 where one misses."""
    if os.environ.get("JSON"):
        for row in rows:
            fields = {name: getattr(row, name) for name in _Line.__struct_fields__}
            print(msgspec.json.encode(_Line(**fields)).decode())
    else:
        table = Table(box=box.SIMPLE_HEAD)
        for name in HEAD:
            table.add_column(name)
        for row in rows:
            table.add_row(*cells(row))
        Console(highlight=False, width=None if os.environ.get("COLUMNS") else 150).print(table)
    return int(not all(row.ok for row in rows))
