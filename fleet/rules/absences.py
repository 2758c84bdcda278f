"""Records that are gone, or of no use any more: who is dead without one (R14), and what is collected (R15). Pure."""

from __future__ import annotations

from fleet.records.record import Holder, MemberRecord, ShardRecord, ShardStatus
from fleet.rules.look import Look
from fleet.rules.office_memory import Memory
from fleet.rules.survey import Survey, mentioned, named_epochs, outside
from shards.keyrange import KeyRange

LONGEST_REQUEST_SECONDS = 30.0
"""No write of this project is on its way for longer than this."""

FORGET_SECONDS = 300.0
"""How long, beside a lease, a member that left or was fenced is expected back under its own record."""


def gone(look: Look, memory: Memory, now: float) -> tuple[dict[str, int], tuple[Holder, ...]]:
    """Floors of members that shard records name, proved absent for longer than a lease (R14), and who needs a proof.

    The view of members may be older than that of shards, so a name that it lacks is no proof. A later epoch in a shard
    record needs a proof of its own. A record that nobody holds, at an epoch that a hand lowered, is as good as none: no
    floor would ever follow it above those that shard records name.
    """
    named = {
        name: epoch
        for name, epoch in memory.survey(look).find(named_epochs).items()
        if is_absent(look.members.get(name), epoch)
    }
    memory.absent = {name: absence for name, absence in memory.absent.items() if named.get(name) == absence.epoch}
    dead = {
        name: absence.epoch + 1 for name, absence in memory.absent.items() if now - absence.since > look.lease_seconds
    }
    return dead, tuple(Holder(*each) for each in sorted(named.items()) if each[0] not in memory.absent)


def is_absent(record: MemberRecord | None, epoch: int) -> bool:
    """Whether the member's record says nothing about its incarnation of that epoch."""
    return record is None or (record.holder is None and record.epoch <= epoch and not record.foreign)


def garbage(look: Look, memory: Memory, now: float) -> tuple[tuple[ShardRecord, ...], bool]:
    """R15: retired records outside layout and `retiring`, retired under this office's eyes for long enough.

    Also whether the map must first remember the epoch of one: epochs never fall, whoever deletes the record.
    """
    seen = memory.survey(look).find(_retired)
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


def _retired(survey: Survey) -> dict[KeyRange, ShardRecord]:
    """Outside layout and `retiring`."""
    return {
        record.range: record
        for record in survey.find(outside)
        if record.status is ShardStatus.RETIRED and record.range not in survey.map.retiring
    }


def departed(look: Look, memory: Memory, now: float) -> tuple[tuple[MemberRecord, ...], int]:
    """R15: records of members that are gone for good, and the epoch that the map must first remember for them.

    Gone for good: without a holder, and unchanged under this office's eyes for FORGET_SECONDS, with nothing that names
    the member: no range, no standby, no target. Epochs never fall: see `ShardMap.forgotten`.
    """
    seen = {name: record for name, record in look.members.items() if record.holder is None}
    memory.departed = {
        name: memory.departed[name]
        if name in memory.departed and memory.departed[name][0] == record.version
        else (record.version, now)
        for name, record in seen.items()
    }
    named = memory.survey(look).find(mentioned)
    due = [
        record
        for name, record in seen.items()
        if name not in named and now - memory.departed[name][1] > FORGET_SECONDS + look.lease_seconds
    ]
    forgotten = max([look.map.forgotten, *(record.epoch for record in due)])
    return tuple(record for record in due if record.epoch <= look.map.forgotten), forgotten
