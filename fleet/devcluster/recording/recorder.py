"""Records every request of a server in commit order, and counts them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from itertools import islice

import msgspec

from fleet.devcluster.recording.asked import digest, sent_of
from fleet.devcluster.recording.journal import EVENT, RESTORED, Entry, Level, Shown
from fleet.devcluster.storage.storage import Stored
from fleet.devcluster.wire.requests import Request, Target, name_in, verb_of
from fleet.records.object_names import CONFIG_MAPS, LEASES
from shards.clock import Clock, boot_seconds
from shards.objects import Meta, Resource


class _WithStatus(msgspec.Struct):
    status: msgspec.Raw = msgspec.Raw(b"")


class Recorder:
    """Keeps the newest `limit` entries. `dropped` counts what was forgotten: a verdict over the rest is partial.

    listeners: called with each entry, in order. A listener hears what is forgotten later, too.
    """

    def __init__(
        self,
        *,
        clock: Clock = boot_seconds,
        limit: int = 500_000,
        reads: bool = True,
        level: Level = Level.REQUESTS,
    ) -> None:
        """reads: keep entries of get, list and watch too; they are counted in any case. limit: 0 keeps none."""
        self.clock = clock
        self.level = level
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
        request: Request | None = None,
        retry_after: str = "",
    ) -> None:
        """Called right after the commit, before anything else can commit. stored: the object after the request.

        request: None for a write of the server's own. retry_after: seconds, as in the header of a refusal.
        """
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
        if stored is not None:
            self._describe(entry, resource, stored)
        if request is not None:
            entry.sent = sent_of(verb, request, self.level)
        if retry_after:
            entry.shown = Shown(retry_after_seconds=_seconds(retry_after))
        self._append(entry)

    def note(
        self, verb: str, *, fault: str, request: Request | None = None, status: int = 0, retry_after: str = ""
    ) -> None:
        """What an injector did. verb: one of `journal.FAULTS`. fault: which one, in words. request: the one it struck.

        status, retry_after: of an answer that the injector gave in the server's place.
        """
        entry = Entry(self._seq + 1, self.clock(), verb, "", status=status, note=fault)
        target = None if request is None else Target.parse(request.path)
        if request is not None:
            entry.user_agent = request.user_agent
        if request is not None and target is not None:
            asked = verb_of(request, target)
            entry.resource, entry.namespace = str(target.resource), target.namespace
            entry.name = target.name or (name_in(request.body) if asked == "create" else "")
            entry.subresource = target.subresource
            entry.sent = sent_of(asked, request, self.level)
        if retry_after:
            entry.shown = Shown(retry_after_seconds=_seconds(retry_after))
        self._append(entry)

    def restored(self) -> None:
        """The server goes back to an older state now. Called before anything can be asked of that."""
        self._append(Entry(self._seq + 1, self.clock(), RESTORED, ""))

    def delivered(self, user_agent: str, resource: Resource, shown: Shown, meta: Meta | None = None) -> None:
        """A client was given an event of a watch, at level DELIVERIES. meta: of the event's object."""
        entry = Entry(self._seq + 1, self.clock(), EVENT, str(resource), user_agent=user_agent, shown=shown)
        if meta is not None:
            entry.namespace, entry.name, entry.uid = meta.namespace, meta.name, meta.uid
        self._append(entry)

    def listed(self, target: Target, request: Request, shown: Shown) -> None:
        """A client was given a list, at level DELIVERIES: a line of its own, behind that of the request."""
        self._append(
            Entry(
                self._seq + 1,
                self.clock(),
                EVENT,
                str(target.resource),
                namespace=target.namespace,
                user_agent=request.user_agent,
                sent=sent_of("list", request, self.level),
                shown=shown,
            )
        )

    def _append(self, entry: Entry) -> None:
        self._seq += 1
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
            entry.content = digest(bytes(status))
        if resource == LEASES or (resource == CONFIG_MAPS and meta.name.endswith("-map")):
            entry.object = stored.raw.decode()

    def after(self, seq: int) -> Iterator[Entry]:
        """Entries later than `seq`, in order."""
        first = self.entries[0].seq if self.entries else 0
        return islice(tuple(self.entries), max(seq + 1 - first, 0), None)


def _seconds(retry_after: str) -> float:
    return float(retry_after) if retry_after.isdecimal() else 0.0
