"""How the fleet's budget of requests is shared by its members: by what each needs, with a floor for each. Pure.

Shares stand in the map, in parts of the budget. A member that is to have less is told first, and only when it follows
that map are others told that they may have more: whatever map each of them follows, and however long a map takes to
reach it, what all of them may send together never exceeds the budget. All that this needs to know is in the map and in
the members' records, so that a new coordinator goes on where the last one was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fleet.records.record import PARTS, Holder, MemberRecord, ShardMap, ShardRecord, Share
from fleet.rules.handover import is_free

FLOOR = 4
"""A member should have at least its equal part divided by this, whatever the others need, so that it can begin to need
more. One that has less than two thirds of that, because the fleet has shrunk since, gets it at the next review."""

REVIEW_SECONDS = 10.0
"""Between two looks at what members need, at least, for a fleet of up to 20; in larger ones half a second for each
member: a review may cost two map writes, which every member reads."""

WORTH = 1.5
"""A review changes something only where a member that needs more gets this many times its share."""


CRUMBS = 100
"""Less than the budget divided by this is not worth handing out."""


@dataclass(slots=True)
class BudgetMemory:
    """reviewed_at: of the last review, or change. unseen: since when a member that has a share has no record, or an
    older one."""

    reviewed_at: float = float("-inf")
    unseen: dict[str, float] = field(default_factory=dict)


class Budget(Protocol):
    """What holds a worker's requests to its part of the budget: `shards.limits.request_limiter.RequestLimiter`."""

    def share(self, part: float) -> None:
        """From now on, so much of it; 0 to 1."""

    def demand(self) -> float | None:
        """How much of it would be enough, above 1 where more than all of it is asked for; None without a budget."""


def demand_of(budget: Budget) -> int | None:
    """For the member record. More than all of it is no more than all of it."""
    needed = budget.demand()
    return None if needed is None else round(PARTS * min(max(needed, 0.0), 1.0))


def part_of(shard_map: ShardMap, records: Iterable[ShardRecord], me: Holder, last: float) -> float:
    """What of the budget an incarnation may use under this map, 0 to 1. last: what it was allowed under the one before.

    A map without shares (nobody has planned any yet) divides by the members that own something; such a one may lower a
    share that was planned, but not raise it.
    """
    if shard_map.shares:
        share = shard_map.shares.get(me.member)
        return min(1.0, share.parts / PARTS) if share is not None and share.epoch == me.epoch else 0.0
    return min(last, 1.0 / working_members(shard_map, records, me.member))


def working_members(shard_map: ShardMap, records: Iterable[ShardRecord], me: str) -> int:
    """Members that own a range, or are to own one by the coordinator's last decision, and this one; at least 1.

    A dead one is counted until the coordinator has given its ranges to others: too small a part is safe, too large a
    one is not.
    """
    targets = {target for target in shard_map.targets if target}
    holders = {each.holder.member for each in records if each.holder is not None and not is_free(each, shard_map)}
    return len(targets | holders | {me})


def fair_parts(demands: Mapping[str, int]) -> dict[str, int]:
    """Who should have how much: what it needs where there is enough for all, else nobody gets more than another one who
    needs more than it has; at least the floor; what nobody needs is handed out in equal parts. Sums up to PARTS, less
    what does not divide. demands: in parts of the budget.
    """
    if not demands:
        return {}
    floor = PARTS // (FLOOR * len(demands))
    left = PARTS - floor * len(demands)
    parts = {}
    by_need = sorted(demands, key=lambda name: (demands[name], name))
    for i, name in enumerate(by_need):
        more = min(max(demands[name] - floor, 0), left // (len(by_need) - i))
        parts[name] = floor + more
        left -= more
    return {name: each + left // len(parts) for name, each in parts.items()}


def held_parts(share: Share, member: MemberRecord | None) -> int:
    """The most that a member may be using, whichever map it follows."""
    told = member is not None and member.seen_map >= share.since
    return share.parts if told else max(share.parts, share.before)


def next_shares(
    shard_map: ShardMap,
    records: Iterable[ShardRecord],
    members: Mapping[str, MemberRecord],
    memory: BudgetMemory,
    *,
    lease_seconds: float,
    now: float,
) -> Mapping[str, Share]:
    """The shares of the next map; those of this one where nothing is to change. Updates the memory.

    lease_seconds: a member without a record cannot renew, and acts no more after that time.
    """
    living = {name: each for name, each in members.items() if each.holder is not None}
    demands = {name: each.demand for name, each in living.items() if each.demand is not None}
    version = shard_map.version + 1
    if not shard_map.shares:
        return _first_shares(shard_map, records, {name: living[name].epoch for name in demands}, version)
    shares = _without_the_gone(shard_map.shares, members, demands, memory, lease_seconds, now)
    held = {name: held_parts(share, members.get(name)) for name, share in shares.items()}
    expected = {name: _expected(name, living[name], shares, len(demands)) for name in demands}
    demands = {name: max(each, expected[name]) for name, each in demands.items()}
    wanted = fair_parts(demands)
    new = dict(shares)
    if _is_due(shares, demands, wanted, memory, now):
        for name in shares.keys() & wanted.keys():
            if wanted[name] < held[name]:
                new[name] = shares[name]._replace(parts=wanted[name], before=held[name], since=version)
    lacking = {name: wanted[name] - held.get(name, 0) for name in wanted if wanted[name] > held.get(name, 0)}
    for name, given in _given_out(PARTS - sum(held.values()), lacking).items():
        has = held.get(name, 0)
        epoch = max(living[name].epoch, shares[name].epoch if name in shares else 0)
        new[name] = Share(has + given, has, version, epoch)
    for name, share in new.items():
        if name in living and share.epoch < living[name].epoch:  # it began anew, and uses nothing until it is told
            new[name] = Share(share.parts, held[name], version, living[name].epoch)
    if new == shard_map.shares:
        return shard_map.shares
    memory.reviewed_at = now  # those that have begun, or have more now, are given time to show what they need
    return new


def _expected(name: str, member: MemberRecord, shares: Mapping[str, Share], count: int) -> int:
    """What a member will need that cannot have shown it yet: as much as its last incarnation, or an equal part."""
    share = shares.get(name)
    if share is None:
        return PARTS // count
    return share.parts if share.epoch < member.epoch else 0


def _first_shares(
    shard_map: ShardMap, records: Iterable[ShardRecord], epochs: Mapping[str, int], version: int
) -> dict[str, Share]:
    """Equal ones. epochs: of the members that share. Under a map without shares, each that works may use all of it."""
    if not epochs:
        return {}
    part = PARTS // len(epochs)
    holders = {each.holder.member for each in records if each.holder is not None and not is_free(each, shard_map)}
    working = {*shard_map.targets, *holders} & epochs.keys()
    return {name: Share(part, PARTS if working else part, version, epochs[name]) for name in working or epochs}


def _is_due(
    shares: Mapping[str, Share], demands: Mapping[str, int], wanted: Mapping[str, int], memory: BudgetMemory, now: float
) -> bool:
    """Whether shares are to be lowered: not while others wait for what was lowered before; for a newcomer at once; else
    now and then, and only if it is worth it."""
    if not demands or (PARTS - sum(share.parts for share in shares.values())) * CRUMBS >= PARTS:
        return False
    if demands.keys() - shares.keys():
        return True
    if now - memory.reviewed_at < max(REVIEW_SECONDS, len(demands) / 2):
        return False
    floor = PARTS // (FLOOR * len(demands))
    short = [name for name, demand in demands.items() if max(demand, floor) > shares[name].parts]
    return any(wanted[name] >= WORTH * shares[name].parts for name in short)


def _given_out(free: int, lacking: Mapping[str, int]) -> dict[str, int]:
    """What is free, to those who lack something, in proportion."""
    in_all = sum(lacking.values())
    if not in_all or free * CRUMBS < PARTS:
        return {}
    return {name: given for name, lack in lacking.items() if (given := min(lack, free * lack // in_all))}


def _without_the_gone(
    shares: Mapping[str, Share],
    members: Mapping[str, MemberRecord],
    demands: Mapping[str, int],
    memory: BudgetMemory,
    lease_seconds: float,
    now: float,
) -> dict[str, Share]:
    """A member that was fenced or has left sends nothing more: its record says so under a later epoch.

    One without a record may, until its lease is over. An older record than the share is one that this office's view has
    yet to follow, which takes no longer.
    """
    unsure = [
        name
        for name, share in shares.items()
        if (record := members.get(name)) is None or (record.holder is None and record.epoch <= share.epoch)
    ]
    memory.unseen = {name: memory.unseen.get(name, now) for name in unsure}
    waited_for = {name for name, since in memory.unseen.items() if now - since <= 2 * lease_seconds}
    return {name: share for name, share in shares.items() if name in demands or name in waited_for}
