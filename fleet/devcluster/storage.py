"""Versions of objects: one counter, one table and one bounded history per resource. Pure.

Objects are kept as encoded bytes, one `Stored` per version, never changed in place: whoever holds one may keep it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from fleet.devcluster.resources import ResourceType
from shards.objects import Meta, Object, Resource


class Stored(msgspec.Struct, frozen=True, gc=False):
    """One version of one object. key: namespace/name, or name where the resource has no namespaces."""

    key: str
    version: int
    raw: bytes
    meta: Meta

    def decode(self) -> Object:
        """A fresh decoded copy."""
        decoded: Object = msgspec.json.decode(self.raw)
        return decoded


def object_key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def encode(kind: ResourceType, body: Object, version: int) -> Stored:
    """Stores `version` in the body and encodes it. The body begins with kind and apiVersion: see ResourceType.head."""
    metadata = body["metadata"]
    metadata["resourceVersion"] = str(version)
    ordered: dict[str, Any] = {"kind": kind.kind, "apiVersion": kind.resource.api_version, "metadata": metadata}
    ordered.update(body)
    ordered["kind"], ordered["apiVersion"] = kind.kind, kind.resource.api_version
    meta = msgspec.convert(metadata, Meta)
    return Stored(object_key(meta.namespace, meta.name), version, msgspec.json.encode(ordered), meta)


class Commit:
    """One change of one object. old None: created. new None: deleted, and `version` is the delete's own.

    The event bytes are made at most once, whatever the number of watchers.
    """

    __slots__ = ("_added", "_deleted", "_modified", "kind", "new", "old", "version")

    def __init__(self, kind: ResourceType, version: int, old: Stored | None, new: Stored | None) -> None:
        self.kind = kind
        self.version = version
        self.old = old
        self.new = new
        self._added = self._modified = self._deleted = b""

    @property
    def added(self) -> bytes:
        """The event for a watcher that did not show the object before."""
        if not self._added and self.new is not None:
            self._added = event_line("ADDED", self.new.raw)
        return self._added

    @property
    def modified(self) -> bytes:
        if not self._modified and self.new is not None:
            self._modified = event_line("MODIFIED", self.new.raw)
        return self._modified

    @property
    def deleted(self) -> bytes:
        """The old content under this commit's version: for a deletion, and for an object that left a selection."""
        if not self._deleted and self.old is not None:
            self._deleted = event_line("DELETED", self.last.raw)
        return self._deleted

    @property
    def last(self) -> Stored:
        """The old content under this commit's version."""
        if self.old is None:
            raise ValueError("a creation has no last state")
        return encode(self.kind, self.old.decode(), self.version)


def event_line(kind: str, raw: bytes) -> bytes:
    """One line of a watch stream."""
    return b'{"type":"' + kind.encode() + b'","object":' + raw + b"}\n"


class HistoryGone(Exception):
    """The history does not reach back to that version. oldest: the first version that it can still continue from."""

    def __init__(self, oldest: int) -> None:
        super().__init__(oldest)
        self.oldest = oldest


class Table:
    """Objects of one resource in key order, with the commits that led here.

    Invariants: `keys` is sorted and equals the keys of `objects`; every commit after `floor` is in `history`, in order.
    """

    def __init__(self, kind: ResourceType, floor: int, history_limit: int) -> None:
        self.kind = kind
        self.objects: dict[str, Stored] = {}
        self.keys: list[str] = []
        self.history: deque[Commit] = deque()
        self.floor = floor
        self.history_limit = history_limit
        self.listeners: list[Callable[[Commit], None]] = []

    def apply(self, key: str, version: int, new: Stored | None) -> Commit:
        old = self.objects.get(key)
        if new is None:
            del self.objects[key]
            self.keys.pop(bisect_left(self.keys, key))
        else:
            if old is None:
                insort(self.keys, key)
            self.objects[key] = new
        commit = Commit(self.kind, version, old, new)
        self.history.append(commit)
        if len(self.history) > self.history_limit:
            self.floor = self.history.popleft().version
        return commit

    def forget(self, up_to: int) -> None:
        """Drops the history up to and including a version: what etcd's compaction does."""
        while self.history and self.history[0].version <= up_to:
            self.history.popleft()
        self.floor = max(self.floor, up_to)

    def after(self, version: int) -> Iterator[Commit]:
        """Commits later than a version. Raises HistoryGone."""
        if version < self.floor:
            raise HistoryGone(self.floor)
        start = len(self.history)
        while start and self.history[start - 1].version > version:
            start -= 1
        return (self.history[index] for index in range(start, len(self.history)))

    def scan(self, prefix: str = "", after_key: str = "") -> Iterator[Stored]:
        """Objects in key order. prefix: "namespace/" or "". after_key: the last key that is not wanted any more."""
        start = bisect_left(self.keys, prefix)
        if after_key:
            start = max(start, bisect_right(self.keys, after_key))
        for index in range(start, len(self.keys)):
            key = self.keys[index]
            if not key.startswith(prefix):
                return
            yield self.objects[key]

    def at(self, version: int) -> Table:
        """This table as it was at a version. Raises HistoryGone."""
        undone: dict[str, Stored | None] = {}
        for commit in reversed(list(self.after(version))):
            reference = commit.new or commit.old
            if reference is not None:
                undone[reference.key] = commit.old
        if not undone:
            return self
        past = Table(self.kind, version, 0)
        past.objects = {**self.objects}
        for key, stored in undone.items():
            if stored is None:
                past.objects.pop(key, None)
            else:
                past.objects[key] = stored
        past.keys = sorted(past.objects)
        return past


class Storage:
    """All tables under one version counter, which begins at 1 and rises by one with every commit."""

    def __init__(self, *, history_limit: int = 10_000) -> None:
        """history_limit: commits that each resource remembers for watches and exact lists."""
        self.version = 1
        self.history_limit = history_limit
        self.listeners: list[Callable[[Commit], None]] = []
        """Told every commit of every table, before the table's own listeners."""
        self._tables: dict[Resource, Table] = {}

    def table(self, kind: ResourceType) -> Table:
        found = self._tables.get(kind.resource)
        if found is None:
            found = self._tables[kind.resource] = Table(kind, self.version, self.history_limit)
        return found

    def tables(self) -> tuple[Table, ...]:
        return tuple(self._tables.values())

    def drop(self, resource: Resource) -> None:
        self._tables.pop(resource, None)

    def put(self, table: Table, body: Object) -> Commit:
        """Stores a new version of an object, or its first one."""
        self.version += 1
        stored = encode(table.kind, body, self.version)
        return self._told(table, table.apply(stored.key, self.version, stored))

    def delete(self, table: Table, key: str) -> Commit:
        """Removes an object; the deletion has a version of its own. Raises KeyError."""
        self.version += 1
        return self._told(table, table.apply(key, self.version, None))

    def compact(self) -> None:
        """Forgets all history: every earlier version answers 410 from now on."""
        for table in self._tables.values():
            table.forget(self.version)

    def _told(self, table: Table, commit: Commit) -> Commit:
        for listener in self.listeners:
            listener(commit)
        for listener in tuple(table.listeners):
            listener(commit)
        return commit
