"""What a coordinator should do next, from one look at the whole fleet. Pure.

At most one map write per look carries everything that changed: floors, lost and retiring ranges, targets. Fences and
the writes to shard records are listed beside it; each is checked again on live reads before it is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fleet.records.controls import Controls
from fleet.records.record import Holder, MemberRecord, ShardMap, ShardRecord, ShardStatus
from fleet.rules.budget_share import BudgetMemory, next_shares
from fleet.rules.handover import is_free, standby_of
from fleet.rules.membership import MemberWatch, floors
from fleet.rules.planner import Move, PlanSettings, eligible, plan
from fleet.rules.reshard import Upkeep, remembered_epochs, upkeep
from shards.keyrange import KeyRange

LONGEST_REQUEST_SECONDS = 30.0
"""No write of this project is on its way for longer than this."""

LONGEST_DEBOUNCE = 5
"""A membership that does not come to rest is planned on after this many debounces (design 3.5: takeover is bounded)."""


class Absence(NamedTuple):
    """A live read found no record of a member. epoch: the highest that shard records named then. since: the reading."""

    epoch: int
    since: float


@dataclass(slots=True)
class Memory:
    """What a coordinator remembers between looks; it starts empty in every office, which only delays.

    absent: members that shard records name, proved to have no record. handing: per range, the pending handover
    (target, shard epoch) and since when. barred: members that did not become ready for a range, until when.
    retired: since when this office has seen a record retired (R15). behind: since when an incarnation has not followed
    a map that marks ranges lost. expelled: epoch under which a member was told to give up.
    membership_at, restless_since: of the last change, and of the first one of the present burst of changes.
    """

    watch: MemberWatch = field(default_factory=MemberWatch)
    absent: dict[str, Absence] = field(default_factory=dict)
    handing: dict[KeyRange, tuple[str, int, float]] = field(default_factory=dict)
    barred: dict[KeyRange, dict[str, float]] = field(default_factory=dict)
    retired: dict[KeyRange, tuple[str, float]] = field(default_factory=dict)
    behind: dict[Holder, float] = field(default_factory=dict)
    expelled: dict[str, int] = field(default_factory=dict)
    moved_at: float = float("-inf")
    membership: tuple[str, ...] = ()
    membership_at: float = float("-inf")
    restless_since: float = float("-inf")
    budget: BudgetMemory = field(default_factory=BudgetMemory)


@dataclass(frozen=True, slots=True)
class Look:
    """One reading of everything. own_renewal_at: send time of the coordinator's last acknowledged renewal.

    controls: what people ordered.
    """

    epoch: int
    map: ShardMap
    shards: Mapping[KeyRange, ShardRecord]
    members: Mapping[str, MemberRecord]
    own_renewal_at: float
    lease_seconds: float
    controls: Controls = field(default_factory=Controls)


@dataclass(frozen=True, slots=True)
class Agenda:
    """map: the next map, None when nothing changes. moves: for the log. fence: member names. expel: incarnations.

    missing: members without a record in the view, with the highest epoch that names them, whose absence a live read
    should prove.
    """

    map: ShardMap | None
    moves: tuple[Move, ...]
    fence: tuple[str, ...]
    expel: tuple[Holder, ...]
    missing: tuple[Holder, ...]
    upkeep: Upkeep
    collect: tuple[ShardRecord, ...]


def draw_up(look: Look, memory: Memory, settings: PlanSettings, now: float) -> Agenda:
    """One look: what to write. Updates the memory."""
    memory.watch.observe(look.members, now)
    work = upkeep(look.map, look.shards, look.members.values(), look.map.version + 1)
    silent = memory.watch.silent(look.members, now)
    gone, missing = _gone(look, memory, now)
    new_floors = floors(look.map, look.members, look.shards.values(), gone=gone)
    targets, moves = _targets(look, memory, settings, new_floors, silent, now)
    draft = replace(
        look.map,
        coordinator_epoch=look.epoch,
        floors=new_floors,
        lost=work.lost,
        opened=look.map.opened | work.opening,
        retiring=work.retiring,
        targets=targets,
        shares=next_shares(
            look.map,
            look.shards.values(),
            look.members,
            memory.budget,
            lease_seconds=look.lease_seconds,
            now=now,
        ),
    )
    collect, unremembered = _garbage(look, memory, now)
    changed = replace(draft, floors=look.map.floors) != look.map or _frees_something(look, new_floors) or unremembered
    if changed:
        draft = replace(draft, version=look.map.version + 1, shard_epochs=remembered_epochs(look.map, look.shards))
    return Agenda(
        map=draft if changed else None,
        moves=moves,
        fence=tuple(memory.watch.fenceable(look.members, own_renewal_at=look.own_renewal_at, now=now)),
        expel=_stragglers(look, memory, settings, now),
        missing=missing,
        upkeep=work,
        collect=collect,
    )


def _frees_something(look: Look, new_floors: Mapping[str, int]) -> bool:
    """Whether the floors need a map write of their own: a record names an epoch that only they declare dead.

    Other floors wait for the next map write, so that a member's joining costs none.
    """
    return any(
        look.map.floors.get(holder.member, 0) <= holder.epoch < new_floors.get(holder.member, 0)
        for record in look.shards.values()
        if (holder := record.holder) is not None
    )


def _gone(look: Look, memory: Memory, now: float) -> tuple[dict[str, int], tuple[Holder, ...]]:
    """Floors of members that shard records name, proved absent for longer than a lease (R14), and who needs a proof.

    The view of members may be older than that of shards, so a name that it lacks is no proof. A later epoch in a shard
    record needs a proof of its own.
    """
    named: dict[str, int] = {}
    for record in look.shards.values():
        if record.holder is not None and record.holder.member not in look.members:
            named[record.holder.member] = max(named.get(record.holder.member, 0), record.holder.epoch)
    memory.absent = {name: absence for name, absence in memory.absent.items() if named.get(name) == absence.epoch}
    gone = {
        name: absence.epoch + 1 for name, absence in memory.absent.items() if now - absence.since > look.lease_seconds
    }
    return gone, tuple(Holder(*each) for each in sorted(named.items()) if each[0] not in memory.absent)


def _settled(memory: Memory, settings: PlanSettings, able: tuple[str, ...], now: float) -> bool:
    """Whether the membership has come to rest, or has been restless for too long to wait."""
    if memory.membership != able:
        if now - memory.membership_at >= settings.debounce_seconds:
            memory.restless_since = now
        memory.membership, memory.membership_at = able, now
    return (
        now - memory.membership_at >= settings.debounce_seconds
        or now - memory.restless_since >= LONGEST_DEBOUNCE * settings.debounce_seconds
    )


def _targets(
    look: Look, memory: Memory, settings: PlanSettings, new_floors: Mapping[str, int], silent: list[str], now: float
) -> tuple[tuple[str, ...], tuple[Move, ...]]:
    able = eligible(look.members, new_floors, silent)
    drained = look.controls.names_drained(look.members)
    # Where nobody else lives, a drained member is better than no owner.
    willing = [name for name in able if name not in drained] or able
    frozen = look.controls.frozen is not None
    settled = _settled(memory, settings, tuple(willing), now)
    targets, returned = _returned(look, memory, settings, able, now)
    if not settled:
        return (targets, returned)
    keepers = [*silent, *_awaited(look, memory, settings, now), *(drained if frozen else ())]
    made = plan(
        look.map.ranges,
        targets,
        willing,
        keepers=keepers,
        settings=settings,
        since_last_move=float("-inf") if frozen else now - memory.moved_at,
        barred={each: frozenset(names) for each, names in memory.barred.items()},
    )
    if made.voluntary:
        memory.moved_at = now
    return made.targets, (*returned, *made.moves)


def _awaited(look: Look, memory: Memory, settings: PlanSettings, now: float) -> list[str]:
    """Members that were fenced, did not say that they were leaving, and may come back within the restart grace."""
    return [
        name
        for name, record in look.members.items()
        if record.holder is None
        and not record.leaving
        and now - memory.watch.sightings[name].since < settings.restart_grace_seconds
    ]


def _returned(
    look: Look, memory: Memory, settings: PlanSettings, able: list[str], now: float
) -> tuple[tuple[str, ...], tuple[Move, ...]]:
    """R13: a target that did not get its standby ready in time loses the range to its holder again, who kept it."""
    for each, names in list(memory.barred.items()):
        memory.barred[each] = {name: until for name, until in names.items() if until > now}
        if not memory.barred[each]:
            del memory.barred[each]
    targets = list(look.map.targets)
    moves = []
    handing: dict[KeyRange, tuple[str, int, float]] = {}
    for i, (each, target) in enumerate(zip(look.map.ranges, targets, strict=True)):
        record = look.shards.get(each)
        holder = record.holder.member if record is not None and record.holder is not None else ""
        if record is None or not target or holder in ("", target) or is_free(record, look.map):
            continue
        known = memory.handing.get(each)
        since = known[2] if known is not None and known[:2] == (target, record.epoch) else now
        handing[each] = (target, record.epoch, since)
        ready = standby_of(record, target, look.map) is not None
        if not ready and now - since > settings.standby_deadline_seconds and holder in able:
            memory.barred.setdefault(each, {})[target] = now + 10 * settings.standby_deadline_seconds
            moves.append(Move(each, target, holder, f"{target} was not ready in time"))
            targets[i] = holder
    memory.handing = handing
    return tuple(targets), tuple(moves)


def _stragglers(look: Look, memory: Memory, settings: PlanSettings, now: float) -> tuple[Holder, ...]:
    """R13: members that renew but do not follow: they keep a range whose standby has been ready for long, or do not
    repeat the map that marks a range lost. Each incarnation is told once; then it falls silent or begins anew."""
    patience = 2 * settings.standby_deadline_seconds
    late: set[Holder] = set()
    for each, (target, _, since) in memory.handing.items():
        record = look.shards.get(each)
        if record is not None and record.holder is not None and standby_of(record, target, look.map) is not None:
            late |= {record.holder} if now - since > patience else set()
    newest_loss = max(look.map.lost.values(), default=0)
    behind = [Holder(name, each.epoch) for name, each in look.members.items() if each.seen_map < newest_loss]
    memory.behind = {each: memory.behind.get(each, now) for each in behind}
    late |= {each for each, since in memory.behind.items() if now - since > patience}
    return tuple(
        each
        for each in sorted(late)
        if (member := look.members.get(each.member)) is not None
        and member.holder is not None
        and member.epoch == each.epoch != memory.expelled.get(each.member)
    )


def _garbage(look: Look, memory: Memory, now: float) -> tuple[tuple[ShardRecord, ...], bool]:
    """R15: retired records outside layout and `retiring`, retired under this office's eyes for long enough.

    Also whether the map must first remember the epoch of one: epochs never fall, whoever deletes the record.
    """
    layout = set(look.map.ranges)
    seen = {
        each: record
        for each, record in look.shards.items()
        if record.status is ShardStatus.RETIRED and each not in layout and each not in look.map.retiring
    }
    memory.retired = {
        each: memory.retired[each]
        if each in memory.retired and memory.retired[each][0] == record.version
        else (record.version, now)
        for each, record in seen.items()
    }
    patience = look.lease_seconds + LONGEST_REQUEST_SECONDS
    due = [record for each, record in seen.items() if now - memory.retired[each][1] > patience]
    remembered = [record for record in due if record.epoch <= look.map.shard_epochs.get(record.range, 0)]
    return tuple(remembered), len(remembered) < len(due)
