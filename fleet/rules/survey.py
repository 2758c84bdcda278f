"""What the map and the shard records say together, found once for as long as neither changes. Pure.

A coordinator looks whenever a member renews, and several times a second besides; hardly any of these looks finds
another map or another shard record. So each rule that needs to go through all of them says what it looks for as a
function of the survey, and asks the survey for it: a look then costs what has changed, and not what there is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from fleet.records.record import Holder, ShardMap, ShardRecord
from shards.keyrange import KeyRange

T = TypeVar("T")


class Survey:
    """Of one map and one reading of the shard records. Neither changes afterwards."""

    def __init__(self, shard_map: ShardMap, shards: Mapping[KeyRange, ShardRecord]) -> None:
        self.map = shard_map
        self.shards = shards
        self._found: dict[Callable[[Survey], Any], Any] = {}

    def find(self, wanted: Callable[[Survey], T]) -> T:
        """What this function of the survey says; it is called once."""
        if wanted not in self._found:
            self._found[wanted] = wanted(self)
        return cast("T", self._found[wanted])

    def is_of(self, shard_map: ShardMap, shards: Mapping[KeyRange, ShardRecord]) -> bool:
        """Whether these very objects were surveyed."""
        return self.map is shard_map and self.shards is shards


def layout_records(survey: Survey) -> tuple[ShardRecord | None, ...]:
    """By range of the layout."""
    return tuple(map(survey.shards.get, survey.map.ranges))


def holders(survey: Survey) -> tuple[Holder, ...]:
    """Every incarnation that holds a record, once, by name and epoch."""
    return tuple(sorted({record.holder for record in survey.shards.values() if record.holder is not None}))


def named_epochs(survey: Survey) -> Mapping[str, int]:
    """By member that holds a record, by name: the highest epoch of it, which comes last."""
    return dict(survey.find(holders))


def targets(survey: Survey) -> frozenset[str]:
    """Members that are a target; "" among them where a range has none."""
    return frozenset(survey.map.targets)


def mentioned(survey: Survey) -> frozenset[str]:
    """Members that are a target, hold a record, or stand by."""
    standbys = {record.standby.holder.member for record in survey.shards.values() if record.standby is not None}
    return survey.find(targets).union(survey.find(named_epochs), standbys)


def outside(survey: Survey) -> tuple[ShardRecord, ...]:
    """Records of ranges that are not in the layout."""
    layout = frozenset(survey.map.ranges)
    return tuple(record for each, record in survey.shards.items() if each not in layout)
