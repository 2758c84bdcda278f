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


def write(status: FleetStatus, stream: TextIO, *, failing: bool = False) -> None:
    """All of it to a stream. Nothing is cut: a terminal that is too narrow wraps the lines, and a file has no width.

    failing: the keys that keep failing instead.
    """
    console = Console(file=stream, highlight=False)
    content = failing_keys(status) if failing else render(status)
    if console.is_terminal:
        free = console.options.update_width(_NO_WIDTH)
        if failing:
            least = Measurement.get(console, free, content).minimum  # its last column may be wrapped
        else:
            members = Measurement.get(console, free, _members(status)).maximum
            least = max(members, Measurement.get(console, free, _shards(status, 0)).minimum)  # the same here
        Console(file=stream, highlight=False, width=max(console.width, least)).print(content)
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
    if status.failing_keys:
        keys = "key keeps" if status.failing_keys == 1 else "keys keep"
        text.append(f"  {status.failing_keys} {keys} failing: --failing", "bold red")
    return text


def _members(status: FleetStatus) -> Table:
    columns = ["member", "state", "epoch", "shards", "objects", "queue", "parked", "per s", "renewed"]
    revisions = any(row.revision for row in status.members)
    failing = any(row.failing for row in status.members)
    table = _table(*columns, *(["failing"] if failing else []), *(["revision"] if revisions else []))
    for row in status.members:
        ago = "?" if row.renewed_seconds_ago is None else f"~{max(row.renewed_seconds_ago, 0):.0f} s"
        cells = [str(row.epoch), f"{row.shards} of {row.targets}", str(row.objects), str(row.queue_depth)]
        cells += [str(row.parked), f"{row.reconciles_per_second:.1f}", ago]
        marks = [_failing(row.failing)] if failing else []
        table.add_row(
            row.name, Text(row.state, _MEMBER_STYLES[row.state]), *cells, *marks, *([row.revision] if revisions else [])
        )
    return table


def _shards(status: FleetStatus, longest: int) -> Table:
    failing = any(row.failing for row in status.shards)
    columns = ["shard", "state", "owner", "epoch", "target", "objects", "queue", "parked"]
    table = _table(*columns, *(["failing"] if failing else []), "why")
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
            *([_failing(row.failing) if row.owner else ""] if failing else []),
            row.why,
        )
    if left_out:
        table.caption = f"and {left_out} more"
    return table


def _calm(row: ShardRow) -> int:
    """Sort key: what nobody owns first, then what moves or fails, then the rest."""
    if row.state not in OWNED_STATES:
        return 0
    return 2 if row.state is ShardState.OWNED and not row.failing else 1


def _failing(keys: int) -> Text:
    return Text(str(keys), "bold red" if keys else "")


def failing_keys(status: FleetStatus) -> RenderableType:
    """The keys that keep failing, one a row."""
    if not status.failing_keys:
        return Text(f"no key of {status.fleet} keeps failing")
    table = _table("controller", "key", "shard", "member", "since", "failures", "last error")
    for row in status.failing:
        error = f"{row.error} (not tried again until the object changes)" if row.terminal else row.error
        shard = KeyRange.parse(row.shard).short
        table.add_row(row.controller, row.key, shard, row.member, row.since, str(row.count), error)
    left_out = status.failing_keys - len(status.failing)
    if left_out > 0:
        table.caption = f"and {left_out} more"
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, caption_justify="left")
    for column in columns:
        numeric = column in ("epoch", "objects", "queue", "parked", "per s", "shards", "renewed", "failing", "failures")
        table.add_column(column, justify="right" if numeric else "left", no_wrap=column not in ("why", "last error"))
    return table
