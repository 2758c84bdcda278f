"""Compaction on an interval, as kube-apiserver asks it of etcd (`--etcd-compaction-interval`)."""

from __future__ import annotations

import asyncio

from fleet.devcluster.storage.storage import Storage


async def compact_for_ever(storage: Storage, interval_seconds: float) -> None:
    """Forgets at every interval what was old at the one before: a version can be listed for one to two intervals.

    Watch caches keep their own history. Ends at once where the interval is 0; otherwise it runs until cancelled.
    """
    seen = 0
    while interval_seconds > 0:
        await asyncio.sleep(interval_seconds)
        if seen:
            storage.compact(seen, watches=False)
        seen = storage.version
