"""What a benchmark found: a table for people, or with JSON=1 in the environment one JSON object a line."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table


class Row(msgspec.Struct, frozen=True):
    """One quantity. value: None where it was never reached. target: the highest that will do, or with `at_least` the
    lowest; None for no target."""

    quantity: str
    value: float | None
    unit: str = ""
    target: float | None = None
    at_least: bool = False

    @property
    def ok(self) -> bool:
        if self.target is None or self.value is None:
            return self.target is None
        return self.value >= self.target if self.at_least else self.value <= self.target


class _Line(msgspec.Struct):
    quantity: str
    value: float | None
    unit: str
    target: float | None
    ok: bool


def conclude(rows: Sequence[Row]) -> int:
    """Prints the rows and returns the exit code: 1 where one misses its target."""
    if os.environ.get("JSON"):
        for row in rows:
            line = _Line(row.quantity, row.value, row.unit, row.target, row.ok)
            print(msgspec.json.encode(line).decode())
    else:
        Console(highlight=False).print(_table(rows))
    return int(not all(row.ok for row in rows))


def _table(rows: Sequence[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("quantity", "value", "unit", "target", ""):
        table.add_column(name, justify="right" if name in ("value", "target") else "left")
    for row in rows:
        target = "" if row.target is None else f"{'>=' if row.at_least else '<='} {row.target:g}"
        verdict = "" if row.target is None else "ok" if row.ok else "MISSED"
        value = "never" if row.value is None else f"{row.value:g}"
        table.add_row(row.quantity, value, row.unit, target, verdict)
    return table
