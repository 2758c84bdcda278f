"""Functions of `fleet.rules`, each wrong in one way. What is right about them is the real one's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fleet.records.record import ShardStatus
from fleet.rules import handover, layout, membership, reshard
from fleet.rules.handover import Action, Phase

is_free, decide, claimed, released = handover.is_free, handover.decide, handover.claimed, handover.released
join, fence, expel, leave, floors = (
    membership.join,
    membership.fence,
    membership.expel,
    membership.leave,
    membership.floors,
)
activated, retired, may_retire = reshard.activated, reshard.retired, reshard.may_retire
upkeep, rebuilt, relaid = reshard.upkeep, reshard.rebuilt, layout.relaid

# -- handover --------------------------------------------------------------------------------------------------------


def free_without_floors(record: Any, shard_map: Any, claimant: Any = None, *, held: bool = False) -> bool:
    return is_free(record, replace(shard_map, floors={}), claimant, held=held)


def free_at_the_floor(record: Any, shard_map: Any, claimant: Any = None, *, held: bool = False) -> bool:
    raised = {name: floor + 1 for name, floor in shard_map.floors.items()}
    return is_free(record, replace(shard_map, floors=raised), claimant, held=held)


def free_when_emptied(record: Any, shard_map: Any, claimant: Any = None, *, held: bool = False) -> bool:
    return record.holder is None or is_free(record, shard_map, claimant, held=held)


def free_for_its_holder_alone(record: Any, shard_map: Any, claimant: Any = None, *, held: bool = False) -> bool:
    return is_free(record, shard_map)


def claimed_at_the_same_epoch(record: Any, me: Any) -> Any:
    return replace(claimed(record, me), epoch=record.epoch)


def claimed_with_the_watermark(record: Any, me: Any) -> Any:
    return replace(claimed(record, me), watermark=record.watermark)


def claimed_over_anything(record: Any, me: Any) -> Any:
    return replace(claimed(record, me), version="")


def released_without_a_stamp(record: Any, watermark: Any, unowned_seconds: Any = None) -> Any:
    return replace(released(record, watermark, unowned_seconds), released=None)


def released_with_its_holder(record: Any, watermark: Any, unowned_seconds: Any = None) -> Any:
    return replace(released(record, watermark), holder=record.holder, holder_text=record.holder_text)


def drains_for_nobody(local: Any, seen: Any) -> Any:
    return decide(
        local, replace(seen, forced=seen.map is not None and seen.map.target_of(local.range) != seen.me.member)
    )


def never_withdraws(local: Any, seen: Any) -> Any:
    action = decide(local, seen)
    if action is not Action.WITHDRAW:
        return action
    return (
        None
        if local.phase is Phase.STANDBY
        else decide(local, replace(seen, record=replace(seen.record, standby=None)))
    )


def claims_what_is_retired(local: Any, seen: Any) -> Any:
    if seen.record is None:
        return decide(local, seen)
    return decide(local, replace(seen, record=replace(seen.record, status=ShardStatus.ACTIVE)))


def keeps_a_lost_claim(local: Any, seen: Any) -> Any:
    action = decide(local, seen)
    return None if action is Action.RENOUNCE else action


def never_releases(local: Any, seen: Any) -> Any:
    action = decide(local, seen)
    return None if action is Action.RELEASE else action


# -- members ---------------------------------------------------------------------------------------------------------


def joins_at_once(draft: Any, found: Any, **rest: Any) -> Any:
    return join(draft, found, **{**rest, "now": float("inf")})


def joins_at_the_epoch_that_it_finds(draft: Any, found: Any, **rest: Any) -> Any:
    decision = join(draft, found, **rest)
    if not isinstance(decision, membership.Join) or found is None:
        return decision
    return membership.Join(replace(decision.record, epoch=found.epoch))


def joins_below_what_names_it(draft: Any, found: Any, **rest: Any) -> Any:
    return join(draft, found, **{**rest, "known_epoch": 0})


def established_at_once(before: bool, *, known_epoch: int) -> bool:
    return True


def forgets_nothing_of_it(shard_map: Any, new_floors: Any) -> int:
    return int(shard_map.forgotten)


def nobody_doubted(self: Any, names: Any, now: float) -> frozenset[str]:
    return frozenset()


def fences_what_has_moved(live: Any, sighting: Any, now: float) -> Any:
    return fence(live, sighting if live is None else replace(sighting, version=live.version), now)


def fences_without_waiting(live: Any, sighting: Any, now: float) -> Any:
    return fence(live, sighting, float("inf"))


def fences_at_the_same_epoch(live: Any, sighting: Any, now: float) -> Any:
    record = fence(live, sighting, now)
    return None if record is None else replace(record, epoch=live.epoch)


def expels_by_what_could_be_its_own(record: Any) -> Any:
    return replace(expel(record), renewals=record.renewals + 1)


def leaves_at_the_same_epoch(record: Any) -> Any:
    return replace(leave(record), epoch=record.epoch)


def floors_that_follow_downwards(shard_map: Any, members: Any, named: Any, *, gone: Any) -> Any:
    return {**floors(shard_map, members, named, gone=gone), **{name: each.epoch for name, each in members.items()}}


def floors_one_too_low(shard_map: Any, members: Any, named: Any, *, gone: Any) -> Any:
    return {**floors(shard_map, members, named, gone=gone), **{name: each.epoch - 1 for name, each in members.items()}}


def floors_without_the_gone(shard_map: Any, members: Any, named: Any, *, gone: Any) -> Any:
    return floors(shard_map, members, named, gone={})


def floors_of_the_map_alone(shard_map: Any, members: Any, named: Any, *, gone: Any) -> Any:
    return floors(shard_map, {}, {*named, *members}, gone=gone)


# -- the life of a record --------------------------------------------------------------------------------------------


def retires_what_is_held(record: Any, shard_map: Any, wanted: Any, members: Any) -> bool:
    return record is not None or may_retire(record, shard_map, wanted, members)


def retires_what_is_lost(record: Any, shard_map: Any, wanted: Any, members: Any) -> bool:
    return record is None or may_retire(record, shard_map, wanted, members)


def retired_at_the_same_epoch(shard_map: Any, wanted: Any, record: Any) -> Any:
    new = retired(shard_map, wanted, record)
    return new if record is None else replace(new, epoch=record.epoch, released=record.epoch)


def activated_beside_others(
    wanted: Any, first: Any, live_map: Any, clear: Any, members: Any, *, just_opened: bool
) -> Any:
    return activated(wanted, first, live_map, frozenset((wanted,)), members, just_opened=just_opened)


def echoed_by_nobody(since_version: int, members: Any) -> bool:
    return True


def asks_only_whose_record_is_there(self: Any, members: Any, now: float) -> list[Any]:
    return list(members)


def no_strays(layout: Any, records: Any) -> frozenset[Any]:
    return frozenset()


def nothing_blocked(leaving: Any, shard_map: Any) -> frozenset[Any]:
    return frozenset()


def relaid_without_retiring(shard_map: Any, *rest: Any) -> Any:
    return replace(relaid(shard_map, *rest), retiring=shard_map.retiring)


def nothing_lost(survey: Any, members: Any, next_version: int) -> Any:
    return replace(upkeep(survey, members, next_version), lost={})


def rebuilt_at_the_same_version(last: Any, empty: Any, shards: Any, highest_seen: int) -> Any:
    return replace(rebuilt(last, empty, shards, highest_seen), version=highest_seen)
