"""Which filters a worker's views stand on, as it rides on the member's record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from fleet.records.filter_record import FilterRecord
from shards.filtering.ladder import FilterLadder
from shards.objects import Resource
from shards.shard import Shard
from shards.view_filters import best_mode
from shards.watching.source import FilterMode

LONGEST_REASON = 200


def filter_records(shards: Iterable[Shard], ladder: FilterLadder, now: float, today: float) -> tuple[FilterRecord, ...]:
    """One for each resource, best filter and filter in force. now: boot-clock reading; today: the same moment, in
    seconds since 1970."""
    views: Counter[tuple[Resource, FilterMode, FilterMode]] = Counter()
    for shard in shards:
        for view in shard.views.values() if shard.open else ():
            source = view.source
            views[source.resource, best_mode(source.role, source.partition_key), source.mode] += 1
    found = []
    for (resource, best, mode), count in sorted(views.items()):
        rung = ladder.rungs.get((resource, best))
        record = FilterRecord(str(resource), str(mode), count, "" if best is FilterMode.LOCAL else str(best))
        if rung is not None:
            asked = 0 if rung.probed_at is None else round(today - (now - rung.probed_at))
            record = FilterRecord(
                record.resource,
                record.filter,
                count,
                record.best,
                str(rung.verdict),
                rung.why[:LONGEST_REASON],
                rung.foreign,
                asked,
            )
        found.append(record)
    return tuple(found)
