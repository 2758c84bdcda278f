"""The status of a fleet as tables for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TextIO

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from fleet.status.status_rows import QuarantineRow
from fleet.status.statusview import OWNED_STATES, FleetStatus, MemberRow, MemberState, OrderRow, ShardRow, ShardState
from shards.keyrange import KeyRange

_MEMBER_STYLES = {
    MemberState.ALIVE: "green",
    MemberState.LEAVING: "yellow",
    MemberState.SILENT: "red",
    MemberState.GONE: "dim",
}
_NO_WIDTH = 10_000
_NUMERIC = frozenset({"epoch", "objects", "queue", "parked", "per s", "shards", "renewed"})
_NUMERIC |= {"budget", "failing", "waiting", "for", "failures", "times", "deaths", "generation", "views", "foreign"}
_WRAPPED = ("why", "last error", "because", "last words")
_FAILING, _WAITING = "bold red", "yellow"
_SHARD_STYLES = {ShardState.OWNED: "green", ShardState.MOVING: "yellow", ShardState.DRAINING: "yellow"}


def render(status: FleetStatus, *, longest: int = 0) -> RenderableType:
    """Headline, members and shards. longest: rows of the shard table, unowned ones first; 0 for all."""
    return Group(_headline(status), *_orders(status), _members(status), _shards(status, longest))


def write(status: FleetStatus, stream: TextIO, *, failing: bool = False) -> None:
    """All of it to a stream. Nothing is cut: a terminal that is too narrow wraps the lines, and a file has no width.

    failing: the keys that keep failing, wait for long, or end workers, instead.
    """
    if failing:
        _write_wrapped(stuck_keys(status), stream)
        return

    def least(console: Console) -> int:
        free = console.options.update_width(_NO_WIDTH)
        members = Measurement.get(console, free, _members(status)).maximum
        return max(members, Measurement.get(console, free, _shards(status, 0)).minimum)  # the same here

    _print(Group(render(status), *filters(status)), stream, least)


def write_quarantine(rows: Sequence[QuarantineRow], stream: TextIO) -> None:
    """The same of keys that ended workers."""
    _write_wrapped([_quarantine(rows)], stream)


def _write_wrapped(tables: Sequence[RenderableType], stream: TextIO) -> None:
    """Tables whose last columns may be wrapped."""

    def least(console: Console) -> int:
        free = console.options.update_width(_NO_WIDTH)
        return max(Measurement.get(console, free, each).minimum for each in tables)

    _print(Group(*tables), stream, least)


def _print(content: RenderableType, stream: TextIO, least: Callable[[Console], int]) -> None:
    """least: how wide it must be on a terminal, whatever the terminal's width."""
    console = Console(file=stream, highlight=False)
    if console.is_terminal:
        Console(file=stream, highlight=False, width=max(console.width, least(console))).print(content)
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
    failing, waiting = status.failing_keys, status.waiting_keys
    if failing:
        text.append(f"  {failing} {'key keeps' if failing == 1 else 'keys keep'} failing", _FAILING)
    if waiting:
        text.append(f"  {waiting} {'key waits' if waiting == 1 else 'keys wait'} for long", _WAITING)
    quarantined = status.quarantined_keys
    if quarantined:
        text.append(f"  {quarantined} {'key is' if quarantined == 1 else 'keys are'} quarantined", _FAILING)
    if failing or waiting or quarantined:
        text.append(": --failing", "dim")
    paused = status.paused_keys
    if paused:
        text.append(f"  {paused} {'object is' if paused == 1 else 'objects are'} paused", _WAITING)
    return text


def _orders(status: FleetStatus) -> list[Text]:
    """What people ordered and wrote, a line each."""
    lines = [] if status.frozen is None else [f"frozen{_told(status.frozen)}; fleet unfreeze ends it"]
    lines += [f"{each.name} is drained{_told(each)}; fleet undrain {each.name} ends it" for each in status.drained]
    if status.controls_trouble:
        lines.append(f"what is ordered cannot be read, and changes nothing: {status.controls_trouble}")
    lines += [f"waits to be done: {each}" for each in status.cuts_waiting]
    if status.controls_unknown:
        unknown = ", ".join(status.controls_unknown)
        lines.append(f"what is ordered has fields that this version does not know, and that change nothing: {unknown}")
    if status.config_refused:
        lines.append(f"the fleet's config is refused, and the layout stays as it is: {status.config_refused}")
    return [Text(line, "yellow") for line in lines]


def _told(order: OrderRow) -> str:
    since, by, why = order.since and f" since {order.since}", order.by and f" by {order.by}", order.why
    return f"{since}{by}{f' ({why})' if why else ''}"


def _members(status: FleetStatus) -> Table:
    columns = ["member", "state", "epoch", "shards", "objects", "queue", "parked", "per s", "renewed"]
    revisions = any(row.revision for row in status.members)
    failing = any(row.failing for row in status.members)
    waiting = any(row.waiting for row in status.members)
    budget = any(row.budget_share is not None for row in status.members)
    optional = (("budget", budget), ("failing", failing), ("waiting", waiting), ("revision", revisions))
    shown = [name for name, there in optional if there]
    table = _table(*columns, *shown)
    for row in status.members:
        ago = "?" if row.renewed_seconds_ago is None else f"~{max(row.renewed_seconds_ago, 0):.0f} s"
        cells = [str(row.epoch), f"{row.shards} of {row.targets}", str(row.objects), str(row.queue_depth)]
        cells += [str(row.parked), f"{row.reconciles_per_second:.1f}", ago]
        marks = {**_stuck(row), "revision": Text(row.revision)}
        marks["budget"] = Text("" if row.budget_share is None else f"{row.budget_share:.0%}")
        state = f"{row.state}, drained" if row.drained else str(row.state)
        table.add_row(row.name, Text(state, _MEMBER_STYLES[row.state]), *cells, *(marks[name] for name in shown))
    return table


def _shards(status: FleetStatus, longest: int) -> Table:
    failing = any(row.failing for row in status.shards)
    waiting = any(row.waiting for row in status.shards)
    shown = [name for name, there in (("failing", failing), ("waiting", waiting)) if there]
    table = _table("shard", "state", "owner", "epoch", "target", "objects", "queue", "parked", *shown, "why")
    rows = list(status.shards)
    left_out = 0
    if longest and len(rows) > longest:
        left_out = len(rows) - longest
        chosen = {row.range for row in sorted(rows, key=_calm)[:longest]}
        rows = [row for row in rows if row.range in chosen]
    for row in rows:
        owner = f"{row.owner}@{row.owner_epoch}" if row.owner else "-"
        target = "" if row.target == row.owner else row.target or "-"
        marks = _stuck(row)
        table.add_row(
            KeyRange.parse(row.range).short,
            Text(row.state, _SHARD_STYLES.get(row.state, "red")),
            owner,
            str(row.epoch),
            target,
            str(row.objects) if row.owner else "",
            str(row.queue_depth) if row.owner else "",
            str(row.parked) if row.owner else "",
            *(marks[name] if row.owner else "" for name in shown),
            row.why,
        )
    return _with_rest(table, left_out)


def _calm(row: ShardRow) -> int:
    """Sort key: what nobody owns first, then what moves, fails or waits, then the rest."""
    if row.state not in OWNED_STATES:
        return 0
    return 2 if row.state is ShardState.OWNED and not (row.failing or row.waiting or row.why) else 1


def _stuck(row: MemberRow | ShardRow) -> dict[str, Text]:
    """How many keys keep failing, and how many wait for long, by the name of the column."""
    return {
        "failing": Text(str(row.failing), _FAILING if row.failing else ""),
        "waiting": Text(str(row.waiting), _WAITING if row.waiting else ""),
    }


def stuck_keys(status: FleetStatus) -> list[RenderableType]:
    """The keys that keep failing, that wait for long, and that ended workers: a table of each, where there are any."""
    found: list[RenderableType] = [
        *([_failing_keys(status)] if status.failing_keys else []),
        *([_waiting_keys(status)] if status.waiting_keys else []),
        *([_quarantine(status.quarantine)] if status.quarantine else []),
        *([_trouble(status.quarantine_trouble)] if status.quarantine_trouble else []),
    ]
    tables: list[RenderableType] = [each for table in found for each in (Text(""), table)][1:]
    return tables or [Text(f"no key of {status.fleet} keeps failing, and none waits for long")]


def _failing_keys(status: FleetStatus) -> Table:
    table = _table("controller", "key", "shard", "member", "since", "for", "failures", "last error")
    for row in status.failing:
        error = f"{row.error} (not tried again until the object changes)" if row.terminal else row.error
        shard = KeyRange.parse(row.shard).short
        table.add_row(
            row.controller, row.key, shard, row.member, row.since, _lasting(row.for_seconds), str(row.count), error
        )
    return _with_rest(table, status.failing_keys - len(status.failing))


def _waiting_keys(status: FleetStatus) -> Table:
    table = _table("controller", "key", "shard", "member", "since", "for", "times", "waits for", "because")
    for row in status.waiting:
        shard, lasting = KeyRange.parse(row.shard).short, _lasting(row.for_seconds)
        table.add_row(
            row.controller, row.key, shard, row.member, row.since, lasting, str(row.times), row.waits_for, row.why
        )
    return _with_rest(table, status.waiting_keys - len(status.waiting))


def _quarantine(rows: Sequence[QuarantineRow]) -> Table:
    columns = "controller", "key", "state", "deaths", "since", "last", "ended", "worker", "generation", "last words"
    table = _table(*columns)
    for row in rows:
        state = Text("quarantined", _FAILING) if row.quarantined else Text("suspect", _WAITING)
        cells = [str(row.deaths), row.since, row.last, row.ended, row.worker, str(row.generation or ""), row.words]
        table.add_row(row.controller, row.key, state, *cells)
    return table


def _trouble(why: str) -> Text:
    return Text(f"the quarantine cannot be read: {why}", "yellow")


def filters(status: FleetStatus) -> list[RenderableType]:
    """Who keeps foreign objects out of the views: a table, where members say it."""
    if not status.filters:
        return []
    table = _table("resource", "filter", "views", "foreign", "probed", "why")
    for row in status.filters:
        better = bool(row.best) and row.filter != row.best
        ago = "" if row.probed_seconds_ago is None else f"{_lasting(row.probed_seconds_ago)} ago"
        why = f"{row.best} {row.verdict or 'is off'}{': ' if row.why else ''}{row.why}" if better else ""
        table.add_row(
            row.resource,
            Text(row.filter, "yellow" if better else "green"),
            str(row.views),
            Text(str(row.foreign), "yellow" if row.foreign else ""),
            ago,
            why,
        )
    return [Text(""), table]


def _lasting(seconds: float | None) -> str:
    """In the two largest units that say anything."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min" if minutes else f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"


def _with_rest(table: Table, left_out: int) -> Table:
    if left_out > 0:
        table.caption = f"and {left_out} more"
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, caption_justify="left")
    for column in columns:
        justify: Literal["right", "left"] = "right" if column in _NUMERIC else "left"
        table.add_column(column, justify=justify, no_wrap=column not in _WRAPPED)
    return table
