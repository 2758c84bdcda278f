"""The state of a canary as a table for a terminal."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from fleet.rules.canary_verdict import Word
from fleet.status.canary_view import CanaryStatus, CriterionRow, PartRow

_STYLES = {Word.GO_ON: "green", Word.WAIT: "yellow", Word.STEP_BACK: "bold red"}
_WIDTH = 160


def write(status: CanaryStatus, stream: TextIO) -> None:
    """Wraps where a terminal is narrow; a file gets whole lines."""
    console = Console(file=stream, highlight=False, width=None if stream.isatty() else _WIDTH)
    console.print(Group(_headline(status), _criteria(status), *_parts(status)))


def _headline(status: CanaryStatus) -> Text:
    what = f"{', '.join(status.features)} in {status.part}" if status.features else "none: the whole fleet is judged"
    text = Text.assemble(
        ("fleet ", "dim"),
        (status.fleet, "bold"),
        (" in ", "dim"),
        status.namespace,
        ("  canary ", "dim"),
        what,
    )
    text.append(f"\n{status.verdict}", _style(status.verdict))
    text.append(f": {status.why}")
    return text


def _criteria(status: CanaryStatus) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("criterion", "verdict", "because"):
        table.add_column(column)
    for row in status.criteria:
        table.add_row(row.name, _verdict(row), row.sentence)
    return table


def _parts(status: CanaryStatus) -> list[Table]:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("part")
    columns = ("shards", "keys", "parked", "failing", "paused", "reconciles", "requests", "live reads", "measured")
    for column in columns:
        table.add_column(column, justify="right")
    for name, part in (("canary" if status.features else "fleet", status.canary), ("rest", status.rest)):
        if part is not None:
            table.add_row(name, *_figures(part))
    return [table] if table.rows else []


def _figures(part: PartRow) -> list[str]:
    keys = (part.shards, part.keys, part.parked, part.failing, part.paused)
    return [*map(str, (*keys, part.reconciles, part.requests, part.live_reads)), f"{part.measured_seconds} s"]


def _verdict(row: CriterionRow) -> Text:
    return Text(row.verdict, _style(row.verdict))


def _style(verdict: str) -> str:
    return _STYLES[Word(verdict)]
