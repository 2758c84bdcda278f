"""The API protocol: what the rest of the package asks of an API server, whoever carries it.

`shards.transport.kube.KubeTransport` speaks HTTP; the embedded server offers the same in process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import msgspec

from shards.errors import ApiError, api_error
from shards.objects import Meta, Object, Resource

JSON = "application/json"
PARTIAL = f"{JSON};as=PartialObjectMetadata;v=v1;g=meta.k8s.io,{JSON}"
PARTIAL_LIST = f"{JSON};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,{JSON}"
"""What to accept where metadata is all that is wanted: of watches, and of lists. A server that cannot leave the rest
out sends whole objects."""

MERGE_PATCH = "application/merge-patch+json"

Query = Sequence[tuple[str, str]]


class Transport(Protocol):
    """Carries one request. Implementations are safe for concurrent use on one event loop."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: bytes | None = None,
        content_type: str = JSON,
        user_agent: str = "",
        accept: str = JSON,
        timeout_seconds: float = 30.0,
        not_after: float | None = None,
    ) -> bytes:
        """The body of a 2xx answer. accept: media types, of which the server may ignore all but their JSON.

        not_after: a reading of the boot clock; checked with the connection in hand, right before the request is sent
        (design 3.3 R2). Raises NotOwner when it has passed (nothing was sent), ApiError for any other answer,
        Unreachable when none came in time.
        """
        ...

    def stream(
        self, path: str, *, query: Query = (), user_agent: str = "", accept: str = JSON, idle_seconds: float = 75.0
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Chunks of a 2xx answer as they come, cut anywhere.

        Raises ApiError, or Unreachable; the latter also when the server is silent for idle_seconds.
        """
        ...

    async def close(self) -> None: ...


class _StatusCause(msgspec.Struct):
    reason: str = ""


class _StatusDetails(msgspec.Struct, rename="camel"):
    causes: list[_StatusCause] | None = None
    retry_after_seconds: float | None = None


class _Status(msgspec.Struct):
    code: int = 0
    reason: str = ""
    message: str = ""
    details: _StatusDetails | None = None


def error_from(status: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """The error for a failure answer. body: a Status object where the server sent one, else free text."""
    try:
        parsed = msgspec.json.decode(body, type=_Status)
    except (msgspec.DecodeError, RecursionError):
        parsed = _Status(message=body[:500].decode(errors="replace").strip())
    details = parsed.details or _StatusDetails()
    cause = details.causes[0].reason if details.causes else ""
    seconds = details.retry_after_seconds
    if seconds is None and retry_after and retry_after.isascii() and retry_after.isdigit():
        seconds = float(retry_after)
    return api_error(status, parsed.reason, parsed.message, cause=cause, retry_after_seconds=seconds)


class Envelope(msgspec.Struct, rename="camel"):
    """Just enough of an object to know which one it is."""

    metadata: Meta
    kind: str = ""
    api_version: str = ""


class Client:
    """Verbs over a transport, for decoded objects. Reads are quorum reads unless a query says otherwise.

    This is the unfenced client: coordination and tools use it; reconciles get `shards.ownership.fenced.FencedClient`.
    """

    def __init__(self, transport: Transport, *, user_agent: str = "", timeout_seconds: float = 30.0) -> None:
        self.transport = transport
        self.user_agent = user_agent
        self.timeout_seconds = timeout_seconds

    async def get(self, resource: Resource, namespace: str, name: str, subresource: str = "") -> Object:
        """Raises NotFound."""
        return await self._object("GET", resource.path(namespace, name, subresource))

    async def list(self, resource: Resource, namespace: str = "", *, query: Query = ()) -> Object:
        """One page: the decoded list object."""
        return await self._object("GET", resource.path(namespace), query=query)

    async def create(self, resource: Resource, namespace: str, body: Object, *, query: Query = ()) -> Object:
        """Raises AlreadyExists, Invalid."""
        return await self._object("POST", resource.path(namespace), body=body, query=query)

    async def update(
        self, resource: Resource, namespace: str, name: str, body: Object, subresource: str = ""
    ) -> Object:
        """PUT. A resourceVersion in the body makes it a compare-and-swap: raises Conflict."""
        return await self._object("PUT", resource.path(namespace, name, subresource), body=body)

    async def merge_patch(
        self, resource: Resource, namespace: str, name: str, patch: Mapping[str, Any], subresource: str = ""
    ) -> Object:
        """RFC 7386. metadata.resourceVersion and metadata.uid in the patch are preconditions: raises Conflict."""
        return await self._object(
            "PATCH", resource.path(namespace, name, subresource), body=patch, content_type=MERGE_PATCH
        )

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "Background",
    ) -> Object:
        """Preconditions where given: raises Conflict. Raises NotFound. Returns the object or a Status."""
        wanted = {"uid": uid, "resourceVersion": resource_version}
        preconditions = {field: value for field, value in wanted.items() if value}
        body = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": propagation,
            "preconditions": preconditions,
        }
        return await self._object("DELETE", resource.path(namespace, name), body=body)

    async def _object(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: Mapping[str, Any] | None = None,
        content_type: str = JSON,
    ) -> Object:
        answer = await self.transport.request(
            method,
            path,
            query=query,
            body=None if body is None else msgspec.json.encode(body),
            content_type=content_type,
            user_agent=self.user_agent,
            timeout_seconds=self.timeout_seconds,
        )
        decoded: Object = msgspec.json.decode(answer)
        return decoded
