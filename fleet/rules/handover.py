"""What a worker does about one range, given everything it sees. Pure and level-triggered.

    phase      leaves when                                   action            next phase
    IDLE       target, Lease free                            Claim             OWNED
    IDLE       target, Lease held by another                 OpenStandby       STANDBY
    IDLE       no target, Lease names this incarnation       Renounce          IDLE
    STANDBY    synced, not announced at this shard epoch     Announce          STANDBY
    STANDBY    Lease free                                    Claim             OWNED
    STANDBY    target no more, or lost, or must open anew    CloseStandby      IDLE
    IDLE, STANDBY  announced without a synced standby,       Withdraw          as before
               or as what is about to close
    OWNED      moved and its standby is synced, or forced    Drain             DRAINED
    OWNED      its views must be opened anew                 Drain             DRAINED
    DRAINED    at once                                       Release           IDLE
    DRAINED    Lease no longer names this incarnation        CloseStandby      IDLE
    OWNED      Lease no longer names this incarnation        Drop              IDLE
    any        membership over                               Drop              IDLE

`decide` is asked again after every action and every change of the view; it remembers nothing itself. A Claim that did
not get an answer leaves the phase as it was: the Lease then names this incarnation although it does not hold the range,
which R3 counts as free for it, and for nobody else: if it is no longer the target, it gives the Lease back.

An announcement is a promise that a claim will follow a release at once. So it is withdrawn when the standby that it
speaks of is not there: the target has changed, the process was started again, the views are to be opened anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from fleet.records.record import Holder, ShardMap, ShardRecord, ShardStatus, Standby
from fleet.rules.survey import Survey
from shards.gates.watermark import Watermark
from shards.keyrange import KeyRange


class Phase(StrEnum):
    """Where one range stands on one worker."""

    IDLE = "idle"
    STANDBY = "standby"
    OWNED = "owned"
    DRAINED = "drained"


class Action(StrEnum):
    """What the worker's shell should do next about the range."""

    CLAIM = "claim"
    RENOUNCE = "renounce"
    OPEN_STANDBY = "open-standby"
    ANNOUNCE = "announce"
    WITHDRAW = "withdraw"
    CLOSE_STANDBY = "close-standby"
    DRAIN = "drain"
    RELEASE = "release"
    DROP = "drop"


@dataclass(slots=True)
class LocalShard:
    """A worker's own knowledge of one range.

    epoch, uid: of the shard record as claimed; meaningful while OWNED or DRAINED.
    synced: its standby's view is complete.
    """

    range: KeyRange
    phase: Phase = Phase.IDLE
    epoch: int = 0
    uid: str = ""
    synced: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything a decision may depend on.

    me: this incarnation; None when it is no member (any more). record: the range's shard record, None when missing.
    leaving: SIGTERM was received. forced: leaving has taken so long that ranges are released without a standby.
    outdated: the views were opened under other feature gates, and it is this range's turn to open them anew.
    """

    me: Holder | None
    map: ShardMap | None
    record: ShardRecord | None
    leaving: bool = False
    forced: bool = False
    outdated: bool = False


def concerns(survey: Survey) -> Mapping[str, frozenset[KeyRange]]:
    """By member: the ranges whose target it is, or whose records name it as the holder or as the standby.

    About any other one `decide` has nothing to say to a member at which the range is idle.
    """
    found: defaultdict[str, set[KeyRange]] = defaultdict(set)
    for each, target in zip(survey.map.ranges, survey.map.targets, strict=True):
        found[target].add(each)
    for each, record in survey.shards.items():
        if record.holder is not None:
            found[record.holder.member].add(each)
        if record.standby is not None:
            found[record.standby.holder.member].add(each)
    return {member: frozenset(ranges) for member, ranges in found.items()}


def is_free(record: ShardRecord, shard_map: ShardMap, claimant: Holder | None = None, *, held: bool = False) -> bool:
    """R3: whether the range has no holder that could act. claimant: who asks. held: whether the claimant holds it.

    A holder that was emptied or mangled by hand is not free: only a release stamps the epoch.
    """
    holder = record.holder
    if holder is None:
        return not record.holder_text and record.released == record.epoch
    if holder.epoch < shard_map.floors.get(holder.member, 0):
        return True
    if claimant is None or holder.member != claimant.member:
        return False
    return holder.epoch < claimant.epoch or (holder.epoch == claimant.epoch and not held)


def decide(local: LocalShard, seen: Seen) -> Action | None:
    """The next action for the range, or None to wait for a change."""
    if seen.me is None or seen.map is None:
        return None if local.phase is Phase.IDLE else Action.DROP
    if local.phase in (Phase.OWNED, Phase.DRAINED):
        return _decide_owned(local, seen, seen.me, seen.map)
    return _decide_unowned(local, seen, seen.me, seen.map)


def still_mine(local: LocalShard, record: ShardRecord | None, me: Holder) -> bool:
    """R14: whether the Lease is the one that was claimed. Deleted, recreated, retired, stolen, edited: it is not."""
    return (
        record is not None
        and record.status is ShardStatus.ACTIVE
        and record.uid == local.uid
        and record.holder == me
        and record.epoch == local.epoch
    )


def _decide_owned(local: LocalShard, seen: Seen, me: Holder, shard_map: ShardMap) -> Action | None:
    record = seen.record
    if local.phase is Phase.DRAINED:
        # Nothing acts any more. A release that has landed, its answer lost or still on its way, leaves views to close.
        return Action.RELEASE if still_mine(local, record, me) else Action.CLOSE_STANDBY
    if record is None or not still_mine(local, record, me) or local.range in shard_map.lost:
        return Action.DROP
    target = shard_map.target_of(local.range)
    if target is None or seen.forced:
        return Action.DRAIN
    if target in (me.member, ""):
        # Released to nobody else: it is the target that claims, and the mark that it left opens its own new views.
        return Action.DRAIN if seen.outdated and target == me.member else None
    return Action.DRAIN if standby_of(record, target, shard_map) is not None else None


def standby_of(record: ShardRecord, target: str, shard_map: ShardMap) -> Standby | None:
    """The announced standby, if it is the target's, of a living incarnation, and saw this very shard epoch."""
    standby = record.standby
    if standby is None or standby.epoch != record.epoch or standby.holder.member != target:
        return None
    return standby if standby.holder.epoch >= shard_map.floors.get(target, 0) else None


def _decide_unowned(local: LocalShard, seen: Seen, me: Holder, shard_map: ShardMap) -> Action | None:
    close = Action.CLOSE_STANDBY if local.phase is Phase.STANDBY else None
    record = seen.record
    if record is None or record.foreign or record.status is not ShardStatus.ACTIVE or local.range in shard_map.lost:
        return close
    free = is_free(record, shard_map, me)
    withdraw = Action.WITHDRAW if announced_by(record, me) and not free else None
    if seen.leaving or shard_map.target_of(local.range) != me.member:
        # First the announcement: the owner drains for it at any time, and nobody would take the range.
        return withdraw or close or (Action.RENOUNCE if record.holder == me else None)
    if free:
        return Action.CLAIM
    if local.phase is Phase.IDLE:
        # One that an earlier standby left, of this incarnation or of one before.
        return withdraw or Action.OPEN_STANDBY
    if seen.outdated:
        return withdraw or close
    if not local.synced:
        return withdraw
    return Action.ANNOUNCE if record.standby != Standby(me, record.epoch) else None


def announced_by(record: ShardRecord, me: Holder) -> bool:
    """Whether the present owner would drain for a standby of this member, of whichever incarnation."""
    standby = record.standby
    return standby is not None and standby.holder.member == me.member and standby.epoch == record.epoch


def claimed(record: ShardRecord, me: Holder) -> ShardRecord:
    """The record that claims the range: epoch raised, watermark and standby gone. CAS over `record.version`."""
    return ShardRecord(
        range=record.range,
        status=ShardStatus.ACTIVE,
        epoch=record.epoch + 1,
        holder=me,
        holder_text=str(me),
        last_holder=me,
        version=record.version,
        uid=record.uid,
    )


def released(record: ShardRecord, watermark: Watermark | None, unowned_seconds: float | None = None) -> ShardRecord:
    """The record that gives the range up, stamped so that nobody mistakes it for one that was emptied by hand (R3).

    unowned_seconds: for how long new keys have been refused.
    """
    mark = replace(watermark, epoch=record.epoch) if watermark is not None else None
    return replace(
        record,
        holder=None,
        holder_text="",
        released=record.epoch,
        watermark=mark,
        unowned_seconds=unowned_seconds,
    )
