"""What a search of a view gives an author."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shards.objects import Object, ObjectName


class Listing:
    """Objects of a view, decoded one by one as they are asked for; each is a copy of the caller's own.

    What is not in it may exist all the same, as with every read of a view: filters hide other shards' objects.
    unknown: objects of which nobody knows whether they belong, because the index's function failed for them.
    """

    __slots__ = ("_get", "names", "unknown")

    def __init__(
        self, names: list[ObjectName], unknown: tuple[ObjectName, ...], get: Callable[[ObjectName], Object | None]
    ) -> None:
        self.names = names
        self.unknown = unknown
        self._get = get

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Object]:
        """In order of namespace and name. What has gone since is left out; what has changed comes as it is now."""
        return self.part(0, len(self.names))

    def part(self, begin: int, end: int) -> Iterator[Object]:
        """Those of `names[begin:end]`."""
        return (found for name in self.names[begin:end] if (found := self._get(name)) is not None)
