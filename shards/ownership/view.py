"""What one reconcile sees: the shard's stores, under an overlay of objects that were read or written live.

The overlay lasts for one reconcile and is never written into a store: a stored one could bring a deleted object back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from shards.errors import ConfigError
from shards.objects import Key, Object, ObjectName, Resource, meta_of
from shards.ownership.listing import Listing
from shards.ownership.overlay import Live, Snapshot
from shards.ownership.secrets_seen import SecretsSeen
from shards.stores.store import StoreReader
from shards.stores.store_reader import decoder_of
from shards.veil import is_secret
from shards.versions import at_least, newest

T = TypeVar("T")

Views = Mapping[Resource, StoreReader]
Place = tuple[Resource, ObjectName]


class View:
    """Reads of one reconcile. Remembers what was read, so that writes carry exactly those versions."""

    __slots__ = (
        "_floors",
        "_gone",
        "_overlay",
        "_read",
        "_setbacks",
        "_stores",
        "_torn",
        "key",
        "name",
        "own_conditions",
        "primary",
        "secrets",
    )

    def __init__(self, primary: Resource, key: Key, stores: Views, overlay: Mapping[Place, Live] | None = None) -> None:
        self.primary = primary
        self.key = key
        self._stores = stores
        self._setbacks = sum(store.regressions for store in stores.values())
        self.name = ObjectName(key.namespace, key.name)
        self._overlay: dict[Place, Live] = {}
        self._read: dict[Place, Snapshot] = {}
        self.secrets = SecretsSeen()
        self.own_conditions: Any = None
        """Those in the status of the primary, as it was last read."""
        self._torn: dict[Place, Snapshot] | None = None
        """What was read in one state and later, as the view moved on, in another: the first of them."""
        self._gone: dict[str, Place] | None = None
        """By UID: what was read, and is not there any more."""
        self._floors: dict[Resource, str] = {}
        """Highest version known from answers, per resource; the store may be behind it."""
        if overlay:
            self._overlay.update(overlay)
            for (resource, _), live in overlay.items():
                self._floors[resource] = newest(self._floors.get(resource, ""), live.version)
        self.snapshot(primary, self.name)

    def holds(self, resource: Resource) -> bool:
        """Whether the shard keeps a view of the resource."""
        return resource in self._stores

    @property
    def went_back(self) -> int:
        """How often the history of a view went back since it was made: what was decided is of another world then."""
        return sum(store.regressions for store in self._stores.values()) - self._setbacks

    def get(self, resource: Resource, name: ObjectName) -> Object | None:
        """The object, a copy of the caller's own. None: not in this view, which is no proof of absence.

        Raises ConfigError for a resource that the controller neither owns nor watches.
        """
        store = self._store(resource)
        live = self._above(resource, name, store)
        found = store.get(name) if live is None else live.object
        if found is not None:
            self._given((resource, name), Snapshot.of(found), live)
        return found

    def _given(self, place: Place, snapshot: Snapshot, live: Live | None) -> None:
        """The author sees this state of the object: that of the overlay, or of the store where there is none."""
        known = self._read.get(place)
        if known is not None and known != snapshot:
            self._torn = self._torn or {}
            self._torn.setdefault(place, known)
        self._read[place] = snapshot
        if is_secret(place[0]):
            self.secrets.saw(place[0], self._stores[place[0]].raw(place[1]) if live is None else live.raw)

    def peek(self, resource: Resource, name: ObjectName) -> Object | None:
        """The same as `get` for the framework: nothing is decided on it."""
        store = self._store(resource)
        live = self._above(resource, name, store)
        return store.get(name) if live is None else live.object

    def get_as(self, resource: Resource, name: ObjectName, type: type[T]) -> T | None:
        """The same as the caller's own msgspec.Struct. Raises msgspec.ValidationError where the object does not fit."""
        store = self._store(resource)
        live = self._above(resource, name, store)
        if live is None:
            held = store.version_of(name)
            if held is not None:
                self._given((resource, name), Snapshot(*held), None)
            return store.get_as(name, type)
        if live.raw is None:
            return None
        self._given((resource, name), Snapshot(live.uid, live.version), live)
        return decoder_of(type).decode(live.raw)

    def own_as(self, type: type[T]) -> T | None:
        """The primary as a Struct; None as in `own`."""
        held = self.snapshot(self.primary, self.name)
        if held is None or held.uid != self.key.uid:
            return None
        return self.get_as(self.primary, self.name, type)

    def select(
        self, resource: Resource, *, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Listing:
        """The objects of this view in the namespace that have all these labels."""
        store = self._store(resource)
        names, wanted = set(store.select(namespace=namespace, labels=labels)), (labels or {}).items()
        for name, live in self._overlaid(resource, store):
            names.discard(name)
            body = live.object
            if body is None or namespace not in (None, name.namespace):
                continue
            if wanted <= (body["metadata"].get("labels") or {}).items():
                names.add(name)
        return Listing(sorted(names), (), lambda name: self.get(resource, name))

    def find(self, resource: Resource, index: str, value: str) -> Listing:
        """The objects of this view that the index has under the value. Raises ConfigError for an unknown index."""
        store = self._store(resource)
        hits = store.find(index, value)
        names, unknown = set(hits.names), set(hits.unknown)
        for name, live in self._overlaid(resource, store):
            names.discard(name)
            unknown.discard(name)
            body = live.object
            if body is None or live.raw is None:
                continue
            values = store.values_of(index, meta_of(body), live.raw)
            if values is None:
                unknown.add(name)
            elif value in values:
                names.add(name)
        return Listing(sorted(names), tuple(sorted(unknown)), lambda name: self.get(resource, name))

    def trimmed(self, resource: Resource, name: ObjectName, version: str) -> bool:
        """Whether a body of the object at that version may lack what the server has: it is from a trimmed store."""
        store = self._stores.get(resource)
        live = self._overlay.get((resource, name))
        return store is not None and store.partial and (live is None or live.version != version)

    def _overlaid(self, resource: Resource, store: StoreReader) -> Iterator[tuple[ObjectName, Live]]:
        """What is known better than the store knows it."""
        for of, name in tuple(self._overlay):
            live = self._above(resource, name, store) if of == resource else None
            if live is not None:
                yield name, live

    def own(self) -> Object | None:
        """The primary; None when it is gone, or when another object (with another UID) has its name."""
        found = self.get(self.primary, self.name)
        if found is None or found["metadata"]["uid"] != self.key.uid:
            return None
        status = found.get("status")
        self.own_conditions = status.get("conditions") if isinstance(status, dict) else None
        return found

    def shows_own(self) -> bool:
        """Whether `own` gives an object."""
        shown = self._shown(self.primary, self.name)
        return shown is not None and shown.uid == self.key.uid

    def owned(self, resource: Resource) -> list[Object]:
        """The objects whose controller is the primary, in order of name."""
        store = self._store(resource)
        names = {ObjectName(meta.namespace, meta.name) for meta in store.owned_by(self.key.uid)}
        names.update(name for of, name in self._overlay if of == resource)
        found = (self.get(resource, name) for name in sorted(names))
        return [each for each in found if each is not None and controller_uid(each) == self.key.uid]

    def snapshot(self, resource: Resource, name: ObjectName) -> Snapshot | None:
        """What this reconcile knows of the object: as it last read it, else as the view has it now (counts as read)."""
        known = self._read.get((resource, name))
        if known is not None or resource not in self._stores:
            return known
        known = self._shown(resource, name)
        if known is not None:
            self._read[resource, name] = known
        return known

    def _shown(self, resource: Resource, name: ObjectName) -> Snapshot | None:
        """Which state of the object `get` gives now."""
        store = self._stores[resource]
        live = self._above(resource, name, store)
        if live is not None:
            return None if live.raw is None else Snapshot(live.uid, live.version)
        held = store.version_of(name)
        return None if held is None else Snapshot(*held)

    def decision(self, resource: Resource, name: ObjectName) -> Snapshot | None:
        """What a decision about the object was made on: of two states that the view showed in this run, the first."""
        return (self._torn or {}).get((resource, name)) or self.snapshot(resource, name)

    def decided_on(self, resource: Resource, name: ObjectName, snapshot: Snapshot) -> None:
        """A live read found another state, which the author has not seen: writes carry the one that was decided on."""
        self._read[resource, name] = snapshot

    def place_of(self, uid: str) -> Place | None:
        """Where an object of that UID was read; None where it was not read in this run, and no view shows it."""
        for place, snapshot in self._read.items():
            if snapshot.uid == uid:
                return place
        for resource, store in self._stores.items():
            name = store.name_of(uid)
            if name is not None:
                return resource, name
        return (self._gone or {}).get(uid)

    def remember(
        self,
        resource: Resource,
        name: ObjectName,
        body: Object | None,
        version: str = "",
        *,
        hidden: bool = False,
        raw: bytes | None = None,
    ) -> None:
        """Puts a live read or the answer of an own write over the store. body None: the object is not there.

        version: where body is None, the last version that is known of the object. hidden, raw: see Live.
        """
        if body is None:
            read = self._read.pop((resource, name), None)
            if read is not None:
                self._gone = {**(self._gone or {}), read.uid: (resource, name)}
            self._overlay[resource, name] = Live(None, version)
            return
        snapshot = Snapshot.of(body)
        live = self._overlay[resource, name] = Live(body, snapshot.resource_version, hidden, raw=raw)
        self.secrets.saw(resource, live.raw)
        self.wrote(resource, name, snapshot)

    def wrote(self, resource: Resource, name: ObjectName, snapshot: Snapshot) -> None:
        """The object is known to be at that version; later writes of this reconcile build on it."""
        self._read[resource, name] = snapshot
        self._floors[resource] = newest(self._floors.get(resource, ""), snapshot.resource_version)

    def read(self, resource: Resource, name: ObjectName, body: Object) -> None:
        """An object without a view was read live: writes of it carry that version."""
        self._read[resource, name] = Snapshot.of(body)
        self.secrets.saw(resource, body)

    def version(self, resource: Resource) -> str:
        """How new this reconcile's knowledge of the resource is; for resources without a view, of the primary."""
        of = resource if resource in self._stores else self.primary
        return newest(self._stores[of].resource_version, self._floors.get(of, ""))

    def _store(self, resource: Resource) -> StoreReader:
        store = self._stores.get(resource)
        if store is None:
            raise ConfigError(str(resource), "this controller neither owns nor watches it; declare it, or use ctx.live")
        return store

    def _above(self, resource: Resource, name: ObjectName, store: StoreReader) -> Live | None:
        """The overlay's entry, unless the store has moved past it meanwhile."""
        live = self._overlay.get((resource, name)) if self._overlay else None
        if live is None:
            return None
        held = store.version_of(name)
        if held is not None:
            version = held[1]
            newer = bool(live.version) and at_least(version, live.version)
            # Of an absent object the version is the last one before it went: the store must be above, not at it.
            return None if newer and (live.raw is not None or version != live.version) else live
        if live.raw is None or live.hidden:
            return live
        if store.shows(name, live.uid, live.version):
            return None  # it is gone: the store is past it, and does not hold it
        return live


def controller_uid(body: Object) -> str:
    """UID of the object's controlling owner; "" without one."""
    owners = body.get("metadata", {}).get("ownerReferences") or ()
    return next((owner.get("uid", "") for owner in owners if owner.get("controller")), "")
