"""`fleet plan` for people: a table of loads, and one sentence for each move and cut."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.table import Table

from fleet.status.plan_view import PlanView

_NO_WIDTH = 10_000


def write(plan: PlanView, out: TextIO) -> None:
    """Nothing is cut off: a terminal that is too narrow wraps the lines."""
    console = Console(file=out, highlight=False, markup=False, soft_wrap=True, width=_NO_WIDTH)
    console.print(f"fleet {plan.fleet} in {plan.namespace}, map version {plan.map_version}")
    if plan.loads:
        console.print(_loads(plan))
    for move in plan.moves:
        console.print(move.sentence)
    for cut in plan.cuts:
        console.print(cut.sentence)
    if plan.still:
        only = "nothing else would move by choice" if plan.moves or plan.cuts else "nothing would move"
        console.print(f"{only}: {plan.still}")
    for note in plan.notes:
        console.print(f"note: {note}")


def _loads(plan: PlanView) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    for column in ("member", "weight", "shards", "cost s/s", "of fair share"):
        table.add_column(column, justify="left" if column == "member" else "right", no_wrap=True)
    for row in plan.loads:
        part = f"{100 * row.fair_part:.0f} %" if row.fair_part is not None else "gets none" if not row.receives else "-"
        table.add_row(row.member, f"{row.weight:g}", str(row.shards), f"{row.cost:.3f}", part)
    return table
