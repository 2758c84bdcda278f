"""Removals from `fleet.rules.handover.decide`, as the runner of a range asks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from chaos.simulation.removals.removal import Swap
from fleet.records.record import ShardStatus, Standby
from fleet.rules.handover import Action, LocalShard, Phase, Seen, is_free, still_mine
from fleet.workers import range_runner

Decide = Callable[[LocalShard, Seen], Action | None]


def deciding(make: Callable[[Decide], Decide]) -> Swap:
    return range_runner, "decide", make


def claims_for_others(decide: Decide) -> Decide:
    """Whoever sees a free range of the layout claims it."""

    def decided(local: LocalShard, seen: Seen) -> Action | None:
        idle = local.phase in (Phase.IDLE, Phase.STANDBY)
        if idle and seen.me and seen.map and seen.record and not seen.leaving and local.range not in seen.map.lost:
            inside = seen.map.target_of(local.range) is not None and seen.record.status is ShardStatus.ACTIVE
            if inside and is_free(seen.record, seen.map, seen.me):
                return Action.CLAIM
        return decide(local, seen)

    return decided


def without(unwanted: Action) -> Callable[[Decide], Decide]:
    def make(decide: Decide) -> Decide:
        def decided(local: LocalShard, seen: Seen) -> Action | None:
            action = decide(local, seen)
            return None if action is unwanted else action

        return decided

    return make


def claims_retired(decide: Decide) -> Decide:
    """A retired record is taken for an active one, as long as nobody owns it."""

    def decided(local: LocalShard, seen: Seen) -> Action | None:
        if seen.record is not None and local.phase in (Phase.IDLE, Phase.STANDBY):
            seen = replace(seen, record=replace(seen.record, status=ShardStatus.ACTIVE))
        return decide(local, seen)

    return decided


def announces_at_once(decide: Decide) -> Decide:
    """A standby is announced as soon as it is opened."""

    def decided(local: LocalShard, seen: Seen) -> Action | None:
        if local.phase is Phase.STANDBY and not local.synced:
            action = decide(replace(local, synced=True), seen)
            return action if action is Action.ANNOUNCE else decide(local, seen)
        if local.phase is Phase.STANDBY and seen.me and seen.record and seen.record.standby == _of(seen):
            return None if decide(local, seen) is Action.WITHDRAW else decide(local, seen)
        return decide(local, seen)

    return decided


def _of(seen: Seen) -> Standby | None:
    return Standby(seen.me, seen.record.epoch) if seen.me is not None and seen.record is not None else None


def never_withdraws(decide: Decide) -> Decide:
    """What would be withdrawn first goes on as if it had been."""

    def decided(local: LocalShard, seen: Seen) -> Action | None:
        action = decide(local, seen)
        if action is Action.WITHDRAW and seen.record is not None:
            return decide(local, replace(seen, record=replace(seen.record, standby=None)))
        return action

    return decided


def keeps_what_is_missing(decide: Decide) -> Decide:
    """An owner whose record is gone goes on, until the map says that the range is lost."""

    def decided(local: LocalShard, seen: Seen) -> Action | None:
        known = seen.me is not None and seen.map is not None and local.range not in seen.map.lost
        if local.phase is Phase.OWNED and seen.record is None and known:
            return None
        return decide(local, seen)

    return decided


def keeps_what_is_lost(decide: Decide) -> Decide:
    """An owner that sees its record goes on, though the map says that the range is lost."""

    def decided(local: LocalShard, seen: Seen) -> Action | None:
        lost = seen.map is not None and local.range in seen.map.lost
        if (
            local.phase is Phase.OWNED
            and lost
            and seen.me
            and (not seen.record or still_mine(local, seen.record, seen.me))
        ):
            return None
        return decide(local, seen)

    return decided


def any_instance(decide: Decide) -> Decide:
    """The UID of the record is not compared."""

    def decided(local: LocalShard, seen: Seen) -> Action | None:
        if seen.record is not None and local.phase in (Phase.OWNED, Phase.DRAINED):
            seen = replace(seen, record=replace(seen.record, uid=local.uid))
        return decide(local, seen)

    return decided


Free = Callable[..., bool]


def emptied_is_free(free: Free) -> Free:
    def is_it(record: Any, *args: Any, **kwargs: Any) -> bool:
        return record.holder is None or free(record, *args, **kwargs)

    return is_it


def own_is_held(earlier: bool) -> Callable[[Free], Free]:
    """What names this very member is not free for it. earlier: at an epoch that is over; else at its present one."""

    def make(free: Free) -> Free:
        def is_it(record: Any, shard_map: Any, claimant: Any = None, *, held: bool = False) -> bool:
            mine = claimant is not None and record.holder is not None and record.holder.member == claimant.member
            if mine and (record.holder.epoch < claimant.epoch) is earlier:
                return free(record, shard_map)
            return free(record, shard_map, claimant, held=held)

        return is_it

    return make
