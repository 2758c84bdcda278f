"""The views of one shard, and the engines that they feed: who listens to what."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shards.controller import Controller
from shards.engine import Engine
from shards.handlers import Route
from shards.informer import Informer
from shards.keyrange import KeyRange, PartitionKey
from shards.objects import Resource
from shards.runtime import WorkerRuntime
from shards.source import FilterMode, Role, Source
from shards.store import Change, StoreReader
from shards.useragent import UserAgent

log = logging.getLogger(__name__)


@dataclass(slots=True)
class ShardView:
    """One informer and who listens to it. name: as marks and gates call it."""

    name: str
    source: Source
    informer: Informer
    listeners: list[tuple[Engine, Route]] = field(default_factory=list)

    @property
    def store(self) -> StoreReader:
        return self.informer.store

    def changed(self, change: Change) -> None:
        for engine, route in self.listeners:
            try:
                for key in route.keys(change):
                    engine.add(key, low_priority=change.initial)
            except Exception:  # an author's mapping function; the other controllers' keys still count
                log.exception("routing a change of %s for %s failed", self.source.resource, engine.controller.name)

    def progressed(self) -> None:
        for engine, _ in self.listeners:
            engine.progress(self.source.resource)


def make_views(
    range: KeyRange,
    controllers: Sequence[Controller],
    runtime: WorkerRuntime,
    member: str,
    on_move: Callable[[], None],
) -> dict[str, ShardView]:
    """One view per resource and role, shared by the controllers, by the names that marks and gates use.

    on_move: called when any of them has moved. Raises ConfigError for an incomplete controller.
    """
    wanted: dict[tuple[Resource, Role], set[Resource]] = {}
    for controller in controllers:
        controller.check()
        for resource, role in _views_of(controller):
            wanted.setdefault((resource, role), set()).add(controller.primary)
    roles: dict[Resource, int] = {}
    for resource, _ in wanted:
        roles[resource] = roles.get(resource, 0) + 1
    views = {}
    for (resource, role), primaries in wanted.items():
        name = str(resource) if roles[resource] == 1 else f"{resource}:{role}"
        source = Source(
            resource=resource,
            range=range,
            partition_key=runtime.settings.partition_by,
            scope=runtime.settings.scope,
            mode=_mode(role, runtime.settings.partition_by, bool(runtime.server_side_sharding)),
            role=role,
            primary=next(iter(primaries)) if role == "owned" and len(primaries) == 1 else None,
        )
        views[name] = _make_view(name, source, runtime, member, on_move)
    return views


def _make_view(
    name: str, source: Source, runtime: WorkerRuntime, member: str, on_move: Callable[[], None]
) -> ShardView:
    agent = UserAgent(product=runtime.product, member=member, range=str(source.range), reason="informer")

    def moved() -> None:
        on_move()
        view.progressed()

    informer = Informer(
        runtime.limited,
        source,
        handler=lambda change: view.changed(change),
        on_progress=moved,
        clock=runtime.clock,
        rng=runtime.rng,
        metrics=runtime.metrics,
        namespace="".join(source.scope.namespaces),
        user_agent=str(agent),
        journal=runtime.journal,
    )
    view = ShardView(name, source, informer)
    return view


def make_engine(
    controller: Controller, range: KeyRange, runtime: WorkerRuntime, views: Mapping[str, ShardView]
) -> Engine:
    """The controller's engine, which listens to its views."""
    by_place = {(view.source.resource, view.source.role): view for view in views.values()}
    own = {resource: by_place[resource, role] for resource, role in _views_of(controller)}
    stores = {resource: view.store for resource, view in own.items()}
    sources = {resource: view.source for resource, view in own.items()}
    engine = Engine(controller, range, runtime, stores, sources)
    primaries = stores[controller.primary]
    own[controller.primary].listeners.append((engine, Route.primary()))
    for resource in controller.owned:
        own[resource].listeners.append((engine, Route.owned(primaries)))
    for watch in controller.watched:
        own[watch.resource].listeners.append((engine, Route.mapped(watch.map, primaries)))
    return engine


def _views_of(controller: Controller) -> list[tuple[Resource, Role]]:
    views: list[tuple[Resource, Role]] = [(controller.primary, "primary")]
    views += [(resource, "owned") for resource in controller.owned]
    views += [(watch.resource, "watched") for watch in controller.watched]
    return views


def _mode(role: Role, key: PartitionKey, server_filters: bool) -> FilterMode:
    """The best filter that the role and the partition key allow (design 5.1)."""
    if role == "owned" and key is PartitionKey.UID:
        return FilterMode.SLOT_LABELS
    by_hash = (role == "primary" and key is PartitionKey.UID) or (role != "watched" and key is PartitionKey.NAMESPACE)
    return FilterMode.SHARD_SELECTOR if server_filters and by_hash else FilterMode.LOCAL
