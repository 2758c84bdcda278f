"""What is known of one collection of records: from its watch, from live lists, from own writes, in any order. Pure.

Resource versions order everything: they are comparable within one collection of one server (`shards.objects`). A record
never goes back to an earlier version, and one that is proved to be gone does not come back by an answer that was late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, Protocol, TypeVar

from shards.versions import at_least, newest


class Versioned(Protocol):
    """A record that was stored. version: of its object."""

    @property
    def version(self) -> str: ...


T = TypeVar("T", bound=Versioned)


class Followed(Generic[T]):
    """Records by the name of their object. Methods return what moved: new records, and the last ones of those gone.

    Invariants: `_watched` and `_listed` are versions up to which watch and live lists are complete, and only grow.
    complete: everything up to this version is included, the newer of both; "" = nothing is known yet.
    Every name in `_ahead` has a record, which did not come from the watch: until the watch has passed its version, the
    watch cannot say that it is gone.
    """

    def __init__(self) -> None:
        self._records: dict[str, T] = {}
        self._watched = ""
        self._listed = ""
        self.complete = ""
        self._ahead: set[str] = set()

    def __iter__(self) -> Iterator[T]:
        return iter(self._records.values())

    def get(self, name: str) -> T | None:
        return self._records.get(name)

    def watched(self, name: str, found: T | None, at: str) -> list[T]:
        """One step of the watch, which then is at version `at`. found None: gone."""
        known = self._records.get(name)
        if found is not None:
            if at_least(self._listed, found.version) or (known is not None and at_least(known.version, found.version)):
                return []
            self._records[name] = found
            return [found]
        if known is None or not at_least(at, known.version):
            return []
        self._ahead.discard(name)
        return [self._records.pop(name)]

    def progressed(self, at: str, holds: Callable[[str], bool]) -> list[T]:
        """The watch is complete up to `at`, all its steps included.

        holds: whether the watched cache has the name; asked for records that did not come from it.
        """
        if at != self._watched:
            self._watched = newest(self._watched, at)
            if not self.complete or not at_least(self.complete, self._watched):
                self.complete = self._watched
        if not self._ahead:
            return []
        passed = {name for name in self._ahead if at_least(self._watched, self._records[name].version)}
        self._ahead -= passed
        return [self._records.pop(name) for name in sorted(passed) if not holds(name)]

    def listed(self, found: Mapping[str, T], at: str) -> list[T]:
        """A complete live list at version `at`; without effect where more is known."""
        if self.complete and not at_least(at, self.complete):
            return []
        self._listed = self.complete = at
        moved = []
        for name in sorted(self._records.keys() | found.keys()):
            known, new = self._records.get(name), found.get(name)
            if known is not None and not at_least(at, known.version):
                continue
            if new is None:
                self._ahead.discard(name)
                moved.append(self._records.pop(name))
            elif known is None or known.version != new.version:
                self._ahead.add(name)
                self._records[name] = new
                moved.append(new)
        return moved

    def noted(self, name: str, found: T) -> list[T]:
        """One record as a write or a live read returned it."""
        known = self._records.get(name)
        if at_least(self.complete, found.version) or (known is not None and at_least(known.version, found.version)):
            return []
        self._records[name] = found
        self._ahead.add(name)
        return [found]

    def restarted(self, found: Mapping[str, T], at: str) -> list[T]:
        """History went back: the server was restored, and no version that was known before means anything.

        Takes a complete list at `at` instead of everything.
        """
        gone = [record for name, record in self._records.items() if name not in found]
        self._records, self._watched, self._listed, self._ahead = dict(found), "", at, set(found)
        self.complete = newest(at)
        return [*gone, *found.values()]
