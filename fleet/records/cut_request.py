"""A single split or merge that somebody asked for, as it stands in the controls of a fleet. Pure.

    {"number": 7, "split": "0000000000000000-0fffffffffffffff", "at": "0800000000000000", "by": "ann"}
    {"number": 8, "merge": ["0000000000000000-07ffffffffffffff", "0800000000000000-0fffffffffffffff"]}

Numbers grow: the map remembers the last one that was done (`ShardMap.requests_done`), so that none is done twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from shards.keyrange import KeyRange


@dataclass(frozen=True, slots=True)
class CutRequest:
    """ranges: one that is split, or two neighbours that are merged. at: the first hash of the new second range of a
    split; None for a merge. by, since: for people."""

    number: int
    ranges: tuple[KeyRange, ...]
    at: int | None = None
    by: str = ""
    since: str = ""


class _Written(msgspec.Struct, omit_defaults=True):
    number: Annotated[int, msgspec.Meta(ge=1)]
    split: str = ""
    at: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")] = "0000000000000000"
    merge: tuple[str, str] | None = None
    by: str = ""
    since: str = ""


def parse_request(found: Any) -> CutRequest:
    """Raises ValueError."""
    written = msgspec.convert(found, _Written)
    if bool(written.split) == (written.merge is not None):
        raise ValueError("a request has either split and at, or merge")
    if written.merge is None:
        ranges, at = (KeyRange.parse(written.split),), int(written.at, 16)
        return CutRequest(written.number, ranges, at, written.by, written.since)
    return CutRequest(written.number, tuple(map(KeyRange.parse, written.merge)), None, written.by, written.since)


def request_written(request: CutRequest) -> Any:
    """What `parse_request` reads."""
    texts = [str(each) for each in request.ranges]
    if request.at is not None:
        written = _Written(request.number, split=texts[0], at=f"{request.at:016x}", by=request.by, since=request.since)
    else:
        written = _Written(request.number, merge=(texts[0], texts[1]), by=request.by, since=request.since)
    return msgspec.to_builtins(written)
