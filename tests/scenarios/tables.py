"""What is so in a simulated fleet, as plain tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chaos.simulation.protocol.fleet import ProtocolFleet
from fleet.backends.record_cache import Record
from fleet.records.object_names import Kind
from fleet.records.record import CoordinatorRecord, MemberRecord, ShardMap, ShardRecord, StoredMap
from shards.keyrange import KeyRange

NOTHING = "-"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns of text, two blanks apart, none at the ends of lines."""
    cells = [list(head), *([str(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = ("  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def map_of(fleet: ProtocolFleet) -> ShardMap | None:
    found = next(iter(fleet.store.of(Kind.MAP).values()), None)
    return found.map if isinstance(found, StoredMap) else None


def members_of(fleet: ProtocolFleet) -> list[MemberRecord]:
    return [each for each in _sorted(fleet, Kind.MEMBER) if isinstance(each, MemberRecord)]


def shards_of(fleet: ProtocolFleet) -> list[ShardRecord]:
    found = [each for each in _sorted(fleet, Kind.SHARD) if isinstance(each, ShardRecord)]
    return sorted(found, key=lambda record: record.range)


def office_of(fleet: ProtocolFleet) -> CoordinatorRecord | None:
    found = next((found for (kind, _), found in fleet.store.records.items() if kind is Kind.COORDINATOR), None)
    return found if isinstance(found, CoordinatorRecord) else None


def _sorted(fleet: ProtocolFleet, kind: Kind) -> list[Record]:
    return [found for _, found in sorted(fleet.store.of(kind).items())]


def owners(fleet: ProtocolFleet) -> str:
    """Who acts on what at this moment: of the ranges of the map, and of others that somebody acts on."""
    acting = {each: (process, epoch) for each, process, epoch in fleet.acting()}
    found = map_of(fleet)
    ranges: set[KeyRange] = {*acting, *(found.ranges if found else ())}
    rows = [(each.short, *acting.get(each, ("nobody", NOTHING))) for each in sorted(ranges)]
    return table(("range", "acts on it", "epoch"), rows)


def the_map(fleet: ProtocolFleet) -> str:
    found = map_of(fleet)
    if found is None:
        return "there is no map"
    rows = [
        (each.short, target or NOTHING, "opened" if each in found.opened else "")
        for each, target in zip(found.ranges, found.targets, strict=True)
    ]
    notes = [
        f"map {found.version}, of coordinator epoch {found.coordinator_epoch}",
        table(("range", "target", ""), rows),
    ]
    notes += [f"{what}: {' '.join(ranges)}" for what, ranges in _others(found) if ranges]
    return "\n".join(notes)


def _others(found: ShardMap) -> list[tuple[str, list[str]]]:
    return [
        ("retiring", [each.short for each in sorted(found.retiring)]),
        ("lost", [each.short for each in sorted(found.lost)]),
        ("dead are epochs below", [f"{name}@{floor}" for name, floor in sorted(found.floors.items()) if floor > 1]),
    ]


def leases(fleet: ProtocolFleet) -> str:
    rows = [
        (each.range.short, each.status, each.epoch, _holder(each), each.standby.holder if each.standby else NOTHING)
        for each in shards_of(fleet)
    ]
    return table(("shard Lease", "status", "epoch", "held by", "standby"), rows) if rows else "there is no shard Lease"


def _holder(record: ShardRecord) -> str:
    if record.holder is not None:
        return str(record.holder)
    return "nobody (released)" if record.released == record.epoch else "nobody"


def members(fleet: ProtocolFleet) -> str:
    rows = [
        (each.name, each.epoch, each.holder or "nobody", f"map {each.seen_map}", "leaving" if each.leaving else "")
        for each in members_of(fleet)
    ]
    return table(("member Lease", "epoch", "held by", "follows", ""), rows) if rows else "there is no member Lease"


def office(fleet: ProtocolFleet) -> str:
    found = office_of(fleet)
    if found is None:
        return "nobody has ever been in office"
    return f"coordinator epoch {found.epoch}, held by {found.holder or 'nobody'}"
