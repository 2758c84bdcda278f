"""The audit log of a real API server as a journal, in the order in which the writes were committed.

Every answer to a create, update or patch carries the object's new resource version, and with one etcd those versions
are one counter for all resources: they give the exact order. Four kinds of requests have no version of their own:
gets, deletions that are answered with a Status, failures, and writes that changed nothing (they return the version that
was there). Each of these is put behind every write that was finished when it was finished, and a deletion behind every
write of the same object as well. That order is wrong at most among requests that overlapped in time.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import accumulate
from pathlib import Path

import msgspec

from fleet.devcluster.recording.asked import FLEET, preconditions
from fleet.devcluster.recording.journal import Entry, Sent
from shards.objects import Meta, Resource

SUCCESS = range(200, 300)
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
REMOVALS = frozenset({"delete", "deletecollection"})


class _Reference(msgspec.Struct, rename="camel"):
    resource: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_group: str = ""
    api_version: str = ""
    subresource: str = ""


class _Code(msgspec.Struct):
    code: int = 0


class _Event(msgspec.Struct, rename="camel"):
    """What is needed of audit.k8s.io/v1 Event."""

    stage: str
    verb: str
    stage_timestamp: str
    request_uri: str = msgspec.field(name="requestURI", default="")
    user_agent: str = ""
    object_ref: _Reference | None = None
    response_status: _Code | None = None
    request_object: msgspec.Raw = msgspec.Raw()
    response_object: msgspec.Raw = msgspec.Raw()


class _Details(msgspec.Struct):
    uid: str = ""


class _Metadata(Meta, frozen=True, rename="camel"):
    finalizers: tuple[str, ...] = ()


class _Answer(msgspec.Struct):
    """An object, a list of what a deletecollection found, or a Status about an object."""

    metadata: _Metadata = _Metadata()
    kind: str = ""
    details: _Details | None = None
    status: msgspec.Raw = msgspec.Raw()
    items: list[msgspec.Raw] | None = None


class _Write(msgspec.Struct):
    """One finished write of one object.

    finished: seconds since the epoch. version: of the object in the answer, 0 when there is none.
    """

    event: _Event
    reference: _Reference
    answer: _Answer
    raw: bytes
    status: int
    finished: float

    @property
    def succeeded(self) -> bool:
        return self.status in SUCCESS

    @property
    def uid(self) -> str:
        details = self.answer.details
        return self.answer.metadata.uid or (details.uid if details else "") or self.reference.uid

    @property
    def version(self) -> int:
        text = self.answer.metadata.resource_version
        return int(text) if text and self.succeeded and self.event.verb not in ("deletecollection", "get") else 0

    @property
    def removed(self) -> bool:
        """Whether the object is gone: deleted at once, or by the loss of its last finalizer."""
        if not self.succeeded:
            return False
        if self.event.verb in REMOVALS and self.answer.kind == "Status":
            return True
        if self.event.verb == "get":
            return False
        meta = self.answer.metadata
        doomed = self.event.verb == "deletecollection" or meta.deletion_timestamp is not None
        return doomed and bool(meta.name) and not meta.finalizers


def read(path: Path) -> list[Entry]:
    """Every write in the log, dry runs left out, and every get by a fleet, in commit order.

    The server writes the line of a request before it sends the end of the answer: what was answered is in the log.
    A line that is still being written is left out. Raises msgspec.DecodeError for a file that is no audit log.
    """
    with path.open("rb") as lines:
        return journal(line for line in lines if line.endswith(b"\n"))


def journal(lines: Iterable[bytes]) -> list[Entry]:
    """Lines of an audit log, in any order, as entries in commit order; their `seq` counts from 1.

    Their times never go back: each was finished by then, or had been committed, because something later was finished.
    """
    writes = sorted(_writes(lines), key=lambda write: write.finished)
    versions = _highest_versions(writes)
    committed = _committed(writes, versions)
    # One that was committed early and answered late would hold up what was answered before it, and what workers say of
    # the time in between would be judged without that.
    times = list(accumulate((write.finished for write in reversed(committed)), min))[::-1]
    return [
        _entry(seq, time, write, versions)
        for seq, (time, write) in enumerate(zip(times, committed, strict=True), start=1)
    ]


def _writes(lines: Iterable[bytes]) -> Iterator[_Write]:
    decoder = msgspec.json.Decoder(_Event)
    answers = msgspec.json.Decoder(_Answer)
    for line in lines:
        event = decoder.decode(line)
        if event.stage != "ResponseComplete" or "dryRun=" in event.request_uri:
            continue
        if event.verb not in WRITES and not (event.verb == "get" and event.user_agent.startswith(FLEET)):
            continue
        whole = bytes(event.response_object)
        answer = answers.decode(whole) if whole else _Answer()
        status = event.response_status.code if event.response_status else 0
        finished = datetime.fromisoformat(event.stage_timestamp).timestamp()
        reference = event.object_ref or _Reference()
        if answer.items:
            for item in answer.items:
                yield _Write(event, reference, answers.decode(item), bytes(item), status, finished)
        else:
            yield _Write(event, reference, answer, whole, status, finished)


def _highest_versions(writes: Iterable[_Write]) -> dict[str, int]:
    """By UID."""
    found: dict[str, int] = {}
    for write in writes:
        if write.version:
            found[write.uid] = max(found.get(write.uid, 0), write.version)
    return found


def _committed(writes: list[_Write], versions: dict[str, int]) -> list[_Write]:
    """writes: by the time at which they were finished. versions: the highest of each object."""
    authors: dict[int, _Write] = {}  # who made a version: the first to return it
    for write in writes:
        if write.version:
            authors.setdefault(write.version, write)
    times = [write.finished for write in authors.values()]
    reached = list(accumulate((write.version for write in authors.values()), max))

    def position(write: _Write) -> tuple[int, int, float]:
        if authors.get(write.version) is write:
            return write.version, 0, write.finished
        known = bisect_right(times, write.finished)
        behind = reached[known - 1] if known else 0
        if write.removed:
            behind = max(behind, versions.get(write.uid, 0))
        return behind, 1, write.finished

    return sorted(writes, key=position)


def _entry(seq: int, time: float, write: _Write, versions: dict[str, int]) -> Entry:
    reference, meta = write.reference, write.answer.metadata
    resource = Resource(reference.api_group, reference.api_version, reference.resource)
    name = reference.name or meta.name
    created = write.succeeded and write.event.verb == "create"
    version = meta.resource_version or (str(versions.get(write.uid, "")) if write.removed else "")
    kept = write.succeeded and (
        resource.plural == "leases" or (resource.plural == "configmaps" and name.endswith("-map"))
    )
    has_status = write.succeeded and reference.subresource == "status"
    return Entry(
        seq=seq,
        time=time,
        verb=write.event.verb,
        resource=str(resource),
        namespace=reference.namespace,
        name=name,
        subresource=reference.subresource,
        uid=write.uid,
        status=write.status,
        user_agent=write.event.user_agent,
        resource_version=version if write.succeeded else "",
        owner_uid=meta.controller.uid if created and meta.controller else "",
        removed=write.removed,
        content=hashlib.sha256(write.answer.status).hexdigest()[:32] if has_status else "",
        object=write.raw.decode() if kept and not write.removed else None,
        sent=_sent(write.event),
    )


def _sent(event: _Event) -> Sent | None:
    """The preconditions of a fleet's write."""
    if event.verb in ("create", "get") or not event.user_agent.startswith(FLEET):
        return None
    uid, version = preconditions(event.verb, bytes(event.request_object))
    return Sent(uid=uid, version=version)
