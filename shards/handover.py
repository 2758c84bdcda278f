"""How a shard's views pass from one owner to the next: the wait before the gate, and the mark that is left behind."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from shards.gates.handover_gate import MAX_UNSEEN, HandoverGate, mark_of
from shards.gates.own_writes import Barrier, Phase
from shards.gates.watermark import ResourceMark, Watermark
from shards.keyrange import KeyRange
from shards.objects import Resource
from shards.reconciling.engine import Engine
from shards.runtime import WorkerRuntime
from shards.shard_views import ShardView
from shards.stores.store import StoreReader
from shards.versions import newest

log = logging.getLogger(__name__)

SEEN_SECONDS = 0.5
"""How long a drain waits until the views show the shard's own writes. The shard is unowned meanwhile."""

Lists = dict[str, asyncio.Future[str]]
"""Those under way, by the names of their views. Each resolves with its resourceVersion."""


async def until_open(
    gate: HandoverGate,
    views: Mapping[str, ShardView],
    runtime: WorkerRuntime,
    moved: asyncio.Event,
    range: KeyRange,
    *,
    check: Callable[[], None],
    open_views: Callable[[], None],
) -> str:
    """Waits until the gate is open; what does not get there in time is listed. Returns by what it opened.

    moved: set when a view has. check: raises when there is nothing to wait for any more. open_views: idempotent. Lists
    are asked for before: where nobody stood by, the first list serves as the one that must follow the claim.
    """
    stores = {name: view.store for name, view in views.items()}
    patience = runtime.settings.gate.live_read_after_seconds
    until = runtime.clock() + patience
    lists: Lists = {}
    how = "watermark"
    while True:
        check()
        moved.clear()
        _taken(gate, lists, stores)
        gate.rearm(stores)
        if _asked(gate, views, lists, moved):
            how = "list"
        open_views()
        if gate.open(stores):
            return how
        now = runtime.clock()
        if not all(view.informer.synced.is_set() for view in views.values()):
            until = now + patience
        elif now >= until:
            until = now + patience
            log.warning("shard %s: %s", range.short, gate.reason(stores))
            for name in gate.closed(stores).keys() - lists.keys():
                gate.demand_list(name)
            continue
        try:
            async with asyncio.timeout(until - now):
                await moved.wait()
        except TimeoutError:
            continue


def _asked(gate: HandoverGate, views: Mapping[str, ShardView], lists: Lists, moved: asyncio.Event) -> bool:
    """Whether a list that the gate needs was not under way, and is now."""
    needed = [name for name in views if gate.needs_list(name) and name not in lists]
    for name in needed:
        lists[name] = views[name].informer.relist()
        lists[name].add_done_callback(lambda _: moved.set())
    return bool(needed)


def _taken(gate: HandoverGate, lists: Lists, stores: Mapping[str, StoreReader]) -> None:
    """The gate is told of the lists that have ended."""
    for name in [name for name, listing in lists.items() if listing.done()]:
        listing = lists.pop(name)
        if not listing.cancelled():
            gate.listed(name, listing.result(), stores[name].regressions)


async def until_seen(engines: Sequence[Engine], moved: asyncio.Event, range: KeyRange) -> None:
    """Waits, bounded, while the views lack more of the shard's writes than a watermark can name.

    What it names costs no time here: the next owner's view waits for it, and receives the same events meanwhile.
    """
    try:
        async with asyncio.timeout(SEEN_SECONDS):
            while any(count > MAX_UNSEEN for count in _unseen_counts(engines).values()):
                moved.clear()
                await moved.wait()
    except TimeoutError:
        log.info("shard %s: its views lack too many of its writes to leave a watermark", range.short)


def _unseen_counts(engines: Sequence[Engine]) -> Counter[Resource]:
    """Writes that were answered and are not shown, by resource."""
    counts: Counter[Resource] = Counter()
    for engine in engines:
        for resource, found in engine.fence.writes.unseen(engine.stores).items() if engine.fence is not None else ():
            counts[resource] += sum(each.phase in (Phase.LANDED, Phase.DELETED) for each in found)
    return counts


def watermark_of(views: Mapping[str, ShardView], shard_epoch: int) -> Watermark:
    """How far the views have come, with what they do not show yet of the shard's writes.

    None of a view whose history went back: the next owner's view may not have noticed, and its versions, of the old
    history, would look newer than a mark of the new one.
    """
    marks: dict[str, ResourceMark] = {}
    for name, view in views.items():
        barriers: list[Barrier] = []
        # What a list left out was gone by then, and the next owner's view may still hold it.
        highest = newest(view.store.highest_object_version, view.store.listed_version)
        certain = not view.store.regressions
        for engine in view.engines:
            if engine.fence is not None:
                barriers += engine.fence.writes.unseen(engine.stores).get(view.source.resource, ())
                certain = certain and view.source.resource not in engine.fence.writes.levels.lists()
                highest = newest(highest, engine.fence.highest.get(view.source.resource, ""))
        mark = mark_of(view.source.digest, view.source.resource, highest, barriers)
        if mark is not None and certain and view.informer.synced.is_set() and not view.informer.blind:
            marks[name] = mark
    return Watermark(shard_epoch, marks)
