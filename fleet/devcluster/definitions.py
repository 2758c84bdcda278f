"""Keeps the served resources equal to the stored CustomResourceDefinitions."""

from __future__ import annotations

from fleet.devcluster.crds import defined_types
from fleet.devcluster.resources import CUSTOM_RESOURCE_DEFINITIONS, Registry, ResourceType
from fleet.devcluster.storage import Storage
from fleet.devcluster.watching import Watching
from fleet.devcluster.writes import Outcome


class Definitions:
    """A definition that came, changed or went takes its resources along: tables, objects and watches."""

    def __init__(self, registry: Registry, storage: Storage, watching: Watching) -> None:
        self._registry = registry
        self._storage = storage
        self._watching = watching

    def follow(self, kind: ResourceType, outcome: Outcome) -> None:
        """To be called after every write; of anything but a definition it takes no notice."""
        if kind.resource != CUSTOM_RESOURCE_DEFINITIONS.resource:
            return
        definition = outcome.stored.decode()
        names = definition["spec"]["names"]["plural"], definition["spec"]["group"]
        served = () if outcome.removed else tuple(defined_types(definition))
        for each in tuple(self._registry):
            gone = (each.resource.plural, each.resource.group) == names and each.custom
            if gone and each.resource not in {kept.resource for kept in served}:
                self._drop(each)
        for each in served:
            self._registry.add(each)
            self._storage.table(each).kind = each

    def _drop(self, kind: ResourceType) -> None:
        table = self._storage.table(kind)
        for key in tuple(table.keys):
            self._storage.delete(table, key)
        self._watching.end(kind.resource)
        self._registry.remove(kind.resource)
        self._storage.drop(kind.resource)
