"""The wire form of lists and watches: lines out of chunks, pages and events out of JSON.

Only metadata is decoded; an object's body stays the bytes that came.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec

from shards.api.client import error_from
from shards.errors import ApiError, ShardError
from shards.objects import Meta
from shards.versions import comparable as is_comparable

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Longest event. etcd refuses objects above 1.5 MiB by default; this leaves room for the largest configured limits."""


class MalformedStream(ShardError):
    """The answer is not what the API promises: cut JSON, an event too long, a version that cannot be compared."""


INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""Annotation of the bookmark that ends the initial events of a watch."""


class EventType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


class LineSplitter:
    """Whole lines out of chunks that are cut anywhere, also within a character. limit: bytes of the longest line."""

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._held = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, without their ends. Raises MalformedStream for too long a line."""
        end = chunk.rfind(b"\n")
        if end < 0:
            self._hold(chunk)
            return []
        whole = b"".join((*self._parts, chunk[:end])) if self._parts else chunk[:end]
        self._parts.clear()
        self._held = 0
        if end + 1 < len(chunk):
            self._hold(chunk[end + 1 :])
        return [line for line in whole.split(b"\n") if line and not line.isspace()]

    def _hold(self, chunk: bytes) -> None:
        self._held += len(chunk)
        if self._held > self._limit:
            raise MalformedStream(f"an event is longer than {self._limit} bytes")
        self._parts.append(chunk)


class Item(NamedTuple):
    """One object. raw: its JSON, possibly a slice of the whole answer: copy it to keep it."""

    meta: Meta
    raw: msgspec.Raw | bytes


class Page(NamedTuple):
    """One page of a list. items: undecoded, `decode_item` one by one. next: continue token, "" on the last page.

    size: bytes of the whole answer.
    """

    items: list[msgspec.Raw]
    prefix: bytes
    version: str
    next: str
    size: int = 0


class Event(NamedTuple):
    """One event of a watch. For a bookmark, meta holds the version only. error: for ERROR, what the server says.

    ends_initial: a bookmark that ends the initial events.
    """

    type: EventType
    meta: Meta
    raw: msgspec.Raw
    error: ApiError | None = None
    ends_initial: bool = False


class _ListMeta(msgspec.Struct, rename="camel", gc=False):
    resource_version: str = ""
    continue_: str | None = msgspec.field(name="continue", default=None)


class _List(msgspec.Struct, rename="camel"):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None
    kind: str = ""
    api_version: str = ""


class _Object(msgspec.Struct, gc=False):
    metadata: Meta
    kind: str | None = None


class _BookmarkMeta(msgspec.Struct, rename="camel", gc=False):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Bookmark(msgspec.Struct, gc=False):
    metadata: _BookmarkMeta


class _Code(msgspec.Struct):
    code: int = 0


class _Envelope(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


_decode_list = msgspec.json.Decoder(_List).decode
_decode_object = msgspec.json.Decoder(_Object).decode
_decode_bookmark = msgspec.json.Decoder(_Bookmark).decode
_decode_code = msgspec.json.Decoder(_Code).decode
_decode_envelope = msgspec.json.Decoder(_Envelope).decode


def decode_page(body: bytes) -> Page:
    """Raises MalformedStream."""
    try:
        found = _decode_list(body)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise MalformedStream(f"not a list: {error}") from error
    # Items of built-in kinds come without kind and apiVersion in lists, and with them in watches.
    kind = found.kind.removesuffix("List")
    prefix = msgspec.json.encode({"kind": kind, "apiVersion": found.api_version})[:-1] + b","
    listed = found.metadata
    return Page(found.items or [], prefix if kind else b"", listed.resource_version, listed.continue_ or "", len(body))


def decode_item(raw: msgspec.Raw, prefix: bytes) -> Item:
    """Metadata of one object of a page. The item's JSON gets kind and apiVersion where the server left them out.

    Raises MalformedStream.
    """
    try:
        found = _decode_object(raw)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise MalformedStream(f"not an object: {error}") from error
    _identified(found.metadata)
    if found.kind or not prefix:
        return Item(found.metadata, raw)
    return Item(found.metadata, prefix + bytes(raw).lstrip()[1:])


def decode_event(line: bytes) -> Event:
    """Raises MalformedStream. A failure that the server reports is an Event with `error`, not an exception."""
    try:
        envelope = _decode_envelope(line)
        raw = envelope.object
        kind = EventType(envelope.type)
        if kind is EventType.ERROR:
            return Event(kind, Meta(), raw, error_from(_decode_code(raw).code, bytes(raw)))
        if kind is EventType.BOOKMARK:
            return _bookmark(raw)
        meta = _decode_object(raw).metadata
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise MalformedStream(f"not an event: {error}") from error
    _identified(meta)
    return Event(kind, meta, raw)


def _bookmark(raw: msgspec.Raw) -> Event:
    found = _decode_bookmark(raw).metadata
    version = comparable(found.resource_version)
    ends = (found.annotations or {}).get(INITIAL_EVENTS_END) == "true"
    return Event(EventType.BOOKMARK, Meta(resource_version=version), raw, ends_initial=ends)


def _identified(meta: Meta) -> None:
    """Raises MalformedStream for an object that a view cannot tell from another: some aggregated APIs have no UIDs."""
    comparable(meta.resource_version)
    if not meta.uid:
        raise MalformedStream(f"object {meta.name!r} has no UID")


def comparable(version: str) -> str:
    """The version itself.

    Raises MalformedStream for what KEP-5504 does not allow: a view at such a version could never open a gate.
    """
    if not is_comparable(version):
        raise MalformedStream(
            f"resource version {version!r} cannot be compared with others, so no view of this resource is kept: "
            "read its objects with ctx.live instead"
        )
    return version
