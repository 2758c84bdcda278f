"""The objects that a simulated fleet works on, as one shard's view of them and as the shard changes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from chaos.simulation.protocol.server import OBJECTS, Event, Server, Thing
from chaos.simulation.protocol.watcher import Watcher
from shards.errors import Conflict, Forbidden
from shards.keyrange import KeyRange
from shards.objects import Key, Meta, ObjectName, Resource
from shards.stores.store import Entry, StoreReader, StoreWriter

THINGS = Resource("simulated.dev", "v1", "things")
NAMESPACE = "default"
_RAW = b"{}"


def key_of(thing: Thing) -> Key:
    return Key(NAMESPACE, thing.uid, thing.uid)


def name_of(uid: str) -> ObjectName:
    return ObjectName(NAMESPACE, uid)


def meta_of(thing: Thing) -> Meta:
    return Meta(thing.uid, NAMESPACE, thing.uid, str(thing.version), thing.generation)


class ThingWatcher(Watcher):
    """Holds the objects of one range: in the project's own store, which gates ask, and as they are.

    No strike hides an event from it: a view of objects that missed one stays wrong until its next list, hours later.
    """

    droppable = False

    def __init__(self, each: KeyRange, *args: Any, **kwargs: Any) -> None:
        super().__init__(OBJECTS, *args, **kwargs)
        self.range = each
        self.things: dict[str, Thing] = {}
        self._writer = StoreWriter(resource=THINGS)

    @property
    def store(self) -> StoreReader:
        return self._writer.reader

    @property
    def version(self) -> str:
        return self.store.resource_version

    @property
    def regressions(self) -> int:
        return self.store.regressions

    def _read_list(self, began: float) -> tuple[Mapping[str, Any], str]:
        if self.wire.refuses_object_lists:
            self.wire.hits["useless"] += 1
            raise Forbidden(403, "Forbidden", "it may not list things")
        return super()._read_list(began)

    def replace(self, found: Mapping[str, Any], version: str) -> None:
        self.things = {uid: thing for uid, thing in found.items() if thing.hash in self.range}
        self._writer.replace([Entry(meta_of(thing), _RAW) for thing in self.things.values()], version)
        for uid in self.things:
            self._changed(uid)

    def wants(self, event: Event) -> bool:
        """The server filters by range: what happens elsewhere does not even move the version."""
        return isinstance(event.found, Thing) and event.found.hash in self.range

    def apply(self, event: Event) -> None:
        thing = event.found
        assert isinstance(thing, Thing), "objects are never deleted"
        self.things[thing.uid] = thing
        self._writer.apply(meta_of(thing), _RAW)


def settle(server: Server, uid: str, generation: int, based_on: int, told: Callable[[Thing], None]) -> Thing:
    """What an act does at the server, under the condition that the object is as it was seen. Raises Conflict."""
    found = server.things[uid]
    if found.version != based_on:
        raise Conflict(409, "Conflict", f"{uid} is at version {found.version}, not at {based_on}")
    return add_to(server, uid, generation, told)


def add_to(server: Server, uid: str, generation: int, told: Callable[[Thing], None]) -> Thing:
    """The same without a condition, as the creation of a child."""
    found = server.things[uid]
    stored = server.put_thing(found._replace(observed=max(found.observed, generation)))
    told(stored)
    return stored


def act_of(server: Server, thing: Thing, *, conditional: bool, told: Callable[[Thing], None]) -> Callable[[], Thing]:
    if conditional:
        return partial(settle, server, thing.uid, thing.generation, thing.version, told)
    return partial(add_to, server, thing.uid, thing.generation, told)
