"""Which filters the views of a fleet stand on, from its members' records to rows. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from fleet.records.filter_record import FilterRecord
from fleet.records.record import MemberRecord
from fleet.status.status_rows import FilterRow


def filter_rows(members: Iterable[MemberRecord], at: float | None) -> tuple[FilterRow, ...]:
    """One for each resource, best filter, filter in force and verdict. at: now, in seconds since 1970."""
    groups: defaultdict[tuple[str, str, str, str], list[FilterRecord]] = defaultdict(list)
    for member in members:
        for each in member.filters if member.holder is not None else ():
            groups[each.resource, each.best, each.filter, each.verdict].append(each)
    return tuple(_row(each, at) for _, each in sorted(groups.items()))


def _row(records: list[FilterRecord], at: float | None) -> FilterRow:
    first = records[0]
    newest = max((each for each in records), key=lambda each: each.probed)
    oldest = min(each.probed for each in records)
    return FilterRow(
        resource=first.resource,
        filter=first.filter,
        views=sum(each.views for each in records),
        best=first.best,
        verdict=first.verdict,
        why=newest.why,
        foreign=sum(each.foreign for each in records),
        probed_seconds_ago=max(0.0, round(at - oldest)) if oldest and at is not None else None,
    )
