"""Which faults are about which streams. Pure."""

from __future__ import annotations

from fleet.devcluster.faults.stream import FaultyStream
from fleet.devcluster.faults.words import (
    Cut,
    DelayEvents,
    DropEvents,
    ExpireWatch,
    HideEvents,
    NoBookmarks,
    Partition,
    Silence,
    Slice,
    SlowReader,
    Word,
)

EACH_EVENT = (DelayEvents, HideEvents, DropEvents, NoBookmarks)
"""They decide at every event, not once a stream."""
BODIES = (Cut, Slice)
_BYTES = (SlowReader, Cut, Slice, Silence, Partition)
"""They work on streams of any kind."""
_EVENTS = (*EACH_EVENT, ExpireWatch, *_BYTES)


def touches(fault: Word, stream: FaultyStream) -> bool:
    """Whether the fault is about that stream, or that body, at all."""
    if isinstance(fault, Partition) and fault.way != "to_client":
        return False
    if isinstance(fault, Cut):
        here = fault.fraction is None if stream.whole_bytes is None else fault.after_bytes <= stream.whole_bytes
    elif stream.whole_bytes is not None:
        here = isinstance(fault, BODIES)
    else:
        here = isinstance(fault, _EVENTS if stream.events else _BYTES)
    return here and fault.match.admits(stream.asked)
