"""One version of one object as it is stored, and one change from a version to the next. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from fleet.devcluster.kinds.resources import ResourceType
from shards.objects import Meta, Object


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
    """Stores `version` in the body and encodes it. The body begins with kind and apiVersion: see ResourceType.head.

    Fields of custom resources are sorted, as Go writes maps: clients that keep a digest of the text see the same.
    Version 0 belongs to an object that is only tried, and is left out.
    """
    metadata = body["metadata"]
    if version:
        metadata["resourceVersion"] = str(version)
    else:
        metadata.pop("resourceVersion", None)
    ordered: dict[str, Any] = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
    ordered.update(body)
    ordered["kind"], ordered["apiVersion"] = kind.kind, kind.api_version
    meta = msgspec.convert(metadata, Meta)
    raw = msgspec.json.encode(ordered, order="sorted" if kind.custom else None)
    return Stored(object_key(meta.namespace, meta.name), version, raw, meta)


def at_version(kind: ResourceType, stored: Stored, version: int) -> Stored:
    """The same content under another version."""
    mark = b'"resourceVersion":"%d"' % stored.version
    if stored.raw.count(mark) != 1:
        return encode(kind, stored.decode(), version)
    raw = stored.raw.replace(mark, b'"resourceVersion":"%d"' % version)
    return Stored(stored.key, version, raw, msgspec.structs.replace(stored.meta, resource_version=str(version)))


def event_line(kind: str, raw: bytes) -> bytes:
    """One line of a watch stream."""
    return b'{"type":"' + kind.encode() + b'","object":' + raw + b"}\n"


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
    def key(self) -> str:
        """Of the object that changed."""
        stored = self.new or self.old
        return stored.key if stored is not None else ""

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
        return at_version(self.kind, self.old, self.version)
