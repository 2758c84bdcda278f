"""What one reconcile knows better than the store: see `shards.ownership.view`."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from shards.objects import Object


class Live:
    """Newer than the store at the time.

    raw: JSON of the object; None: it is not there. version: of the object, "" where none is known. hidden: the store's
    filter does not pass it, so that its absence there proves nothing.
    """

    __slots__ = ("hidden", "raw", "uid", "version")

    def __init__(self, object: Object | None, version: str, hidden: bool = False, *, raw: bytes | None = None) -> None:
        """raw: the object's JSON where the caller has it. What happens to the object later changes nothing here."""
        self.raw = msgspec.json.encode(object) if raw is None and object is not None else raw
        self.uid: str = "" if object is None else object["metadata"]["uid"]
        self.version = version
        self.hidden = hidden

    @property
    def object(self) -> Object | None:
        """A copy of its own for every caller."""
        if self.raw is None:
            return None
        decoded: Object = msgspec.json.decode(self.raw)
        return decoded


class Snapshot(NamedTuple):
    """Identity of an object that a decision was made on: the preconditions of the write that follows."""

    uid: str
    resource_version: str

    @classmethod
    def of(cls, body: Object) -> Snapshot:
        metadata = body["metadata"]
        return cls(metadata["uid"], metadata["resourceVersion"])
