"""What a view must have reached as a whole, where it is not known object by object. PURE.

Two things come to that: writes of one key beyond those that are remembered one by one, and a server whose history went
back, of which every view has to be listed again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from shards.objects import Key, Resource
from shards.stores.store import StoreReader
from shards.versions import comparable, newest


class Level(NamedTuple):
    """version: to be reached by the view; "" where only a list will do. number: of that list, see `Levels.numbers`."""

    version: str
    number: int = 0


class Levels:
    """Of keys and of whole resources. Invariants: no key has an empty entry; `_unlisted` counts the levels of keys that
    only a list will do for, by resource. It is asked each time that a key is parked.

    A list is needed by number: one that was asked for when `numbers` was n serves all that is numbered n or lower.
    """

    def __init__(self) -> None:
        self.numbers = 0
        self._keys: dict[Key, dict[Resource, Level]] = {}
        self._resources: dict[Resource, int] = {}
        self._unlisted: Counter[Resource] = Counter()

    def __bool__(self) -> bool:
        return bool(self._keys or self._resources)

    def __contains__(self, key: Key) -> bool:
        return key in self._keys

    def lift(self, key: Key, resource: Resource, version: str) -> None:
        """The key waits until the view is at that version; "", or what nobody can order: until it was listed."""
        levels = self._keys.setdefault(key, {})
        known = levels.get(resource)
        if known is not None and not known.version:
            version = ""
        elif known is not None and comparable(version):
            version = newest(known.version, version)
        levels[resource] = Level(version) if comparable(version) else Level("", self._next())
        self._unlisted[resource] += (not levels[resource].version) - (known is not None and not known.version)

    def distrust(self, resource: Resource) -> None:
        """All keys wait until the view was listed. That serves what they waited for one by one, too."""
        self._resources[resource] = self._next()
        for key in list(self._keys):
            self._drop(key, resource)

    def listed(self, resource: Resource, number: int) -> None:
        """A consistent list is in the view that was asked for when `numbers` was that."""
        if self._resources.get(resource, number + 1) <= number:
            del self._resources[resource]
        for key, levels in list(self._keys.items()):
            level = levels.get(resource)
            if level is not None and not level.version and level.number <= number:
                self._drop(key, resource)

    def lists(self) -> tuple[Resource, ...]:
        """The resources of which a list is needed, in the order in which that came to be known."""
        needed = dict.fromkeys(of for of, count in self._unlisted.items() if count)
        return tuple(needed | dict.fromkeys(self._resources))

    def closed(self, key: Key, views: Mapping[Resource, StoreReader]) -> dict[Resource, str]:
        """What the key waits for, by resource. Forgets what the views have reached."""
        found = dict.fromkeys(self._resources, "went back in history and is listed again")
        for resource, level in list(self._keys.get(key, {}).items()):
            if level.version and views[resource].reached(level.version):
                self._drop(key, resource)
            elif level.version:
                found.setdefault(resource, f"has to reach {level.version}: more writes than are remembered one by one")
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
        levels = self._keys[key]
        dropped = levels.pop(resource, None)
        if dropped is not None and not dropped.version:
            self._unlisted[resource] -= 1
        if not levels:
            del self._keys[key]
