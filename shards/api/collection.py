"""A collection of the API server as an informer asks for it: path, Accept header, who asks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

from shards.api.client import JSON, PARTIAL, PARTIAL_LIST, Query, Transport
from shards.api.unserved import unserved
from shards.errors import NotFound
from shards.objects import Resource

LIST_TIMEOUT_SECONDS = 60.0
"""For one page. The API server gives up on its own after 60 s."""


class Collection:
    """namespace: "" for all. metadata_only: what is asked for; a server may send whole objects all the same."""

    __slots__ = ("_metadata_only", "_path", "_resource", "_transport", "_user_agent")

    def __init__(
        self, transport: Transport, resource: Resource, namespace: str, user_agent: str, *, metadata_only: bool
    ) -> None:
        self._transport = transport
        self._resource = resource
        self._path = resource.path(namespace)
        self._user_agent = user_agent
        self._metadata_only = metadata_only

    async def get(self, query: Query) -> bytes:
        """One page of a list. Raises ApiError and Unreachable."""
        return await self._transport.request(
            "GET",
            self._path,
            query=query,
            user_agent=self._user_agent,
            accept=PARTIAL_LIST if self._metadata_only else JSON,
            timeout_seconds=LIST_TIMEOUT_SECONDS,
        )

    def stream(self, query: Query) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The chunks of a watch. Raises as `get`."""
        accept = PARTIAL if self._metadata_only else JSON
        return self._transport.stream(self._path, query=query, user_agent=self._user_agent, accept=accept)

    async def missing(self) -> NotFound:
        """What to say of it after a 404."""
        return await unserved(self._transport, self._resource, self._user_agent)
