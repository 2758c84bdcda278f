"""What `fleet status` says: who is alive, who owns what, what nobody owns, and why. Pure.

A holder on a Lease is an owner only under the rules that workers themselves follow (R3): one whose member was fenced,
has begun anew or is gone owns nothing. Only silence is judged by a clock here, and is marked as such: a reader that
looks once cannot know more (design 3.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fleet.records.controls import Controls, Order
from fleet.records.quarantine import Quarantine
from fleet.records.record import (
    PARTS,
    CoordinatorRecord,
    Holder,
    Incarnation,
    MemberRecord,
    ShardMap,
    ShardRecord,
    ShardStatus,
)
from fleet.records.report_record import ShardLoad
from fleet.rules.cuts import waiting_cuts
from fleet.rules.handover import is_free, standby_of
from fleet.status.filter_rows import filter_rows
from fleet.status.status_rows import (
    OWNED_STATES,
    FailingRow,
    FleetStatus,
    MemberRow,
    MemberState,
    OrderRow,
    ShardRow,
    ShardState,
    WaitingRow,
)
from fleet.status.stuck_rows import failing_rows, quarantine_rows, waiting_rows
from shards.keyrange import KeyRange

__all__ = [
    "OWNED_STATES",
    "FailingRow",
    "FleetStatus",
    "MemberRow",
    "MemberState",
    "OrderRow",
    "ShardRow",
    "ShardState",
    "Sight",
    "WaitingRow",
    "fleet_status",
]


@dataclass(frozen=True, slots=True)
class Sight:
    """What was read. silent: members and "" for the coordinator, whose leases ran out by all that we know.

    renewed_ago: seconds since a member's own timestamp of its last renewal. at: when it was read, in seconds since
    1970. controls: what people ordered; None where it cannot be read, and then controls_trouble says why. quarantine,
    quarantine_trouble: keys that ended workers, and why that cannot be read.
    """

    fleet: str
    namespace: str
    map: ShardMap | None
    members: Mapping[str, MemberRecord]
    shards: Mapping[KeyRange, ShardRecord]
    coordinator: CoordinatorRecord | None
    silent: frozenset[str] = frozenset()
    renewed_ago: Mapping[str, float] | None = None
    at: float | None = None
    controls: Controls | None = field(default_factory=Controls)
    controls_trouble: str = ""
    quarantine: Quarantine = field(default_factory=Quarantine)
    quarantine_trouble: str = ""


def fleet_status(sight: Sight) -> FleetStatus:
    """The read model of one sight."""
    shard_map = sight.map
    rows = tuple(_shard_rows(sight, shard_map)) if shard_map else ()
    coordinator = sight.coordinator
    holder = coordinator.holder if coordinator and "" not in sight.silent else ""
    return FleetStatus(
        fleet=sight.fleet,
        namespace=sight.namespace,
        map_version=shard_map.version if shard_map else 0,
        partition_by=str(shard_map.partition_key) if shard_map else "",
        coordinator=holder,
        coordinator_pod=_pod_of(holder, sight.members.values()),
        coordinator_epoch=coordinator.epoch if coordinator else 0,
        members=tuple(_member_row(sight, sight.members[name], rows) for name in sorted(sight.members)),
        shards=rows,
        failing_keys=sum(row.failing for row in rows),
        failing=failing_rows(sight.members, rows, sight.at),
        waiting_keys=sum(row.waiting for row in rows),
        waiting=waiting_rows(sight.members, rows, sight.at),
        paused_keys=sum(row.paused for row in rows),
        quarantine=quarantine_rows(sight.quarantine.entries.values()),
        quarantine_trouble=sight.quarantine_trouble,
        filters=filter_rows(sight.members.values(), sight.at),
        unowned=tuple(row.range for row in rows if not row.owner and row.state is not ShardState.RETIRING),
        frozen=_order_row("", sight.controls.frozen) if sight.controls and sight.controls.frozen else None,
        drained=tuple(_order_row(*each) for each in sorted((sight.controls or Controls()).drained.items())),
        controls_trouble=sight.controls_trouble,
        controls_unknown=tuple(sorted((sight.controls or Controls()).other)),
        cuts_waiting=waiting_cuts((sight.controls or Controls()).requests, shard_map.requests_done)
        if shard_map
        else (),
        config_refused=shard_map.config_refused if shard_map else "",
    )


def _order_row(name: str, order: Order) -> OrderRow:
    return OrderRow(name=name, by=order.by, why=order.why, since=order.since)


def _pod_of(holder: str, members: Iterable[MemberRecord]) -> str:
    """The pod whose agent holds the office: agents and workers of one pod name the same supervisor."""
    incarnation = Incarnation.parse(holder)
    for member in members:
        if incarnation and member.holder and incarnation.supervisor == f"{member.holder.supervisor}.agent":
            return member.pod
    return ""


def _member_row(sight: Sight, record: MemberRecord, rows: Iterable[ShardRow]) -> MemberRow:
    owned = [row for row in rows if row.owner == record.name]
    renewed_ago = (sight.renewed_ago or {}).get(record.name)
    return MemberRow(
        name=record.name,
        state=_member_state(sight, record),
        epoch=record.epoch,
        shards=len(owned),
        targets=sum(target == record.name for target in sight.map.targets) if sight.map else 0,
        objects=sum(row.objects for row in owned),
        queue_depth=sum(row.queue_depth for row in owned),
        parked=sum(row.parked for row in owned),
        failing=sum(row.failing for row in owned),
        waiting=sum(row.waiting for row in owned),
        reconciles_per_second=round(sum(row.reconciles_per_second for row in owned), 2),
        revision=record.revision,
        pod=record.pod,
        pid=record.pid,
        follows_map=record.seen_map,
        renewed_seconds_ago=None if renewed_ago is None else round(renewed_ago, 1),
        budget_share=_budget_share(sight, record),
        drained=bool({record.name, record.pod} & (sight.controls or Controls()).drained.keys()),
    )


def _budget_share(sight: Sight, record: MemberRecord) -> float | None:
    shares = sight.map.shares if sight.map else {}
    if not shares:
        return None
    share = shares.get(record.name)
    return round(share.parts / PARTS, 3) if share is not None and share.epoch == record.epoch else 0.0


def _member_state(sight: Sight, record: MemberRecord) -> MemberState:
    floor = sight.map.floors.get(record.name, 0) if sight.map else 0
    if record.holder is None or record.epoch < floor:
        return MemberState.GONE
    if record.name in sight.silent:
        return MemberState.SILENT
    return MemberState.LEAVING if record.leaving else MemberState.ALIVE


def _shard_rows(sight: Sight, shard_map: ShardMap) -> Iterable[ShardRow]:
    for wanted, target in zip(shard_map.ranges, shard_map.targets, strict=True):
        yield _shard_row(sight, shard_map, wanted, target)
    for wanted in sorted(shard_map.retiring):
        yield _shard_row(sight, shard_map, wanted, "")


def _shard_row(sight: Sight, shard_map: ShardMap, wanted: KeyRange, target: str) -> ShardRow:
    record = sight.shards.get(wanted)
    state, why = _shard_state(sight, shard_map, wanted, target)
    holder = record.holder if record else None
    owner = holder if holder and state in OWNED_STATES else None
    if wanted in shard_map.retiring:
        state, why = ShardState.RETIRING, why if owner is None else f"{owner} lets go of it for good"
    member = sight.members.get(owner.member) if owner else None
    load = member.loads.get(str(wanted), ShardLoad()) if member else ShardLoad()
    return ShardRow(
        range=str(wanted),
        state=state,
        owner=owner.member if owner else "",
        owner_epoch=owner.epoch if owner else 0,
        epoch=record.epoch if record else shard_map.shard_epochs.get(wanted, 0),
        target=target,
        why=why or load.closed,
        objects=load.objects,
        queue_depth=load.queue_depth,
        parked=load.parked,
        failing=load.failing,
        waiting=load.waiting,
        paused=load.paused,
        reconciles_per_second=round(load.reconciles_per_second, 2),
    )


def _shard_state(sight: Sight, shard_map: ShardMap, wanted: KeyRange, target: str) -> tuple[ShardState, str]:
    """The state, and one clause about why where nobody owns it or that will change."""
    record = sight.shards.get(wanted)
    waits = f"waits for {target} to claim it" if target else "has no target yet"
    if wanted in shard_map.lost:
        return ShardState.LOST, "its Lease was deleted; waits until every member has noticed"
    if record is None:
        opened = wanted in shard_map.opened
        return (ShardState.LOST, "its Lease is missing") if opened else (ShardState.NEW, "its Lease was not made yet")
    if record.status is ShardStatus.RETIRED:
        return ShardState.NEW, "waits for the coordinator to activate it"
    if is_free(record, shard_map):
        former = record.holder or record.last_holder
        return ShardState.FREE, f"{waits}; last held by {former}" if former else waits
    if record.foreign:
        return ShardState.HELD, "its Lease is of another version of the protocol: nobody here reads or writes it"
    if record.holder is None:
        return ShardState.HELD, "its Lease was edited by hand; the coordinator mends it"
    return _held(sight, shard_map, record, record.holder, target)


def _held(
    sight: Sight, shard_map: ShardMap, record: ShardRecord, holder: Holder, target: str
) -> tuple[ShardState, str]:
    """A Lease with a holder whose epoch is not below its floor."""
    member = sight.members.get(holder.member)
    if member is None:
        return ShardState.SILENT, f"the Lease of {holder.member} is gone; its epochs must be fenced"
    if member.epoch > holder.epoch:
        anew = "began anew and may claim it" if member.holder else "was fenced"
        return ShardState.FREE, f"{holder.member} {anew}; held last by {holder}"
    if member.holder is None:
        return ShardState.FREE, f"{holder.member} left or was fenced; the map does not say so yet"
    if holder.member in sight.silent:
        return ShardState.SILENT, f"{holder.member} is silent and must be fenced first"
    if target in ("", holder.member):
        return ShardState.OWNED, ""
    if standby_of(record, target, shard_map) is None:
        return ShardState.MOVING, f"{target} prepares to take over"
    return ShardState.DRAINING, f"{target} is ready to take over"
