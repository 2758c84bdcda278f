"""What controllers want to see, and which filter each of these views stands on: the best rung that is proven."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shards.authoring.controller import Controller, Selection
from shards.keyrange import WHOLE, KeyRange, PartitionKey
from shards.objects import Resource
from shards.runtime import FEATURES, WorkerRuntime
from shards.settings import ScopeSettings, ShardSettings
from shards.sharing.shared_cache import Keeping
from shards.watching.source import FilterMode, Role, Source


class Place(NamedTuple):
    """What controllers have to have in common to share a view."""

    resource: Resource
    role: Role
    scope: ScopeSettings
    keeping: Keeping


def filter_modes(range: KeyRange, controllers: Sequence[Controller], runtime: WorkerRuntime) -> dict[Place, FilterMode]:
    """Who filters which view, as things are now: the server where it can and all that share the view may."""
    sharing: dict[Place, list[str]] = {}
    for controller in controllers:
        for place in places_of(controller, runtime.settings.scope):
            sharing.setdefault(place, []).append(controller.name)
    return {place: _mode(place, names, range, runtime) for place, names in sharing.items()}


def _mode(place: Place, controllers: Sequence[str], range: KeyRange, runtime: WorkerRuntime) -> FilterMode:
    best = best_mode(place.role, range.key)
    if best is FilterMode.LOCAL:
        return best
    allowed = runtime.gates.has_for_all(FEATURES[best], controllers, range)
    return best if allowed and runtime.filters.usable(place.resource, best) else FilterMode.LOCAL


def best_mode(role: Role, key: PartitionKey) -> FilterMode:
    """The best filter that the role and the partition key allow (design 5.1)."""
    if role == "owned" and key is PartitionKey.UID:
        return FilterMode.SLOT_LABELS
    by_hash = (role == "primary" and key is PartitionKey.UID) or (role != "watched" and key is PartitionKey.NAMESPACE)
    return FilterMode.SHARD_SELECTOR if by_hash else FilterMode.LOCAL


def best_sources(controllers: Sequence[Controller], settings: ShardSettings, key: PartitionKey) -> list[Source]:
    """All views of a worker, of the whole key space, each with the best filter that it may have under that key."""
    return [
        Source(
            resource=place.resource,
            range=KeyRange(WHOLE.first, WHOLE.last, key),
            partition_key=key,
            scope=place.scope,
            mode=best_mode(place.role, key),
            role=place.role,
            primary=controller.primary if place.role == "owned" else None,
        )
        for controller in controllers
        for place in places_of(controller, settings.scope)
    ]


def places_of(controller: Controller, fleet: ScopeSettings) -> list[Place]:
    roles: list[tuple[Resource, Role]] = [(controller.primary, "primary")]
    roles += [(resource, "owned") for resource in controller.owned]
    roles += [(watch.resource, "watched") for watch in controller.watched]
    return [_place(resource, role, controller.selections[resource], fleet) for resource, role in roles]


def _place(resource: Resource, role: Role, selection: Selection, fleet: ScopeSettings) -> Place:
    namespaces = fleet.namespaces if selection.namespaces is None else selection.namespaces
    labels, fields = [selection.label_selector], [selection.field_selector]
    if role == "primary":
        labels.insert(0, fleet.label_selector)
        fields.insert(0, fleet.field_selector)
    scope = ScopeSettings(
        tuple(sorted(namespaces)), ",".join(filter(None, labels)), ",".join(filter(None, fields)), fleet.watch_each
    )
    return Place(resource, role, scope, Keeping(selection.transform, selection.metadata_only, selection.indexes))
