"""All tables under one version counter: what etcd is to the real server. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.storage.commits import Commit, Stored, encode, event_line, object_key
from fleet.devcluster.storage.tables import HistoryGone, Table
from fleet.devcluster.wire import statuses
from shards.objects import Object, Resource

__all__ = (
    "Commit",
    "HistoryGone",
    "Snapshot",
    "Storage",
    "Stored",
    "Table",
    "encode",
    "event_line",
    "object_key",
    "table_key",
)

OBJECT_LIMIT: Final = 3 * 512 * 1024
"""Bytes of one stored object: etcd's `--max-request-bytes`."""

TableKey = tuple[str, str]
"""Group and plural: every version of a resource lives in one table."""


_SHARED: Final[Mapping[TableKey, TableKey]] = {("events.k8s.io", "events"): ("", "events")}
"""Groups that show the resources of another one."""


def table_key(resource: Resource) -> TableKey:
    key = (resource.group, resource.plural)
    return _SHARED.get(key, key)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a storage held at one version."""

    version: int
    tables: Mapping[TableKey, tuple[ResourceType, Mapping[str, Stored]]]


class Storage:
    """All tables under one version counter, which begins at 1 and rises by one with every commit.

    listeners: told every commit of every table, before the table's own listeners. on_restore: called after a restore.
    on_drop: told of every resource that goes with its table. on_redefine: told of every resource whose definition has
    changed. on_compact: told the version below which nothing can be
    listed any more, and whether it cannot be watched from either.
    """

    def __init__(self, *, history_limit: int = 10_000) -> None:
        """history_limit: commits that each resource remembers for watches and exact lists."""
        self.version = 1
        self.history_limit = history_limit
        self.listeners: list[Callable[[Commit], None]] = []
        self.on_restore: list[Callable[[], None]] = []
        self.on_drop: list[Callable[[Resource], None]] = []
        self.on_redefine: list[Callable[[Resource], None]] = []
        self.on_compact: list[Callable[[int, bool], None]] = []
        self._tables: dict[TableKey, Table] = {}

    def table(self, kind: ResourceType) -> Table:
        """The table of all versions of the resource. A newer definition of the stored version takes effect."""
        resource = kind.resource
        key = table_key(resource)
        found = self._tables.get(key)
        if found is None:
            found = self._tables[key] = Table(kind, self.version, self.history_limit)
        elif found.kind is not kind and found.kind.resource == resource:
            found.kind = kind
        return found

    def find(self, resource: Resource) -> Table | None:
        """Its table, None where there is none (any more)."""
        return self._tables.get(table_key(resource))

    def tables(self) -> tuple[Table, ...]:
        return tuple(self._tables.values())

    def drop(self, resource: Resource) -> None:
        self._tables.pop(table_key(resource), None)
        for end in tuple(self.on_drop):
            end(resource)

    def redefine(self, resource: Resource) -> None:
        """Its definition has changed: the real server makes its caches anew."""
        for begin_anew in tuple(self.on_redefine):
            begin_anew(resource)

    def put(self, table: Table, body: Object) -> Commit:
        """Stores a new version of an object, or its first one. Raises StatusError 500 for one that is too large."""
        stored = encode(table.kind, body, self.version + 1)
        if len(stored.raw) > OBJECT_LIMIT:
            raise statuses.StatusError(500, "", "etcdserver: request is too large")
        self.version += 1
        return self._told(table, table.apply(stored.key, self.version, stored))

    def delete(self, table: Table, key: str) -> Commit:
        """Removes an object; the deletion has a version of its own. Raises KeyError."""
        if key not in table.objects:
            raise KeyError(key)
        self.version += 1
        return self._told(table, table.apply(key, self.version, None))

    def compact(self, up_to: int | None = None, *, watches: bool = True) -> None:
        """Versions below one, the present one by default, cannot be listed any more: 410, "Expired".

        watches: nor watched from: what clients see when compaction and a restart of the server come together.
        """
        bound = self.version if up_to is None else min(up_to, self.version)
        for table in self._tables.values():
            table.forget(bound, watches=watches)
        for hear in tuple(self.on_compact):
            hear(bound, watches)

    def snapshot(self) -> Snapshot:
        """What `restore` goes back to. O(objects)."""
        tables = {key: (table.kind, dict(table.objects)) for key, table in self._tables.items()}
        return Snapshot(self.version, tables)

    def restore(self, snapshot: Snapshot, *, bump: int = 0) -> None:
        """Goes back to a snapshot, as after `etcdutl snapshot restore`: later versions will mean other contents.

        bump: how far beyond the snapshot the version goes on (`--bump-revision`); 0 lets it go back. All history is
        gone, and servers begin anew: their watches end.
        """
        self.version = snapshot.version + bump
        for key in tuple(self._tables):
            if key not in snapshot.tables:
                del self._tables[key]
        for key, (kind, objects) in snapshot.tables.items():
            table = self._tables.get(key)
            if table is None:
                table = self._tables[key] = Table(kind, self.version, self.history_limit)
            table.kind, table.objects, table.keys = kind, dict(objects), sorted(objects)
            table.history.clear()
            table.floor = table.compacted = self.version
        for begin_anew in tuple(self.on_restore):
            begin_anew()

    def _told(self, table: Table, commit: Commit) -> Commit:
        for listener in self.listeners:
            listener(commit)
        for listener in tuple(table.listeners):
            listener(commit)
        return commit
