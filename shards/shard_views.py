"""The views of one shard, and the engines that they feed: who listens to what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from shards.api.useragent import UserAgent
from shards.authoring.controller import Controller
from shards.filtering.witness import LadderWitness
from shards.informers.feed import Feed
from shards.informers.informer import Informer
from shards.informers.informer_meters import HookCounts
from shards.informers.namespaced_informer import NamespacedInformer
from shards.journal import NO_JOURNAL, Journal
from shards.keyrange import KeyRange
from shards.listeners.handlers import Route
from shards.listeners.listener import Listener
from shards.objects import Key, Resource
from shards.reconciling.engine import Engine
from shards.runtime import WorkerRuntime
from shards.sharing.shared_informer import SharedInformer, can_share
from shards.sharing.shared_stream import StreamMaker
from shards.stores.store import Change, StoreReader, StoreWriter
from shards.view_filters import Place, best_mode, filter_modes, places_of
from shards.watching.source import Source


@dataclass(slots=True)
class ShardView:
    """One informer and who listens to it. name: as marks and gates call it."""

    name: str
    place: Place
    source: Source
    informer: Feed
    listeners: list[tuple[Engine, Listener]] = field(default_factory=list)

    @property
    def store(self) -> StoreReader:
        return self.informer.store

    @property
    def engines(self) -> list[Engine]:
        """Whose keys depend on this view; each once."""
        return list({id(engine): engine for engine, _ in self.listeners}.values())

    def attach(
        self, engine: Engine, route: Route, everything: Callable[[], Iterable[Key]], runtime: WorkerRuntime
    ) -> Listener:
        """One that comes after the first list is told what is there."""
        resource = self.source.resource
        listener = Listener(
            engine.controller.name,
            route,
            active=lambda: engine.fence is not None,
            add=lambda key, low_priority: engine.add(key, low_priority=low_priority),
            progressed=lambda: engine.progress(resource),
            everything=everything,
            clock=runtime.clock,
            meters=HookCounts(runtime.metrics, str(resource), runtime.clock, runtime.journal),
        )
        self.listeners.append((engine, listener))
        if len(self.store):
            listener.catch_up(self.store)
        return listener

    def detach(self, engine: Engine) -> None:
        """The engine is told nothing more, not even what was on its way."""
        for each, listener in self.listeners:
            if each is engine:
                listener.close()
        self.listeners = [each for each in self.listeners if each[0] is not engine]

    @property
    def listening(self) -> bool:
        """Whether any controller takes keys by now."""
        return any(listener.listening for _, listener in self.listeners)

    def changed(self, change: Change) -> None:
        for _, listener in self.listeners:
            listener.changed(change)

    def progressed(self) -> None:
        for _, listener in self.listeners:
            listener.progressed()


def make_views(
    range: KeyRange,
    controllers: Sequence[Controller],
    runtime: WorkerRuntime,
    member: str,
    on_move: Callable[[], None],
) -> dict[str, ShardView]:
    """One view per resource, role and selection, shared by the controllers, by the names that marks and gates use.

    on_move: called when any of them has moved. Raises ConfigError for an incomplete controller.
    """
    wanted: dict[Place, set[Resource]] = {}
    for controller in controllers:
        controller.check()
        for place in places_of(controller, runtime.settings.scope):
            wanted.setdefault(place, set()).add(controller.primary)
    modes = filter_modes(range, controllers, runtime)
    roles = {resource: len({place.role for place in wanted if place.resource == resource}) for resource, *_ in wanted}
    views: dict[str, ShardView] = {}
    for place, primaries in wanted.items():
        name = base = str(place.resource) if roles[place.resource] == 1 else f"{place.resource}:{place.role}"
        while name in views:
            name = f"{base}#{1 + sum(each.partition('#')[0] == base for each in views)}"
        source = Source(
            resource=place.resource,
            range=range,
            partition_key=range.key,
            scope=place.scope,
            mode=modes[place],
            role=place.role,
            primary=next(iter(primaries)) if place.role == "owned" and len(primaries) == 1 else None,
        )
        views[name] = _make_view(name, place, source, runtime, member, on_move)
    return views


def _make_view(
    name: str, place: Place, source: Source, runtime: WorkerRuntime, member: str, on_move: Callable[[], None]
) -> ShardView:
    agent = UserAgent(product=runtime.product, member=member, range=str(source.range), reason="informer")

    def moved() -> None:
        on_move()
        view.progressed()

    def changed(change: Change) -> None:
        view.changed(change)

    def listening() -> bool:
        return view.listening

    audience = _Audience(changed, moved, listening)
    view = ShardView(name, place, source, _make_feed(place, source, runtime, agent, audience))
    return view


class _Audience(NamedTuple):
    """Who is told of a view. See `shards.informers.informer.Informer`."""

    changed: Callable[[Change], None]
    moved: Callable[[], None]
    listening: Callable[[], bool]


def _make_feed(place: Place, source: Source, runtime: WorkerRuntime, agent: UserAgent, audience: _Audience) -> Feed:
    """An informer of the shard's own where the server filters by its range; else its part of the worker's stream.

    Either of them for each namespace, where they are to be watched one by one.
    """
    namespaces = source.scope.namespaces
    if source.scope.watch_each and len(namespaces) > 1:
        alone = {each: replace(source, scope=replace(source.scope, namespaces=(each,))) for each in namespaces}
        parts = {each: _make_part(place, part, runtime, agent, audience, NO_JOURNAL) for each, part in alone.items()}
        return NamespacedInformer(source, parts, runtime.clock)
    return _make_part(place, source, runtime, agent, audience, runtime.journal)


def _make_part(
    place: Place,
    source: Source,
    runtime: WorkerRuntime,
    agent: UserAgent,
    audience: _Audience,
    journal: Journal,
) -> Feed:
    """One watch's part."""
    namespace = source.namespace
    witness = LadderWitness(runtime.filters, source, best_mode(source.role, source.partition_key))
    if can_share(source):
        make = StreamMaker(
            runtime.limited,
            runtime.clock,
            runtime.rng,
            runtime.metrics,
            agent,
            namespace,
            runtime.journal,
            metadata_only=place.keeping.needs_metadata_only,
            witness=witness,
        )
        return SharedInformer(
            runtime.streams,
            make,
            source,
            handler=audience.changed,
            on_progress=audience.moved,
            listening=audience.listening,
            clock=runtime.clock,
            journal=journal,
            keeping=place.keeping,
            bodies=runtime.bodies[source.resource],
        )
    meters = HookCounts(runtime.metrics, str(source.resource), runtime.clock, runtime.journal)
    kept = runtime.bodies[source.resource]
    intake = place.keeping.intake(kept, runtime.clock, meters, api_version=source.resource.api_version)
    return Informer(
        runtime.limited,
        source,
        handler=audience.changed,
        on_progress=audience.moved,
        listening=audience.listening,
        clock=runtime.clock,
        rng=runtime.rng,
        metrics=runtime.metrics,
        namespace=namespace,
        user_agent=str(agent),
        journal=journal,
        writer=StoreWriter(intake, source.resource),
        metadata_only=place.keeping.needs_metadata_only,
        witness=witness,
    )


def make_engine(
    controller: Controller, range: KeyRange, runtime: WorkerRuntime, views: Mapping[str, ShardView]
) -> Engine:
    """The controller's engine, which listens to its views."""
    by_place = {view.place: view for view in views.values()}
    own = {place.resource: by_place[place] for place in places_of(controller, runtime.settings.scope)}
    stores = {resource: view.store for resource, view in own.items()}
    sources = {resource: view.source for resource, view in own.items()}
    engine = Engine(
        controller,
        range,
        runtime,
        stores,
        sources,
        relist=lambda resource: own[resource].informer.relist(),
        current_at=lambda: min(view.informer.current_at for view in own.values()),
    )
    primaries = stores[controller.primary]

    def attach(resource: Resource, route: Route) -> None:
        own[resource].attach(engine, route, primaries.each_key, runtime)

    attach(controller.primary, Route.primary())
    for resource in controller.owned:
        attach(resource, Route.owned(primaries))
    for watch in controller.watched:
        attach(watch.resource, Route.mapped(watch.map, primaries))
    return engine
