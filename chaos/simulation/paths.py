"""Which paths of the protocol a history took, read off what the store accepted and what the workers told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from chaos.simulation.happenings import Happening, Lived, Restored, Stepped, Written
from fleet.health.range_steps import Step
from fleet.records.object_names import Kind
from fleet.records.record import CoordinatorRecord, MemberRecord, ShardRecord, ShardStatus, StoredMap
from fleet.rules.reshard import REBUILT_STEP

PATHS: dict[str, str] = {
    "first join": "R1",
    "join after its own end": "R1",
    "join over a reaped holder": "R1",
    "join over a silent holder": "R1",
    "member record made again": "R14",
    "expulsion": "R13",
    "fence": "R5",
    "leave for good": "R5",
    "member record collected": "R15",
    "claim: first": "R3",
    "claim: handover": "R3",
    "claim: back": "R3",
    "claim: restart": "R3",
    "claim: fence": "R3",
    "claim: again": "R3",
    "claim with a watermark": "4.2",
    "release": "R4",
    "release with a watermark": "4.2",
    "drop": "R2",
    "announcement": "3.4",
    "withdrawal": "3.4",
    "standby closed": "3.4",
    "renounced": "decision 5",
    "floor raised": "R6",
    "reshard": "R7",
    "move": "3.6",
    "retire write": "R8",
    "retire write to a missing record": "R8",
    "activation of a new range": "R9",
    "activation of a retired range": "R9",
    "shard record made again": "R14",
    "shard record mended": "R14",
    "range marked lost": "R14",
    "lost range back": "R14",
    "range record collected": "R15",
    "map made": "R10",
    "map rebuilt": "R14",
    "old map outrun": "R14",
    "office entered in the map": "R10",
    "election": "R10",
    "resignation": "R10",
    "restore": "decision 23",
    "end by itself": "R2",
}
"""Every path, and the rule of the design that it belongs to."""

_STEPS = {
    Step.ANNOUNCED: "announcement",
    Step.WITHDRAWN: "withdrawal",
    Step.STANDBY_CLOSED: "standby closed",
    Step.RENOUNCED: "renounced",
    Step.DROPPED: "drop",
}


class Paths:
    """counts: how often each path was taken. `hear` everything that happens."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def hear(self, happening: Happening) -> None:
        self.counts.update(_paths(happening))


def _paths(happening: Happening) -> Iterator[str]:
    match happening:
        case Written(process="hand"):
            return
        case Written(kind=Kind.MEMBER):
            yield from _of_member(happening)
        case Written(kind=Kind.SHARD):
            yield from _of_shard(happening)
        case Written(kind=Kind.MAP):
            yield from _of_map(happening)
        case Written(kind=Kind.COORDINATOR):
            yield from _of_coordinator(happening)
        case Stepped():
            yield from _of_step(happening)
        case Restored():
            yield "restore"
        case Lived(how="died"):
            yield "end by itself"


def _of_member(written: Written) -> Iterator[str]:
    before, after = written.before, written.after
    if not isinstance(after, MemberRecord):
        yield "member record collected"
    elif not isinstance(before, MemberRecord):
        yield "first join" if after.epoch == 1 else "member record made again"
    elif after.holder is None:
        if before.holder is not None:
            yield "leave for good" if after.leaving else "fence"
    elif after.epoch > before.epoch:
        if before.holder is None or before.holder == after.holder:
            yield "join after its own end"
        elif before.holder.supervisor == after.holder.supervisor:
            yield "join over a reaped holder"
        else:
            yield "join over a silent holder"
    elif after.renewals >= before.renewals + 2 and after.seen_map == 0:
        yield "expulsion"


def _of_shard(written: Written) -> Iterator[str]:
    before, after = written.before, written.after
    if not isinstance(after, ShardRecord):
        yield "range record collected"
    elif not isinstance(before, ShardRecord):
        if after.status is ShardStatus.RETIRED:
            yield "retire write to a missing record"
        else:
            yield "activation of a new range" if after.epoch == 1 else "shard record made again"
    elif after.status is ShardStatus.RETIRED:
        yield "retire write"
    elif before.status is ShardStatus.RETIRED:
        yield "activation of a retired range"
    elif after.holder is None and before.holder is not None:
        yield "release"
        if after.watermark is not None:
            yield "release with a watermark"
    elif after.holder is None and before.holder is None:
        yield "shard record mended"


def _of_map(written: Written) -> Iterator[str]:
    after = written.after
    if not isinstance(after, StoredMap):
        return
    if not isinstance(written.before, StoredMap):
        yield "map made" if after.map.version == 1 else "map rebuilt"
        return
    before, new = written.before.map, after.map
    if new.version >= before.version + REBUILT_STEP:
        yield "old map outrun"
    if new.coordinator_epoch > before.coordinator_epoch:
        yield "office entered in the map"
    if new.boundaries != before.boundaries or new.partition_key != before.partition_key:
        yield "reshard"
    elif new.targets != before.targets:
        yield "move"
    if any(epoch > before.floors.get(name, 0) for name, epoch in new.floors.items()):
        yield "floor raised"
    if new.lost.keys() - before.lost.keys():
        yield "range marked lost"
    if before.lost.keys() - new.lost.keys():
        yield "lost range back"


def _of_coordinator(written: Written) -> Iterator[str]:
    before, after = written.before, written.after
    if not isinstance(after, CoordinatorRecord):
        return
    if not after.holder:
        yield "resignation"
    elif not isinstance(before, CoordinatorRecord) or after.epoch > before.epoch:
        yield "election"


def _of_step(stepped: Stepped) -> Iterator[str]:
    step = stepped.step
    if step.step in _STEPS:
        yield _STEPS[step.step]
    elif step.step is Step.CLAIMED:
        yield f"claim: {step.cause}"
        if step.watermark:
            yield "claim with a watermark"
