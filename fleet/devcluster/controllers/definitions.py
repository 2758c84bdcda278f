"""Keeps the served resources equal to the stored CustomResourceDefinitions.

What the naming, establishing and finalizing controllers of apiextensions-apiserver do, at once: a definition is
established with the write that creates it, and its objects go with the one that deletes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from fleet.devcluster.changes.deleteoptions import DeleteOptions
from fleet.devcluster.changes.writes import Writer
from fleet.devcluster.definitions.crdrules import is_established
from fleet.devcluster.definitions.crds import CLEANUP, defined_types, served_versions, set_condition
from fleet.devcluster.definitions.naming import accepted_names
from fleet.devcluster.fields.manager import Manager
from fleet.devcluster.kinds.resources import CUSTOM_RESOURCE_DEFINITIONS, Registry, ResourceType
from fleet.devcluster.storage.commits import encode
from fleet.devcluster.storage.outcome import Outcome
from fleet.devcluster.storage.storage import Storage
from fleet.devcluster.storage.tables import Table
from shards.objects import Object

_TERMINATING = "Terminating"
_CONTROLLERS = Manager("kube-apiserver", "Update", "status")


class Definitions:
    """A definition that came, changed or went takes its resources along: tables, objects and watches."""

    def __init__(self, registry: Registry, storage: Storage, writer: Writer) -> None:
        self._registry = registry
        self._storage = storage
        self._writer = writer
        self._ending: set[str] = set()
        """Names of definitions whose objects have not all gone."""
        self._stored_as: dict[str, ResourceType] = {}
        """By the name of the definition."""
        self._specs: dict[str, Any] = {}
        """What was served last, likewise."""
        storage.on_restore.append(self._begin_anew)

    def follow(self, kind: ResourceType, outcome: Outcome) -> None:
        """To be called after every write; takes notice of definitions, and of objects whose definition waits."""
        if kind.defines:
            self._settle(outcome.stored.decode(), removed=outcome.removed)
        if self._ending:
            self.settle()

    def settle(self) -> None:
        """Lets definitions go whose last object has gone."""
        for name in sorted(self._ending):
            stored = self._table.objects.get(name)
            if stored is None:
                self._ending.discard(name)
            else:
                self._end(stored.decode())

    # ------------------------------------------------------------------ coming and changing

    @property
    def _table(self) -> Table:
        return self._storage.table(CUSTOM_RESOURCE_DEFINITIONS)

    def _settle(self, definition: Object, *, removed: bool) -> None:
        if removed:
            self._drop(definition)
            self._reconsider(definition)
        elif "deletionTimestamp" in definition["metadata"]:
            self._terminate(definition)
        else:
            self._name(definition)
            self._serve(definition)

    def _name(self, definition: Object) -> None:
        """Accepts the names that no other definition has, and establishes the definition if those are all."""
        before = definition["status"].get("acceptedNames")
        if definition["spec"]["names"] == before and is_established(definition):
            return
        others = [each for each in self._others(definition) if each["spec"]["group"] == definition["spec"]["group"]]
        names, conflict = accepted_names(definition, others)
        now = self._now()
        definition["status"]["acceptedNames"] = names
        accepted = ("False", *conflict) if conflict else ("True", "NoConflicts", "no conflicts found")
        set_condition(definition, "NamesAccepted", *accepted, now)
        established = is_established(definition)
        if not established:
            state = ("NotAccepted", "not all names are accepted")
            if not conflict:
                state = ("Installing", "the initial names have been accepted")
            set_condition(definition, "Established", "False", *state, now)
        self._put(definition)
        if not established and not conflict:
            why = "the initial names have been accepted"
            set_condition(definition, "Established", "True", "InitialNamesAccepted", why, now)
            self._put(definition)
        if before and before.get("plural") and names != before:
            self._reconsider(definition)

    def _reconsider(self, definition: Object) -> None:
        """Names that became free may be what another definition waits for."""
        for other in self._others(definition):
            if other["spec"]["group"] == definition["spec"]["group"] and not is_established(other):
                self._settle(other, removed=False)

    def _others(self, definition: Object) -> Iterator[Object]:
        name = definition["metadata"]["name"]
        return (each.decode() for key, each in tuple(self._table.objects.items()) if key != name)

    def _serve(self, definition: Mapping[str, Any]) -> None:
        """Makes the registry say what the definition says."""
        if not is_established(definition):
            return
        served = served_versions(definition)
        types = tuple(defined_types(definition))
        for each in self._served(definition):
            if each.resource.version not in served:
                self._registry.remove(each.resource)
        self._store_as(definition["metadata"]["name"], types[0])
        for each in types:
            known = self._registry.get(each.resource)
            if each.resource.version in served and not _alike(known, each):
                self._registry.add(each)
        self._redefine(definition, types[0])

    def _redefine(self, definition: Mapping[str, Any], kind: ResourceType) -> None:
        name, spec = definition["metadata"]["name"], definition["spec"]
        before = self._specs.get(name, spec)
        self._specs[name] = spec
        if before != spec:
            self._storage.redefine(kind.resource)

    def _store_as(self, name: str, kind: ResourceType) -> None:
        """The stored version or its schema may have changed: what is stored is read with the new one from now on."""
        before = self._stored_as.get(name, kind)
        self._stored_as[name] = kind
        table = self._storage.table(kind)
        table.kind = kind
        same = before.resource == kind.resource
        if kind.schema is None or (same and _root(before) == _root(kind)):
            return
        for key, stored in tuple(table.objects.items()):
            body = stored.decode()
            if same:
                kind.schema.complete(body)
            else:
                kind.schema.read(body)
            table.objects[key] = encode(kind, body, stored.version)

    def _served(self, definition: Mapping[str, Any]) -> list[ResourceType]:
        group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]
        return [
            each
            for each in self._registry
            if each.custom and (each.resource.group, each.resource.plural) == (group, plural)
        ]

    # ------------------------------------------------------------------ going

    def _terminate(self, definition: Object) -> None:
        """Deletes all objects; some may have finalizers of their own."""
        name = definition["metadata"]["name"]
        if name in self._ending or CLEANUP not in definition["metadata"].get("finalizers", ()):
            return
        self._ending.add(name)
        why = "CustomResource deletion is in progress"
        set_condition(definition, _TERMINATING, "True", "InstanceDeletionInProgress", why, self._now())
        self._put(definition)
        self._serve(definition)
        for table in self._tables(definition):
            for stored in tuple(table.objects.values()):
                if not stored.meta.deletion_timestamp:
                    self._writer.delete(table, stored.meta.namespace, stored.meta.name, DeleteOptions())

    def _end(self, definition: Object) -> None:
        if any(table.objects for table in self._tables(definition)):
            return
        metadata = definition["metadata"]
        self._ending.discard(metadata["name"])
        if is_established(definition):
            state = ("InstanceDeletionCompleted", "removed all instances")
        else:
            state = ("NeverEstablished", "resource was never established")
        set_condition(definition, _TERMINATING, "False", *state, self._now())
        metadata["finalizers"] = [each for each in metadata.get("finalizers", ()) if each != CLEANUP]
        if metadata["finalizers"]:
            self._storage.put(self._table, definition)
            return
        self._storage.delete(self._table, metadata["name"])
        self._settle(definition, removed=True)

    def _tables(self, definition: Mapping[str, Any]) -> list[Table]:
        kinds = self._served(definition)
        return [self._storage.table(kinds[0])] if kinds else []

    def _drop(self, definition: Mapping[str, Any]) -> None:
        self._stored_as.pop(definition["metadata"]["name"], None)
        self._specs.pop(definition["metadata"]["name"], None)
        kinds = self._served(definition)
        for each in kinds[:1]:
            table = self._storage.table(each)
            for key in tuple(table.keys):
                self._storage.delete(table, key)
        for each in kinds:
            self._registry.remove(each.resource)
            self._storage.drop(each.resource)

    # ------------------------------------------------------------------ storage and time

    def _begin_anew(self) -> None:
        """After a restore: only what the restored definitions say is served."""
        for kind in self._registry:
            if kind.custom:
                self._registry.remove(kind.resource)
        self._ending.clear()
        for stored in tuple(self._table.objects.values()):
            definition = stored.decode()
            self._serve(definition)
            if "deletionTimestamp" in definition["metadata"]:
                self._ending.add(stored.key)

    def _put(self, definition: Object) -> None:
        """Stores the status, as the server's own controllers do; the definition gets its new metadata."""
        name = definition["metadata"]["name"]
        outcome = self._writer.update(self._table, "", name, definition, "status", manager=_CONTROLLERS)
        definition["metadata"] = outcome.stored.decode()["metadata"]

    def _now(self) -> str:
        return datetime.fromtimestamp(int(self._writer.wall_seconds()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _root(kind: ResourceType) -> object:
    return None if kind.schema is None else kind.schema.root


def _alike(known: ResourceType | None, new: ResourceType) -> bool:
    """Whether a resource can stay as it is, with what has been compiled of its schema."""
    if known is None or known.schema is None or new.schema is None:
        return False
    return (
        known == new and known.schema.root == new.schema.root and (known.conversion is None) == (new.conversion is None)
    )
