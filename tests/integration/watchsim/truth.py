"""What the server had, in order, as one source selects it: what a view is measured against."""

from __future__ import annotations

from typing import Any

import msgspec

from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.reads.listoptions import filter_of
from fleet.devcluster.server import ApiServer
from fleet.devcluster.storage.storage import Commit, Stored
from fleet.devcluster.wire.requests import Request
from shards.objects import Meta, ObjectName
from shards.watching.source import Source


class Truth:
    """Follows the storage of a server. Moments are counted by commits and restores, which versions cannot be: a restore
    lets them begin again.

    restores: how often the versions went back.
    """

    def __init__(self, server: ApiServer, source: Source, namespace: str) -> None:
        kind = server.registry.get(source.resource)
        assert kind is not None
        self.restores = 0
        self._server = server
        self._kind: ResourceType = kind
        self._source = source
        self._wanted = filter_of(kind, namespace, Request("GET", "", source.query()), sharded=True)
        self._moment = 0
        self._made: dict[tuple[str, str], tuple[int, int]] = {}
        """The first and the last moment at which an object got a version, by UID and version: a restore gives it one
        again, while an answer from before may still be under way."""
        self._left: dict[str, int] = {}
        """The moment at which an object left the selection for the last time, by UID."""
        self._selected: set[str] = set()
        self._begin()
        server.storage.listeners.append(self._commit)
        server.storage.on_restore.append(self._restored)

    def objects(self) -> dict[ObjectName, Any]:
        """What a view has to hold now: each object decoded."""
        found = {}
        for stored in self._server.storage.table(self._kind).objects.values():
            if self._admits(stored):
                found[ObjectName(stored.meta.namespace, stored.meta.name)] = msgspec.json.decode(stored.raw)
        return found

    def had(self, meta: Meta) -> bool:
        """Whether the object ever was at this version."""
        return (meta.uid, meta.resource_version) in self._made

    def in_order(self, old: Meta, new: Meta) -> bool:
        """Whether the object can have got the one version after the other. Both are versions that it had."""
        return self._made[new.uid, new.resource_version][1] > self._made[old.uid, old.resource_version][0]

    def left_since(self, meta: Meta) -> bool:
        """Whether the object is not selected, or was not at some moment after it got that version."""
        if meta.uid not in self._selected:
            return True
        first, _ = self._made.get((meta.uid, meta.resource_version), (-1, -1))
        return self._left.get(meta.uid, -1) > first

    def _make(self, meta: Meta) -> None:
        place = meta.uid, meta.resource_version
        first, _ = self._made.get(place, (self._moment, 0))
        self._made[place] = first, self._moment

    def _admits(self, stored: Stored) -> bool:
        return self._wanted.admits(stored) and self._source.admits(stored.meta)

    def _commit(self, commit: Commit) -> None:
        if commit.kind.resource != self._kind.resource:
            return
        self._moment += 1
        old, new = commit.old, commit.new
        if new is not None:
            self._make(new.meta)
            if self._admits(new):
                self._selected.add(new.meta.uid)
                return
        gone = new or old
        if gone is not None and gone.meta.uid in self._selected:
            self._selected.discard(gone.meta.uid)
            self._left[gone.meta.uid] = self._moment

    def _restored(self) -> None:
        self._moment += 1
        before, self._selected = self._selected, set()
        self._begin()
        for uid in before - self._selected:
            self._left[uid] = self._moment

    def _begin(self) -> None:
        for stored in self._server.storage.table(self._kind).objects.values():
            self._make(stored.meta)
            if self._admits(stored):
                self._selected.add(stored.meta.uid)
