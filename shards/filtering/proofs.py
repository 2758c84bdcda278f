"""What is asked of an API server to learn whether a filter holds: few requests, for metadata alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import NamedTuple

from shards.api.client import Transport
from shards.filtering.metadata_pages import PAGE_OBJECTS, MetadataPages, called
from shards.keyrange import SPACE, KeyRange, PartitionKey, fnv1a64
from shards.objects import SLOT_LABEL, Resource
from shards.watching.source import Source

ASKS = 3
"""Of one question, at a time: over connections of their own, which a load balancer may lead to other servers."""

MOST_PAGES = 20
"""Of objects without a slot label that are looked through for children. More, and only whoever runs the fleet knows."""

_HALVES = (KeyRange(0, SPACE // 2 - 1), KeyRange(SPACE // 2, SPACE - 1))


class Answer(NamedTuple):
    """holds: None where nothing could be learnt. why: a clause."""

    holds: bool | None
    why: str


async def selector_proof(
    transport: Transport, resource: Resource, *, namespace: str = "", user_agent: str = ""
) -> Answer:
    """Whether the server filters this collection, of one namespace or of all, by `shardSelector`, whatever the key.

    Takes one object, and asks for it by name within the half of the key space that does not hold it. No object in the
    answer is proof only if that one is still there afterwards. Neither `shardInfo` (missing for custom resources) nor
    OpenAPI (published with the gate off) can tell, and a search for nothing in a large collection costs the server a
    look at each of its objects; one by name costs nothing. Raises ApiError and Unreachable, as requests do.
    """
    asking = MetadataPages(transport, user_agent)
    found = await asking.all(resource, namespace, (("limit", "1"),))
    if not found:
        return Answer(None, f"{_place(resource, namespace)} is empty")
    sample = found[0]
    named = (("fieldSelector", f"metadata.name={sample.name}"),)
    other_half = next(half for half in _HALVES if fnv1a64(sample.uid) not in half)
    selected = (*named, ("shardSelector", other_half.selector(PartitionKey.UID)))
    answers = await asyncio.gather(*(asking.all(resource, sample.namespace, selected) for _ in range(ASKS)))
    for meta in (meta for answer in answers for meta in answer):
        # One that was made anew meanwhile may belong into that half.
        if fnv1a64(meta.uid) not in other_half:
            return Answer(False, f"the server sent {resource} {called(sample)}, which shardSelector excludes")
    still = await asking.all(resource, sample.namespace, named)
    if [each.uid for each in still] != [sample.uid]:
        return Answer(None, f"{resource} {called(sample)} was deleted meanwhile")
    return Answer(True, f"the server left out {resource} {called(sample)} when shardSelector excluded it")


async def slot_proof(
    transport: Transport, sources: Sequence[Source], *, namespace: str = "", user_agent: str = ""
) -> Answer:
    """Whether every child of the collection, of one namespace or of all, carries a slot label.

    sources: unfiltered views of it, one for each kind of owner; a child is what any of them would hold. Only objects
    without the label are listed, a bounded number of them. Raises ApiError and Unreachable.
    """
    resource = sources[0].resource
    pages = 0
    unlabelled = MetadataPages(transport, user_agent).pages(resource, namespace, (("labelSelector", f"!{SLOT_LABEL}"),))
    async with aclosing(unlabelled):
        async for page in unlabelled:
            for meta in page:
                if any(source.hash_of(meta) is not None for source in sources):
                    return Answer(False, f"{resource} {called(meta)} has an owner and no slot label: fleet adopt")
            pages += 1
            if pages == MOST_PAGES:
                break
        else:
            return Answer(True, f"no child in {_place(resource, namespace)} is without a slot label")
    return Answer(
        False,
        f"more than {MOST_PAGES * PAGE_OBJECTS} objects in {_place(resource, namespace)} carry no slot label: too many"
        " to look for children among them; run fleet adopt, then set featureGates.SlotLabels to on",
    )


def _place(resource: Resource, namespace: str) -> str:
    return f"{resource} of namespace {namespace}" if namespace else str(resource)
