"""What the server says beside its answer to a write that it has accepted. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from fleet.devcluster.builtins.podwarnings import TEMPLATES
from fleet.devcluster.outcome import Outcome
from fleet.devcluster.resources import CUSTOM_RESOURCE_DEFINITIONS, ResourceType
from fleet.devcluster.storage import Table
from fleet.devcluster.strategy import warnings_of
from shards.objects import Object


def remarks(kind: ResourceType, table: Table, outcome: Outcome, *, dry_run: bool) -> Iterator[str]:
    """Warnings, in the order of their headers. kind: of the request's version. To be called before the next write."""
    template = kind.resource == CUSTOM_RESOURCE_DEFINITIONS.resource or kind.resource.plural in TEMPLATES
    ruled = kind.schema is not None and kind.schema.has_rules
    if template or ruled or (kind.custom and b'"finalizers":[' in outcome.stored.raw):
        yield from warnings_of(kind, outcome.stored.decode(), _replaced(table, outcome, dry_run=dry_run))


def _replaced(table: Table, outcome: Outcome, *, dry_run: bool) -> Object | None:
    """What a write replaced; the object itself where it changed nothing."""
    if outcome.created:
        return None
    last = table.history[-1] if table.history and not dry_run else None
    committed = last is not None and (outcome.removed or last.new is outcome.stored)
    old = last.old if last is not None and committed else table.objects.get(outcome.stored.key)
    return None if old is None else old.decode()
