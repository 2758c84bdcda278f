"""What a request gets back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.wire.statuses import StatusError
from shards.objects import Meta

JSON = "application/json"


class ConnectionLost(Exception):
    """The connection to the client breaks here. Doors abort it; what was not sent is lost."""


class Interrupted(Exception):
    """A `read` that was called off by `interrupt`; nothing is lost, the next read goes on."""


class EventStream(Protocol):
    """The lines of one watch, or the pieces of one body, on their way to a client."""

    async def read(self) -> bytes:
        """Some bytes, whole lines unless a fault cuts them; b"" at the end. Raises Interrupted, ConnectionLost."""

    def interrupt(self) -> None:
        """Makes a read that waits now raise Interrupted."""

    def close(self) -> None:
        """Ends the stream after what is ready; idempotent."""


class Answer(msgspec.Struct):
    """body: complete unless `stream` is set; then lines come from the stream until it ends.

    headers: further ones of the response. warnings: sentences; a door sends each as a Warning header of its own.
    """

    status: int
    body: bytes = b""
    content_type: str = JSON
    retry_after: str = ""
    stream: EventStream | None = None
    headers: dict[str, str] = {}
    warnings: Sequence[str] = ()

    @classmethod
    def failed(cls, error: StatusError) -> Answer:
        content_type = "text/plain; charset=utf-8" if error.text else JSON
        return cls(error.code, error.body(), content_type, error.retry_after)

    @classmethod
    def deleted(cls, kind: ResourceType, meta: Meta) -> Answer:
        """Of a delete whose object is gone, where the resource does not return the object. meta: of the object."""
        details = {"name": meta.name, "kind": kind.resource.plural, "uid": meta.uid}
        if kind.resource.group:
            details["group"] = kind.resource.group
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return cls(200, msgspec.json.encode(status))
