"""How an ownership ended, by the write that ended it."""

from __future__ import annotations

from fleet.records.record import Holder, ShardRecord


def ending(new: ShardRecord, before: Holder) -> str:
    """new: the record after it. before: who held it until then."""
    if new.holder is not None:
        return "takeover"
    return "release" if new.released == new.epoch and new.last_holder == before else "retire"
