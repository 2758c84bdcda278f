"""A happening of a simulated fleet in one sentence, for people who read a trace."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch

import msgspec

from chaos.simulation.happenings import (
    Acted,
    Changed,
    Closed,
    Happening,
    Healed,
    Lived,
    Opened,
    Read,
    Restored,
    Stepped,
    Struck,
    Written,
)
from chaos.simulation.oracles.scene import is_expulsion
from fleet.health.range_steps import sentence as step_sentence
from fleet.records.object_names import Kind
from fleet.records.record import (
    CoordinatorRecord,
    Document,
    MemberRecord,
    ShardMap,
    ShardRecord,
    ShardStatus,
    StoredMap,
)

_LIVES = {
    "started": "starts",
    "crashed": "is killed",
    "paused": "is paused",
    "resumed": "goes on",
    "leaving": "is told to leave",
    "left": "has left",
    "died": "ends itself",
}


def is_routine(happening: Happening) -> bool:
    """Whether it says that all is as it was: renewals, reads."""
    if isinstance(happening, Read):
        return True
    if not isinstance(happening, Written) or is_expulsion(happening):
        return False
    before, after = happening.before, happening.after
    if isinstance(before, MemberRecord) and isinstance(after, MemberRecord):
        return _member(before) == _member(after)
    if isinstance(before, CoordinatorRecord) and isinstance(after, CoordinatorRecord):
        return (before.holder, before.epoch) == (after.holder, after.epoch)
    return False


@singledispatch
def sentence_of(happening: object) -> str:
    raise TypeError(f"no sentence for {happening!r}")


@sentence_of.register
def _written(found: Written) -> str:
    late = f", sent {found.at - found.sent_at:.3f} s before" if found.at - found.sent_at > 0.5 else ""
    return f"{found.process} {_what(found)}{late}"


def _what(found: Written) -> str:
    before, after = found.before, found.after
    if is_expulsion(found):
        return f"expels {_named(before)}"
    if after is None:
        if before is None:
            return f"replaces {found.kind} {found.name}"
        hurt = found.kind is Kind.MAP and found.process == "hand"
        return f"{'deletes or mangles' if hurt else 'deletes'} {_named(before)}"
    if isinstance(after, StoredMap):
        return _map(before.map if isinstance(before, StoredMap) else None, after.map)
    if isinstance(after, ShardRecord):
        return _shard(before if isinstance(before, ShardRecord) else None, after)
    if isinstance(after, MemberRecord):
        return _wrote_member(before if isinstance(before, MemberRecord) else None, after)
    if isinstance(after, CoordinatorRecord):
        return _wrote_coordinator(before if isinstance(before, CoordinatorRecord) else None, after)
    return f"writes {_named(after)}"


def _named(record: object) -> str:
    match record:
        case StoredMap(found, _):
            return f"map {found.version}"
        case ShardRecord():
            return f"shard {record.range.short} at epoch {record.epoch}"
        case MemberRecord():
            return f"member {record.name}@{record.epoch}"
        case CoordinatorRecord():
            return f"the coordinator's record at epoch {record.epoch}"
        case Document():
            return f"document {record.name}"
    return str(record)


def _wrote_member(before: MemberRecord | None, after: MemberRecord) -> str:
    name = _named(after)
    if before is None:
        return f"makes {name}, held by {after.holder}"
    if after.holder != before.holder or after.epoch != before.epoch:
        held = f"held by {after.holder}" if after.holder else "held by nobody"
        return f"writes {name}, {held}; it was {_named(before)}, held by {before.holder or 'nobody'}"
    if after.renewals == before.renewals and after.seen_map == before.seen_map:
        return f"touches {name}"
    return f"renews {_member(after)}"


def _member(record: MemberRecord) -> str:
    leaving = ", leaving" if record.leaving else ""
    return f"member {record.name}@{record.epoch} of {record.holder or 'nobody'}, follows map {record.seen_map}{leaving}"


def _wrote_coordinator(before: CoordinatorRecord | None, after: CoordinatorRecord) -> str:
    if before is not None and (before.holder, before.epoch) == (after.holder, after.epoch):
        return "renews the office" if after.renewals != before.renewals else "touches the coordinator's record"
    return f"writes into the coordinator's record: epoch {after.epoch}, held by {after.holder or 'nobody'}"


def _shard(before: ShardRecord | None, after: ShardRecord) -> str:
    where = f"{after.range.short} at epoch {after.epoch}"
    if before is None:
        return f"makes shard {where} ({after.status})"
    if after.status is not before.status:
        return f"{'retires' if after.status is ShardStatus.RETIRED else 'activates'} {where}"
    if after.holder != before.holder or after.holder_text != before.holder_text:
        if after.holder is None:
            if after.released == after.epoch and not after.holder_text:
                return f"releases {where}{', with a watermark' if after.watermark and after.watermark.marks else ''}"
            return f"writes into shard {where}: held by {after.holder_text or 'nobody, without a release'}"
        return f"claims {where} for {after.holder}; it was {_holder(before)}"
    if after.epoch != before.epoch:
        return f"writes shard {where}, {_holder(after)}; it was at epoch {before.epoch}"
    if after.standby != before.standby:
        if after.standby is None:
            return f"withdraws the standby of {where}"
        return f"announces {after.standby.holder} as standby of {where}"
    return f"touches shard {where}"


def _holder(record: ShardRecord) -> str:
    if record.holder is not None:
        return f"{record.holder}'s"
    return (
        "free" if record.released == record.epoch and not record.holder_text else f"{record.holder_text or 'empty'!r}"
    )


def _map(before: ShardMap | None, after: ShardMap) -> str:
    said = [f"writes map {after.version}"]
    if before is None or (after.boundaries, after.targets) != (before.boundaries, before.targets):
        pairs = zip(after.ranges, after.targets, strict=True)
        said.append("targets " + " ".join(f"{each.short}:{target or '-'}" for each, target in pairs))
    if before is None or after.coordinator_epoch != before.coordinator_epoch:
        said.append(f"of office {after.coordinator_epoch}")
    for what in ("opened", "retiring"):
        ranges = getattr(after, what)
        if before is None or ranges != getattr(before, what):
            said.append(f"{what} {' '.join(each.short for each in sorted(ranges)) or 'nothing'}")
    if before is None or after.lost != before.lost:
        said.append(f"lost {' '.join(each.short for each in sorted(after.lost)) or 'nothing'}")
    if before is None or after.floors != before.floors:
        said.append(f"floors {_numbers(after.floors)}")
    return ", ".join(said)


def _numbers(found: Mapping[str, int]) -> str:
    return " ".join(f"{name}:{value}" for name, value in sorted(found.items())) or "none"


@sentence_of.register
def _restored(found: Restored) -> str:
    return "the store goes back"


@sentence_of.register
def _opened(found: Opened) -> str:
    left = found.deadline() - found.at
    return f"{found.process} acts on {found.range.short} at epoch {found.epoch}, for {left:.3f} s at least"


@sentence_of.register
def _closed(found: Closed) -> str:
    return f"{found.process} acts on {found.range.short} at epoch {found.epoch} no more"


@sentence_of.register
def _acted(found: Acted) -> str:
    late = f", sent {found.at - found.sent_at:.3f} s before" if found.at - found.sent_at > 0.5 or found.late else ""
    return (
        f"{found.process} writes key {found.key:016x} under {found.range.short}@{found.epoch}, "
        f"seen at {found.based_on}, now at {found.version}{late}"
    )


@sentence_of.register
def _read(found: Read) -> str:
    return f"{found.process} reads {found.kind} {found.name} at {found.version or 'nothing'}"


@sentence_of.register
def _changed(found: Changed) -> str:
    return f"somebody changes key {found.key:016x}, now at {found.version}"


@sentence_of.register
def _stepped(found: Stepped) -> str:
    return f"{found.process}: {step_sentence(found.step)}"


@sentence_of.register
def _lived(found: Lived) -> str:
    return f"{found.process} {_LIVES[found.how]}"


@sentence_of.register
def _struck(found: Struck) -> str:
    told = msgspec.to_builtins(found.strike)
    rest = " ".join(f"{name}={value}" for name, value in told.items() if name not in ("strike", "at"))
    over = "the end of " if found.over else ""
    return f"** {over}{told['strike']}{f' ({rest})' if rest else ''}"


@sentence_of.register
def _healed(found: Healed) -> str:
    return "** from here on nothing goes wrong"
