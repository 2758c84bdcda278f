"""Children that were made before children carried slot labels, or whose label somebody changed, get theirs.

Every write carries the UID and the resourceVersion at which the child was seen to be one, so that nothing is written to
an object that is not, or not any more, a child of the fleet's primaries. Each look begins from what is there: an
adoption that ended half-way goes on where it was.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from shards.api.client import MERGE_PATCH, PARTIAL, Query, Transport
from shards.clock import Clock
from shards.errors import ApiError, Conflict, Expired, NotFound, TooManyRequests, Unauthorized
from shards.filtering.metadata_pages import TIMEOUT_SECONDS, MetadataPages, called
from shards.keyrange import slot_of
from shards.limits.breaker import TokenBucket
from shards.objects import SLOT_LABEL, Meta, OwnerReference, Resource
from shards.watching.source import Source

log = logging.getLogger(__name__)

MOST_REFUSED = 10
"""Writes in a row that the server refuses before there is no use in more: then it is a permission that is missing, and
not an admission webhook that minds one object."""


@dataclass(slots=True)
class Count:
    """Of one resource. children: of the fleet's primaries. missing, wrong: of those, without the label, or with that of
    another owner. adopted: of those, by now."""

    resource: Resource
    children: int = 0
    missing: int = 0
    wrong: int = 0
    adopted: int = 0

    @property
    def left(self) -> int:
        return self.missing + self.wrong


@dataclass
class Adoption:
    """sources: views of the whole key space, of primaries and of their children.

    rate: writes per second. told: called after each write.
    """

    transport: Transport
    sources: Sequence[Source]
    clock: Clock
    rate: float = 10.0
    user_agent: str = ""
    told: Callable[[Count], None] = lambda _: None
    counts: dict[Resource, Count] = field(default_factory=dict)
    """As of the last look."""

    async def look(self) -> list[Count]:
        """How many children lack their label. Writes nothing. Raises ApiError, Unreachable."""
        async for _ in self._astray():
            pass
        return list(self.counts.values())

    async def adopt(self) -> list[Count]:
        """Gives all of them their label; what is left could not be written, or came meanwhile.

        Raises as `look`. Where the server refuses some of them, the refusal of the first one, after all others.
        """
        refused: dict[str, ApiError] = {}
        in_a_row = 0
        bucket = TokenBucket(self.rate, 1.0, self.clock())
        adopted: dict[Resource, int] = {}
        before: dict[Resource, int] | None = None
        while adopted != before:  # what changed between a look and its write is met again in the next one
            before = dict(adopted)
            with suppress(Expired):  # of a page's token, where writes are slow
                async for resource, child in self._astray():
                    if child.uid in refused:
                        continue
                    await asyncio.sleep(bucket.reserve(self.clock(), float("inf")) or 0.0)
                    try:
                        written = await self._write(resource, child)
                    except ApiError as error:
                        in_a_row += 1
                        if not _of_one_object(error) or in_a_row == MOST_REFUSED:
                            raise
                        refused[child.uid] = error
                        log.warning("%s %s gets no label: %s", resource, called(child), error)
                        continue
                    in_a_row = 0
                    if written:
                        adopted[resource] = adopted.get(resource, 0) + 1
                        self.counts[resource].adopted = adopted[resource]
                        self.told(self.counts[resource])
        await self.look()
        for resource, count in self.counts.items():
            count.adopted = adopted.get(resource, 0)
        if refused:
            raise next(iter(refused.values()))
        return list(self.counts.values())

    async def _astray(self) -> AsyncIterator[tuple[Resource, Meta]]:
        """Children whose label is missing or wrong. Counts anew."""
        self.counts = {source.resource: Count(source.resource) for source in self.sources if source.role == "owned"}
        owners = await self._owners()
        seen: set[tuple[Resource, str]] = set()
        for source in self.sources:
            for namespace in (source.scope.namespaces or ("",)) if source.role == "owned" else ():
                if (source.resource, namespace) in seen:
                    continue
                seen.add((source.resource, namespace))
                async for page in self._asking.pages(source.resource, namespace):
                    for meta in page:
                        owner = meta.controller
                        if owner is not None and owner.uid in owners and self._counted(source.resource, meta, owner):
                            yield source.resource, meta

    def _counted(self, resource: Resource, meta: Meta, owner: OwnerReference) -> bool:
        count, label = self.counts[resource], (meta.labels or {}).get(SLOT_LABEL)
        count.children += 1
        if label == slot_of(owner.uid):
            return False
        if label is None:
            count.missing += 1
        else:
            count.wrong += 1
        return True

    async def _owners(self) -> set[str]:
        """UIDs of the fleet's primaries: other fleets' children are none of its business."""
        found: set[str] = set()
        for source in self.sources:
            if source.role != "primary":
                continue
            scope = source.scope
            selected = (("labelSelector", scope.label_selector), ("fieldSelector", scope.field_selector))
            query: Query = tuple((name, value) for name, value in selected if value)
            for namespace in scope.namespaces or ("",):
                async for page in self._asking.pages(source.resource, namespace, query):
                    found.update(meta.uid for meta in page)
        return found

    async def _write(self, resource: Resource, child: Meta) -> bool:
        """False where it has changed or gone since it was seen."""
        owner = child.controller
        assert owner is not None, "a child has a controller"
        body = _Patch(_Wanted(child.uid, child.resource_version, {SLOT_LABEL: slot_of(owner.uid)}))
        try:
            await self.transport.request(
                "PATCH",
                resource.path(child.namespace, child.name),
                body=msgspec.json.encode(body),
                content_type=MERGE_PATCH,
                user_agent=self.user_agent,
                accept=PARTIAL,
                timeout_seconds=TIMEOUT_SECONDS,
            )
        except (Conflict, NotFound):
            return False
        return True

    @property
    def _asking(self) -> MetadataPages:
        return MetadataPages(self.transport, self.user_agent)


def _of_one_object(error: ApiError) -> bool:
    """Whether the next object may fare better: one that a webhook or the schema minds; webhooks that fail are a 500."""
    return error.status <= 500 and not isinstance(error, Unauthorized | TooManyRequests)


class _Wanted(msgspec.Struct, rename="camel"):
    uid: str
    resource_version: str
    labels: dict[str, str]


class _Patch(msgspec.Struct):
    metadata: _Wanted
