"""Shard records, also those that no list shows, because somebody took their labels away."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fleet.office.side_by_side import side_by_side
from fleet.records.coordination import Coordination, ProtocolMismatch
from fleet.records.record import ShardRecord
from shards.keyrange import KeyRange


async def all_shards(coordination: Coordination, *, lost: Iterable[KeyRange]) -> dict[KeyRange, ShardRecord]:
    """Live reads. lost: ranges that are marked lost, whose records may be hidden.

    A hidden one says no more than none at all, but has to be written over. It is read before the list: what a later
    list still lacks, nobody has claimed in between.
    """
    hidden: dict[KeyRange, ShardRecord] = {}

    async def read(each: KeyRange) -> None:
        try:
            found = await coordination.read_shard(each)
        except ProtocolMismatch:  # its protocol says whose it is, and any list shows it
            return
        if found is not None:
            hidden[each] = replace(found, holder=None, holder_text="nobody knows", released=None)

    await side_by_side(read, lost)
    return hidden | {record.range: record for record in await coordination.list_shards()}
