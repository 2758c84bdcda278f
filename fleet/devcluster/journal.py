"""The record of requests, in commit order: what the judge reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from shards.objects import Object


class Entry(msgspec.Struct, gc=False, omit_defaults=True):
    """One request, or one object of a request that removed several.

    verb: get, list, watch, create, update, patch, delete, deletecollection. resource: str(Resource).
    seq: position in commit order, from 1. time: seconds on the recorder's clock. status: HTTP status.
    uid, resource_version: of the object after the request; of the removed object where `removed`.
    owner_uid: the UID of the object's controller, on creates. removed: the object is gone from storage.
    content: digest of `status`, on status writes. object: JSON of the answer, for Leases and ConfigMaps named *-map.
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

    @property
    def succeeded(self) -> bool:
        return 200 <= self.status < 300

    @property
    def write(self) -> bool:
        return self.verb not in ("get", "list", "watch")

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
