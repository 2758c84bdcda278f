"""What a view must have reached as a whole, where it is not known object by object. PURE.

Two things come to that: writes of one key beyond those that are remembered one by one, and a server whose history went
back, of which every view has to be listed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from shards.objects import Key, Resource
from shards.stores.store import StoreReader
from shards.versions import comparable, newest


class Floor(NamedTuple):
    """version: to be reached by the view; "" where only a list will do. number: of that list, see `Floors.numbers`."""

    version: str
    number: int = 0


class Floors:
    """Of keys and of whole resources. Invariant: no key has an empty entry.

    A list is needed by number: one that was asked for when `numbers` was n serves all that is numbered n or lower.
    """

    def __init__(self) -> None:
        self.numbers = 0
        self._keys: dict[Key, dict[Resource, Floor]] = {}
        self._resources: dict[Resource, int] = {}

    def __bool__(self) -> bool:
        return bool(self._keys or self._resources)

    def __contains__(self, key: Key) -> bool:
        return key in self._keys

    def lift(self, key: Key, resource: Resource, version: str) -> None:
        """The key waits until the view is at that version; "", or what nobody can order: until it was listed."""
        floors = self._keys.setdefault(key, {})
        known = floors.get(resource)
        if known is not None and not known.version:
            version = ""
        elif known is not None and comparable(version):
            version = newest(known.version, version)
        floors[resource] = Floor(version) if comparable(version) else Floor("", self._next())

    def distrust(self, resource: Resource) -> None:
        """All keys wait until the view was listed. That serves what they waited for one by one, too."""
        self._resources[resource] = self._next()
        for key in list(self._keys):
            self._drop(key, resource)

    def listed(self, resource: Resource, number: int) -> None:
        """A consistent list is in the view that was asked for when `numbers` was that."""
        if self._resources.get(resource, number + 1) <= number:
            del self._resources[resource]
        for key, floors in list(self._keys.items()):
            floor = floors.get(resource)
            if floor is not None and floor.number <= number:
                self._drop(key, resource)

    def lists(self) -> set[Resource]:
        """The resources of which a list is needed."""
        needed = {of for floors in self._keys.values() for of, floor in floors.items() if not floor.version}
        return needed | self._resources.keys()

    def closed(self, key: Key, views: Mapping[Resource, StoreReader]) -> dict[Resource, str]:
        """What the key waits for, by resource. Forgets what the views have reached."""
        found = dict.fromkeys(self._resources, "went back in history and is listed again")
        for resource, floor in list(self._keys.get(key, {}).items()):
            if floor.version and views[resource].reached(floor.version):
                self._drop(key, resource)
            elif floor.version:
                found.setdefault(resource, f"has to reach {floor.version}: more writes than are remembered one by one")
            else:
                found.setdefault(resource, "is listed again: more writes than are remembered one by one")
        return found

    def sweep(self, views: Mapping[Resource, StoreReader], limit: int) -> None:
        """Forgets what the views have reached, for up to `limit` keys, in turn."""
        for key in list(islice(self._keys, limit)):
            self.closed(key, views)
            if key in self._keys:
                self._keys[key] = self._keys.pop(key)

    def _next(self) -> int:
        self.numbers += 1
        return self.numbers

    def _drop(self, key: Key, resource: Resource) -> None:
        floors = self._keys[key]
        floors.pop(resource, None)
        if not floors:
            del self._keys[key]
