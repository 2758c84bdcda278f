"""Which caches of a worker an object belongs to, and the writer that puts it there.

An informer that is given this writer and this source fills many stores at once, each with its part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from shards.keyrange import WHOLE, KeyRange
from shards.objects import Meta
from shards.sharing.shared_cache import NOTHING, Event, SharedCache
from shards.stores.store import Change, Entry, Replacement, StoreWriter
from shards.versions import newest
from shards.watching.source import Source
from shards.watching.watch_requests import Freshness

_SLOT_BITS = 56

_NOBODY: list[SharedCache] = []


class _Facet:
    """Caches that differ in their range only."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.caches: list[SharedCache] = []
        self._slots: list[list[SharedCache]] = [[] for _ in range(256)]
        self._unsplit = True

    def rebuilt(self, caches: list[SharedCache]) -> None:
        self.caches = caches
        self._unsplit = self.source.role == "watched" or all(cache.source.range.is_whole for cache in caches)
        for slot, held in enumerate(self._slots):
            edges = KeyRange(slot << _SLOT_BITS, ((slot + 1) << _SLOT_BITS) - 1, self.source.partition_key)
            held[:] = [cache for cache in caches if cache.source.range.overlaps(edges)]

    def homes(self, meta: Meta) -> list[SharedCache]:
        """Not to be changed by the caller."""
        if self._unsplit:
            return self.caches if self.source.admits(meta) else _NOBODY
        value = self.source.hash_of(meta)
        if value is None:
            return _NOBODY
        return [cache for cache in self._slots[value >> _SLOT_BITS] if value in cache.source.range]


class Router:
    """Finds by one hash, whatever the number of caches. An object moves between them only where its owner changed.

    listing: a list is read, whose objects are nowhere yet.
    """

    def __init__(self, caches: Iterable[SharedCache] = (), *, listing: bool = False) -> None:
        self.listing = listing
        self._facets: dict[str, _Facet] = {}
        self._asked: Meta | None = None
        self._homes = self._left = _NOBODY
        for cache in caches:
            self.add(cache)

    @property
    def caches(self) -> list[SharedCache]:
        return [cache for facet in self._facets.values() for cache in facet.caches]

    def add(self, cache: SharedCache) -> None:
        whole = replace(cache.source, range=WHOLE)
        facet = self._facets.setdefault(whole.digest, _Facet(whole))
        facet.rebuilt([*facet.caches, cache])
        self._asked = None

    def clear(self) -> None:
        """Nobody wants anything any more."""
        self._facets.clear()
        self._asked = None

    def remove(self, cache: SharedCache) -> None:
        for digest, facet in list(self._facets.items()):
            if cache in facet.caches:
                facet.rebuilt([each for each in facet.caches if each is not cache])
                if not facet.caches:
                    del self._facets[digest]
        self._asked = None

    def homes(self, meta: Meta) -> list[SharedCache]:
        """The caches that hold the object."""
        if self._asked is not meta:
            self._look(meta)
        return self._homes

    def left(self, meta: Meta) -> list[SharedCache]:
        """The caches that may hold an earlier state of it, and must not hold this one."""
        if self._asked is not meta:
            self._look(meta)
        return self._left

    def _look(self, meta: Meta) -> None:
        # Asked for by the informer's source and then by its writer: the second time costs nothing.
        self._asked = meta
        homes = left = _NOBODY
        for facet in self._facets.values():
            found = facet.homes(meta)
            homes = [*homes, *found] if homes else found
            if facet.source.role == "owned" and not self.listing:
                left = [*left, *(each for each in facet.caches if each not in found and each.knows(meta.uid))]
        self._homes, self._left = homes, left


@dataclass(frozen=True)
class RoutedSource(Source):
    """What an informer needs to know of a collection that is split here: its query, and whether anybody wants an
    object."""

    router: Router = field(default_factory=Router, compare=False)

    @classmethod
    def of(cls, source: Source, router: Router, covered: KeyRange) -> RoutedSource:
        """The source of all caches of the router. source: of any of them."""
        return cls(
            resource=source.resource,
            range=covered,
            partition_key=source.partition_key,
            scope=source.scope,
            mode=source.mode,
            role=source.role,
            router=router,
        )

    def admits(self, meta: Meta) -> bool:
        return bool(self.router.homes(meta) or self.router.left(meta))


@dataclass
class ListWatch:
    """What the owner of a routed writer is told. began: which caches the list fills. committed: it is in their stores.
    handed_over: so are its consequences."""

    began: Callable[[Freshness], Sequence[tuple[SharedCache, Replacement]]]
    committed: Callable[[str], bool]
    handed_over: Callable[[], None]


class RoutedWriter(StoreWriter):
    """Writes to the caches of a router. `reached`: the version up to which all events were given to them."""

    __slots__ = ("_owner", "_router", "reached")

    def __init__(self, router: Router, owner: ListWatch) -> None:
        super().__init__()
        self._router = router
        self._owner = owner
        self.reached = ""

    def apply(self, meta: Meta, raw: bytes) -> Change | None:
        for cache in self._router.left(meta):
            cache.take(Event(meta, b"", "left"))
        for cache in self._router.homes(meta):
            cache.take(Event(meta, raw, "here"))
        self.reached = meta.resource_version
        return None

    def delete(self, meta: Meta) -> Change | None:
        event = Event(meta, b"", "deleted")
        for cache in (*self._router.left(meta), *self._router.homes(meta)):
            cache.take(event)
        self.reached = newest(self.reached, meta.resource_version)  # which may be that of an earlier change
        return None

    def bookmark(self, resource_version: str) -> None:
        self.reached = resource_version

    def begin(self, freshness: Freshness | None = None) -> Replacement:
        """Raises ValueError without freshness, which decides whom the list serves."""
        if freshness is None:
            raise ValueError("how fresh is the list?")
        return _RoutedList(self, self._router, self._owner, freshness)


class _RoutedList(Replacement):
    """One list for many stores."""

    __slots__ = ("_by_owner", "_children", "_lists", "_owner", "_routed", "_router")

    def __init__(self, writer: RoutedWriter, router: Router, owner: ListWatch, freshness: Freshness) -> None:
        super().__init__(writer, 0)
        self._routed = writer
        self._router = router
        self._owner = owner
        self._lists = {id(cache): (cache, gathered) for cache, gathered in owner.began(freshness)}
        self._by_owner = any(cache.source.role == "owned" for cache, _ in self._lists.values())
        self._children: dict[str, list[SharedCache]] = {}
        """Where an object was added, by UID, if any of the stores holds objects by their owner."""

    def add(self, entry: Entry) -> None:
        """Also takes the object out of a store in which an earlier state of it was: lists may carry live events."""
        homes = self._router.homes(entry.meta)
        if self._by_owner:
            left = [cache for cache in self._children.get(entry.meta.uid, ()) if cache not in homes]
            self._children[entry.meta.uid] = homes
            self._remove_from(left, entry.meta)
        for cache in homes:
            found = self._lists.get(id(cache))
            if found is not None:
                found[1].add(entry)

    def remove(self, meta: Meta) -> None:
        homes = self._router.homes(meta)
        self._remove_from([*homes, *(cache for cache in self._children.pop(meta.uid, ()) if cache not in homes)], meta)

    def _remove_from(self, caches: Iterable[SharedCache], meta: Meta) -> None:
        for cache in caches:
            found = self._lists.get(id(cache))
            if found is not None:
                found[1].remove(meta)

    def compare(self) -> Iterator[None]:
        for _, gathered in self._lists.values():
            yield from gathered.compare()

    def commit(self, resource_version: str) -> Iterator[Change]:
        """What it returns swaps the content of the stores and hands over what that changed. Empty where the owner does
        not want the list."""
        if not self._owner.committed(resource_version):
            return iter(())
        self._routed.reached = resource_version
        for cache, _ in self._lists.values():
            cache.taking()
        return self._hand_over(resource_version)

    def _hand_over(self, version: str) -> Iterator[Change]:
        # One store after the other, with other tasks of the loop in between: they are views of different shards.
        for cache, gathered in self._lists.values():
            if cache in self._router.caches:
                yield from cache.commit(gathered, version)
            else:
                cache.settled.set()
            yield NOTHING
        self._owner.handed_over()
