"""Records every request of a server in commit order, and counts them."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterator
from itertools import islice

import msgspec

from fleet.devcluster.journal import Entry
from fleet.devcluster.storage import Stored
from fleet.object_names import CONFIG_MAPS, LEASES
from shards.clock import Clock, boot_seconds
from shards.objects import Meta, Resource


class _WithStatus(msgspec.Struct):
    status: msgspec.Raw = msgspec.Raw(b"")


class Recorder:
    """Keeps the newest `limit` entries. `dropped` counts what was forgotten: a verdict over the rest is partial."""

    def __init__(self, *, clock: Clock = boot_seconds, limit: int = 2_000_000, reads: bool = True) -> None:
        """reads: keep entries of get, list and watch too; they are counted in any case."""
        self.clock = clock
        self.entries: deque[Entry] = deque()
        self.counts: Counter[tuple[str, str, int]] = Counter()
        self.limit = limit
        self.reads = reads
        self.dropped = 0
        self.listeners: list[Callable[[Entry], None]] = []
        self._seq = 0

    def record(
        self,
        verb: str,
        resource: Resource,
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        status: int,
        user_agent: str,
        stored: Stored | None = None,
        removed: bool = False,
    ) -> None:
        """Called right after the commit, before anything else can commit. stored: the object after the request."""
        text = str(resource)
        self.counts[verb, text, status] += 1
        entry = Entry(
            self._seq + 1,
            self.clock(),
            verb,
            text,
            namespace,
            name,
            subresource,
            status=status,
            user_agent=user_agent,
            removed=removed,
        )
        if not entry.write and not self.reads:
            return
        self._seq += 1
        if stored is not None:
            self._describe(entry, resource, stored)
        self.entries.append(entry)
        if len(self.entries) > self.limit:
            self.entries.popleft()
            self.dropped += 1
        for listener in tuple(self.listeners):
            listener(entry)

    @staticmethod
    def _describe(entry: Entry, resource: Resource, stored: Stored) -> None:
        meta: Meta = stored.meta
        entry.namespace, entry.name = meta.namespace, meta.name
        entry.uid, entry.resource_version = meta.uid, meta.resource_version
        if entry.verb == "create" and meta.controller is not None:
            entry.owner_uid = meta.controller.uid
        if entry.subresource == "status" and entry.write:
            status = msgspec.json.decode(stored.raw, type=_WithStatus).status
            entry.content = hashlib.sha256(bytes(status)).hexdigest()[:32]
        if resource == LEASES or (resource == CONFIG_MAPS and meta.name.endswith("-map")):
            entry.object = stored.raw.decode()

    def after(self, seq: int) -> Iterator[Entry]:
        """Entries later than `seq`, in order."""
        first = self.entries[0].seq if self.entries else 0
        return islice(tuple(self.entries), max(seq + 1 - first, 0), None)
