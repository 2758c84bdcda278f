"""Lists of metadata alone, page by page: for whoever looks at many objects, or at a few, and keeps none."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import NamedTuple

import msgspec

from shards.api.client import PARTIAL_LIST, Query, Transport
from shards.objects import Meta, Resource

PAGE_OBJECTS = 500
TIMEOUT_SECONDS = 15.0


class _Item(msgspec.Struct):
    metadata: Meta = msgspec.field(default_factory=Meta)


class _ListMeta(msgspec.Struct):
    next: str = msgspec.field(default="", name="continue")


class _Items(msgspec.Struct):
    items: list[_Item] | None = None
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


class MetadataPages(NamedTuple):
    """Raises ApiError and Unreachable, as requests do."""

    transport: Transport
    user_agent: str = ""

    async def all(self, resource: Resource, namespace: str = "", query: Query = ()) -> list[Meta]:
        """Of one answer; more than a page only where the query says so."""
        return (await self._ask(resource, namespace, query))[0]

    async def pages(
        self, resource: Resource, namespace: str = "", query: Query = ()
    ) -> AsyncGenerator[list[Meta], None]:
        """All of a collection, of one namespace or of all."""
        limited: Query = (*query, ("limit", str(PAGE_OBJECTS)))
        after = ""
        while True:
            found, after = await self._ask(resource, namespace, (*limited, *((("continue", after),) if after else ())))
            yield found
            if not after:
                return

    async def _ask(self, resource: Resource, namespace: str, query: Query) -> tuple[list[Meta], str]:
        body = await self.transport.request(
            "GET",
            resource.path(namespace),
            query=query,
            user_agent=self.user_agent,
            accept=PARTIAL_LIST,
            timeout_seconds=TIMEOUT_SECONDS,
        )
        page = msgspec.json.decode(body, type=_Items)
        return [item.metadata for item in page.items or ()], page.metadata.next


def called(meta: Meta) -> str:
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
