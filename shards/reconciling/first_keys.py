"""In which order a shard's keys are queued when all of them are."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Protocol

from shards.objects import Key
from shards.stores.store import StoreReader

NEWEST = 200
"""As many as may have changed while the shard had no owner: what lies further back can wait for its turn. To put all of
them in order would take a step of a tenth of a second with 100,000 objects."""

QUEUE_SLICE = 200
"""Keys that are queued in a row before other tasks of the loop get their turn."""


class Add(Protocol):
    """`Engine.add`."""

    def __call__(self, key: Key, *, low_priority: bool = False) -> None: ...


async def queue_all(keys: Iterable[Key], add: Add) -> None:
    """Each key once, behind whatever changes meanwhile."""
    for index, key in enumerate(keys, start=1):
        add(key, low_priority=True)
        if index % QUEUE_SLICE == 0:
            await asyncio.sleep(0)


def newest_first(primaries: StoreReader) -> Iterator[Key]:
    """Some that changed last before all others: nobody may have reconciled them yet, while the last owner looked after
    most of the others. The caller may await."""
    newest = dict.fromkeys(primaries.newest_keys(NEWEST))
    yield from newest
    yield from (key for key in primaries.each_key() if key not in newest)
