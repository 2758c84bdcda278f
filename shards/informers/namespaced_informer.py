"""Several namespaces as one view, each with a watch of its own: for accounts that may see those and no others.

A namespace that may not be seen (any more) is left out of what is said of the whole, so that it stops nothing else.
What the view holds of it stays, and nothing acts on that (`NamespacedReader.blind`) until a list has followed that was
asked for after its permission had gone, and after the shard's last claim.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shards.clock import Clock
from shards.informers.feed import Feed
from shards.informers.informer_notes import InformerNotes
from shards.informers.namespaced_store import NamespacedReader
from shards.informers.told_event import ToldEvent
from shards.journal import NO_JOURNAL
from shards.versions import version_key
from shards.watching.source import Source

log = logging.getLogger(__name__)


class _Asked(NamedTuple):
    """A list of the whole: who waits for it, and those of the namespaces."""

    whole: asyncio.Future[str]
    lists: dict[str, asyncio.Future[str]]


class NamespacedInformer:
    """Attributes, `run` and `relist` mean what an informer's do. source: of all namespaces. parts: one of each.

    The parts' journals have to be silent: their views are not whole ones, and their lists not those of a view.
    """

    def __init__(self, source: Source, parts: Mapping[str, Feed], clock: Clock) -> None:
        self.source = source
        self.synced = asyncio.Event()
        self.refused = asyncio.Event()
        self.notes = InformerNotes(NO_JOURNAL, source, clock)
        self._parts = dict(parts)
        self._store = NamespacedReader({name: part.store for name, part in parts.items()}, self._sees)
        self._blind: dict[str, asyncio.Future[str]] = {}
        """Namespaces that were refused, until the list is there that was asked for since."""
        self._asked: list[_Asked] = []
        self._stopped = False
        for part in self._parts.values():
            part.synced, part.refused = ToldEvent(self._look), ToldEvent(self._look)

    @property
    def store(self) -> NamespacedReader:
        return self._store

    @property
    def trouble(self) -> str:
        found = {name: part.trouble for name, part in self._parts.items()}
        return "; ".join(f"namespace {name}: {trouble}" for name, trouble in found.items() if trouble)

    @property
    def blind(self) -> bool:
        """Whether some namespace is not seen."""
        return any(not self._sees(name) for name in self._parts)

    @property
    def waiting(self) -> bool:
        return any(part.waiting for part in self._seen())

    @property
    def last_heard(self) -> float:
        return min(part.last_heard for part in self._seen())

    @property
    def current_at(self) -> float:
        return min(part.current_at for part in self._seen())

    def relist(self) -> asyncio.Future[str]:
        """Resolves when all namespaces were listed that are seen by then, with the lowest of their versions."""
        whole: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        lists = {name: part.relist() for name, part in self._parts.items()}
        self._blind |= {name: lists[name] for name in self._blind}
        self._asked.append(_Asked(whole, lists))
        for each in lists.values():
            each.add_done_callback(lambda _: self._look())
        if self._stopped:
            whole.cancel()
        return whole

    async def run(self) -> None:
        """Until cancelled. Not to be started twice."""
        tasks = [asyncio.create_task(part.run(), name=f"namespace {name}") for name, part in self._parts.items()]
        try:
            await asyncio.gather(*tasks)
        finally:
            self._stopped = True
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for asked in self._asked:
                asked.whole.cancel()

    def _look(self) -> None:
        """Something has changed with a part."""
        for name, part in self._parts.items():
            if part.refused.is_set() and name not in self._blind and not self._stopped:
                log.warning("%s: nothing may be seen of namespace %s", self.source.resource, name)
                self._blind[name] = part.relist()
                self._blind[name].add_done_callback(lambda _: self._look())
            elif name in self._blind and self._blind[name].done() and not part.refused.is_set():
                log.info("%s: namespace %s is seen again", self.source.resource, name)
                del self._blind[name]
        seen = [name for name in self._parts if self._sees(name)]
        if seen and all(self._parts[name].synced.is_set() for name in seen):
            self.synced.set()
        else:
            self.synced.clear()
        if seen:
            self.refused.clear()
        else:
            self.refused.set()
        self._asked = [each for each in self._asked if not _settled(each, seen)]

    def _sees(self, namespace: str) -> bool:
        return namespace not in self._blind and not self._parts[namespace].refused.is_set()

    def _seen(self) -> list[Feed]:
        """All of them where none is: their age is that of the whole then."""
        return [part for name, part in self._parts.items() if self._sees(name)] or list(self._parts.values())


def _settled(asked: _Asked, seen: Sequence[str]) -> bool:
    """Whether nobody waits any more."""
    lists = [asked.lists[name] for name in seen]
    if not asked.whole.done() and lists and all(each.done() for each in lists):
        if any(each.cancelled() for each in lists):
            asked.whole.cancel()
        else:
            asked.whole.set_result(min((each.result() for each in lists), key=version_key))
    return asked.whole.done()
