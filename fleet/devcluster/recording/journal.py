"""The record of requests, in commit order: what the judge reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum

import msgspec

from shards.objects import Object

READS = ("get", "list", "watch")
WRITES = ("create", "update", "patch", "delete", "deletecollection")

EVENT = "event"
"""Verb of a line that tells what a client was given: an event of a watch, or a list (type LIST)."""

FAULT, FAULT_END, LOST, LATE, REFUSED, TRUNCATED, HIDDEN = (
    "fault", "fault-end", "lost", "late", "refused", "truncated", "hidden",
)  # fmt: skip
"""Verbs of lines that tell what an injector did: put a fault in force and ended it; lost an answer; carried a request
out after its sender gave up; answered in the server's place; cut a list or watch short; held back or dropped an event.
"""

GAP = "gap"
"""Verb of a line that stands for itself and all before it that are not there: they could not be written."""

RESTORED = "restored"
"""Verb of a line that says that the server went back to an older state here: versions, epochs and objects of before may
come again."""

FAULTS = (FAULT, FAULT_END, LOST, LATE, REFUSED, TRUNCATED, HIDDEN)


class Level(IntEnum):
    """How much is kept. Each level holds what the ones before it hold.

    REQUESTS: one line a request, with the options of reads and the preconditions of a fleet's writes.
    DELIVERIES: a line for every watch event as the client got it, and what each list showed.
    BODIES: bodies of writes, and digests of bodies and answers.
    """

    REQUESTS = 0
    DELIVERIES = 1
    BODIES = 2


class Sent(msgspec.Struct, gc=False, omit_defaults=True, frozen=True):
    """What a request asked for.

    uid, version: preconditions of a write, from the body's metadata or a delete's options. resource_version to
    initial_events: options of a read; `continues`: it asked for a later page; `watch`: it is a watch. digest, body: at
    level BODIES.
    """

    uid: str = ""
    version: str = ""
    resource_version: str | None = None
    match: str = ""
    limit: int = 0
    continues: bool = False
    watch: bool = False
    labels: str = ""
    fields: str = ""
    shards: str = ""
    initial_events: bool = False
    digest: str = ""
    body: str = ""


class Shown(msgspec.Struct, gc=False, omit_defaults=True, frozen=True):
    """What an answer or an event showed.

    type: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR of an event, LIST. version: of the list, or of the event's object.
    complete: False for a page that others follow, and for a list that cannot be read. objects: versions by UID, of a
    list. digest: of the answer.
    retry_after_seconds: of a refusal.
    """

    type: str = ""
    version: str = ""
    complete: bool = True
    objects: dict[str, str] | None = None
    digest: str = ""
    retry_after_seconds: float = 0.0


class Entry(msgspec.Struct, gc=False, omit_defaults=True):
    """One request, one object of a request that removed several, one delivered event, or one act of an injector.

    verb: get, list, watch, create, update, patch, delete, deletecollection; EVENT; GAP; one of FAULTS.
    resource: str(Resource).
    seq: position in commit order, from 1. time: seconds on the recorder's clock. status: HTTP status.
    uid, resource_version: of the object after the request; of the removed object where `removed`.
    owner_uid: the UID of the object's controller, on creates. removed: the object is gone from storage.
    content: digest of `status`, on status writes. object: JSON of the answer, for Leases and ConfigMaps named *-map.
    sent, shown: what was asked and answered beyond that; None where nothing is to be told. note: of FAULTS, which one.
    """

    seq: int
    time: float
    verb: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    uid: str = ""
    status: int = 0
    user_agent: str = ""
    resource_version: str = ""
    owner_uid: str = ""
    removed: bool = False
    content: str = ""
    object: str | None = None
    sent: Sent | None = None
    shown: Shown | None = None
    note: str = ""

    @property
    def succeeded(self) -> bool:
        return 200 <= self.status < 300

    @property
    def write(self) -> bool:
        return self.verb in WRITES

    def decoded(self) -> Object | None:
        """The object of the answer, where the journal kept it."""
        return None if self.object is None else msgspec.json.decode(self.object)


def encode_lines(entries: Iterable[Entry]) -> bytes:
    """JSON lines."""
    return msgspec.json.Encoder().encode_lines(entries)


def decode_lines(data: bytes | str) -> Iterator[Entry]:
    """The inverse of encode_lines. Raises msgspec.DecodeError."""
    decoder = msgspec.json.Decoder(Entry)
    for line in data.splitlines():
        if line:
            yield decoder.decode(line)
