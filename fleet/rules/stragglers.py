"""Members that renew, and do not follow: a target that is never ready, an owner that never lets go (R13). Pure."""

from __future__ import annotations

from collections.abc import Mapping

from fleet.records.record import Holder, ShardRecord, ShardStatus
from fleet.rules.handover import is_free, standby_of
from fleet.rules.look import Look
from fleet.rules.moves import Move
from fleet.rules.office_memory import Handover, Memory
from fleet.rules.plan_settings import PlanSettings
from fleet.rules.survey import Survey, layout_records
from shards.keyrange import KeyRange


def returned(
    look: Look, memory: Memory, settings: PlanSettings, able: list[str], now: float
) -> tuple[tuple[str, ...], tuple[Move, ...]]:
    """R13: a target that did not get its standby ready in time loses the range to its holder again, who kept it; one
    that does not claim a free range in time, from when it is free, loses it to whom the planner finds."""
    for each, names in list(memory.barred.items()):
        memory.barred[each] = {name: until for name, until in names.items() if until > now}
        if not memory.barred[each]:
            del memory.barred[each]
    targets = look.map.targets
    moves = []
    handing: dict[KeyRange, Handover] = {}
    for i, record, unclaimed in memory.survey(look).find(_astray):
        each, target = record.range, targets[i]
        if unclaimed and target not in able:
            continue
        known = memory.handing.get(each)
        state = target, record.epoch, unclaimed
        handover = known if known is not None and known[:3] == state else Handover(*state, now)
        handing[each] = handover
        if now - handover.since <= settings.standby_deadline_seconds:
            continue
        if unclaimed:
            heir, why, over = "", "did not claim it in time", _others(able, memory.barred.get(each, {}), target)
        else:
            heir, why = _holder(record), "was not ready in time"
            over = heir in able and standby_of(record, target, look.map) is None
        if over:
            memory.barred.setdefault(each, {})[target] = now + 10 * settings.standby_deadline_seconds
            moves.append(Move(each, target, heir, f"{target} {why}"))
            targets = (*targets[:i], heir, *targets[i + 1 :])
    memory.handing = handing
    return targets, tuple(moves)


def _astray(survey: Survey) -> tuple[tuple[int, ShardRecord, bool], ...]:
    """Active ranges that are free, and ranges that another member holds than their target: the place in the layout, the
    record, and whether it is free."""
    found = []
    for i, (record, target) in enumerate(zip(survey.find(layout_records), survey.map.targets, strict=True)):
        if record is None or not target:
            continue
        free = is_free(record, survey.map)
        if record.status is ShardStatus.ACTIVE if free else _holder(record) not in ("", target):
            found.append((i, record, free))
    return tuple(found)


def _holder(record: ShardRecord) -> str:
    return record.holder.member if record.holder is not None else ""


def _others(able: list[str], barred: Mapping[str, float], target: str) -> bool:
    return any(name != target and name not in barred for name in able)


def stragglers(look: Look, memory: Memory, settings: PlanSettings, now: float) -> tuple[Holder, ...]:
    """R13: members that renew but do not follow: they keep a range whose standby has been ready for long, or that
    retires, or do not repeat the map that marks a range lost. Each incarnation is told once; then it falls silent or
    begins anew. One of another protocol could not be told: its record is not written here."""
    memory.expelled = {name: epoch for name, epoch in memory.expelled.items() if name in look.members}
    patience = 2 * settings.standby_deadline_seconds
    late: set[Holder] = set()
    for each, handover in memory.handing.items():
        record = look.shards.get(each)
        if record is None or record.holder is None or now - handover.since <= patience:
            continue
        if standby_of(record, handover.target, look.map) is not None:
            late.add(record.holder)
    newest_loss = max(look.map.lost.values(), default=0)
    behind = [Holder(name, each.epoch) for name, each in look.members.items() if each.seen_map < newest_loss]
    memory.behind = {each: memory.behind.get(each, now) for each in behind}
    late |= {each for each, since in memory.behind.items() if now - since > patience}
    retiring = [(each, record.holder) for each in look.map.retiring if (record := look.shards.get(each)) is not None]
    kept = [(each, holder) for each, holder in retiring if holder is not None]
    memory.overdue = {each: memory.overdue.get(each, now) for each in kept}
    late |= {holder for (_, holder), since in memory.overdue.items() if now - since > patience}
    return tuple(
        each
        for each in sorted(late)
        if (member := look.members.get(each.member)) is not None
        and member.holder is not None
        and not member.foreign
        and member.epoch == each.epoch != memory.expelled.get(each.member)
    )
