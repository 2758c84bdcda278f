"""What the server says of an object that it has accepted: sentences for the client, one Warning header each. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from fleet.devcluster.builtins.podwarnings import TEMPLATES, is_looked_at, pod_warnings
from fleet.devcluster.changes.metadata import finalizer_warnings
from fleet.devcluster.definitions.crds import definition_warnings
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.storage.storage import Stored
from shards.objects import Object


def remarks_on(kind: ResourceType, new: Stored, old: Stored | None) -> list[str]:
    """Of a write. old: what it replaced. Objects are decoded only where there may be something to say."""
    if kind.custom:
        spoken_of = (kind.schema is not None and kind.schema.has_rules) or b'"finalizers":[' in new.raw
    else:
        generation = None if old is None else old.meta.generation
        spoken_of = kind.defines or is_looked_at(kind.resource.plural, new.meta.generation, generation)
    if not spoken_of:
        return []
    return list(warnings_of(kind, new.decode(), None if old is None else old.decode()))


def warnings_of(kind: ResourceType, body: Object, old: Object | None) -> Iterator[str]:
    """Of a valid object that is spoken of. old: what an update replaced."""
    if kind.custom:
        yield from finalizer_warnings(body["metadata"], (old or {}).get("metadata"))
        if kind.schema is not None:
            yield from kind.schema.forgiven(body, old)
    elif kind.defines:
        yield from definition_warnings(body, old)
    elif kind.resource.plural in TEMPLATES:
        yield from pod_warnings(kind.resource.plural, body)
