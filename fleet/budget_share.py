"""Over how many workers the fleet's budget of requests is shared. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from fleet.handover import is_free
from fleet.record import ShardMap, ShardRecord


def working_members(shard_map: ShardMap, records: Iterable[ShardRecord], me: str) -> int:
    """Members that own a range, or are to own one by the coordinator's last decision, and this one; at least 1.

    The parts of all of them make up the budget. A member with nothing to do asks for nothing, and a dead one is counted
    until the coordinator has given its ranges to others: too small a part is safe, too large a one is not.
    """
    targets = {target for target in shard_map.targets if target}
    holders = {each.holder.member for each in records if each.holder is not None and not is_free(each, shard_map)}
    return len(targets | holders | {me})
