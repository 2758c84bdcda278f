"""The status of a fleet as tables for a terminal."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from fleet.statusview import OWNED_STATES, FleetStatus, MemberState, ShardRow, ShardState
from shards.keyrange import KeyRange

_MEMBER_STYLES = {
    MemberState.ALIVE: "green",
    MemberState.LEAVING: "yellow",
    MemberState.SILENT: "red",
    MemberState.GONE: "dim",
}
_NO_WIDTH = 10_000
_SHARD_STYLES = {ShardState.OWNED: "green", ShardState.MOVING: "yellow", ShardState.DRAINING: "yellow"}


def render(status: FleetStatus, *, longest: int = 0) -> RenderableType:
    """Headline, members and shards. longest: rows of the shard table, unowned ones first; 0 for all."""
    return Group(_headline(status), _members(status), _shards(status, longest))


def write(status: FleetStatus, stream: TextIO) -> None:
    """All of it to a stream. Nothing is cut: a terminal that is too narrow wraps the lines, and a file has no width."""
    console = Console(file=stream, highlight=False)
    content = render(status)
    if console.is_terminal:
        free = console.options.update_width(_NO_WIDTH)
        members = Measurement.get(console, free, _members(status)).maximum
        shards = Measurement.get(console, free, _shards(status, 0)).minimum  # its last column may be wrapped
        Console(file=stream, highlight=False, width=max(console.width, members, shards)).print(content)
        return
    plain = Console(file=stream, highlight=False, width=_NO_WIDTH)
    with plain.capture() as captured:
        plain.print(content)
    stream.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def _headline(status: FleetStatus) -> Text:
    layout = len(status.shards) - sum(row.state is ShardState.RETIRING for row in status.shards)
    unowned = len(status.unowned)
    text = Text.assemble(
        ("fleet ", "dim"),
        (status.fleet, "bold"),
        (" in ", "dim"),
        status.namespace,
        ("  map ", "dim"),
        str(status.map_version),
        ("  coordinator ", "dim"),
        status.coordinator_pod or status.coordinator or Text("none", "red"),
        ("  shards ", "dim"),
        f"{layout - unowned} of {layout} owned",
    )
    if not status.shards:
        text.append("  no map yet: the coordinator has not planned", "yellow")
    elif unowned:
        text.append(f"  {unowned} unowned", "bold red")
    return text


def _members(status: FleetStatus) -> Table:
    columns = ["member", "state", "epoch", "shards", "objects", "queue", "parked", "per s", "renewed"]
    revisions = any(row.revision for row in status.members)
    table = _table(*columns, *(["revision"] if revisions else []))
    for row in status.members:
        ago = "?" if row.renewed_seconds_ago is None else f"~{max(row.renewed_seconds_ago, 0):.0f} s"
        cells = [str(row.epoch), f"{row.shards} of {row.targets}", str(row.objects), str(row.queue_depth)]
        cells += [str(row.parked), f"{row.reconciles_per_second:.1f}", ago, *([row.revision] if revisions else [])]
        table.add_row(row.name, Text(row.state, _MEMBER_STYLES[row.state]), *cells)
    return table


def _shards(status: FleetStatus, longest: int) -> Table:
    table = _table("shard", "state", "owner", "epoch", "target", "objects", "queue", "parked", "why")
    rows = list(status.shards)
    left_out = 0
    if longest and len(rows) > longest:
        left_out = len(rows) - longest
        chosen = {row.range for row in sorted(rows, key=_calm)[:longest]}
        rows = [row for row in rows if row.range in chosen]
    for row in rows:
        owner = f"{row.owner}@{row.owner_epoch}" if row.owner else "-"
        target = "" if row.target == row.owner else row.target or "-"
        table.add_row(
            KeyRange.parse(row.range).short,
            Text(row.state, _SHARD_STYLES.get(row.state, "red")),
            owner,
            str(row.epoch),
            target,
            str(row.objects) if row.owner else "",
            str(row.queue_depth) if row.owner else "",
            str(row.parked) if row.owner else "",
            row.why,
        )
    if left_out:
        table.caption = f"and {left_out} more"
    return table


def _calm(row: ShardRow) -> int:
    """Sort key: what nobody owns first, then what moves, then the rest."""
    return 0 if row.state not in OWNED_STATES else 2 if row.state is ShardState.OWNED else 1


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, caption_justify="left")
    for column in columns:
        numeric = column in ("epoch", "objects", "queue", "parked", "per s", "shards", "renewed")
        table.add_column(column, justify="right" if numeric else "left", no_wrap=column != "why")
    return table
