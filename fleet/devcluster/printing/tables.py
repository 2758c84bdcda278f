"""Tables: what `kubectl get` shows of a list, of an object and of an event. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fleet.devcluster.printing.basics import definition, name_and_date
from fleet.devcluster.printing.columns import Column, columns_of
from fleet.devcluster.printing.custom import CustomTable
from fleet.devcluster.printing.durations import Ages
from fleet.devcluster.printing.pods import pod_conditions
from fleet.devcluster.printing.rows import printer_of
from fleet.devcluster.wire.statuses import StatusError, bad_request
from shards.objects import Object

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_INCLUDES = ("", "None", "Metadata", "Object")
_LIST_METADATA = ("resourceVersion", "continue", "remainingItemCount")


def check_include(include: str) -> None:
    """include: the parameter includeObject. Raises StatusError 400."""
    if include not in _INCLUDES:
        raise _unknown_include(include)


def _unknown_include(include: str) -> StatusError:
    return bad_request(
        f'Unable to convert to Table as requested: includeObject: Invalid value: "{include}": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


@dataclass(slots=True)
class TablePrinter:
    """Prints objects of one kind. version: apiVersion of the table. include: None, Metadata or Object of each row."""

    columns: list[Column]
    version: str
    include: str
    _cells: Callable[[Object, Ages], list[Any]]
    _head: Object
    _conditions: Callable[[Object], list[dict[str, str]]] | None = None
    _nothing: list[Object] | None = field(default_factory=list)

    @classmethod
    def built_in(cls, head: Object, plural: str, version: str, include: str) -> TablePrinter:
        """head: kind and apiVersion of the objects."""
        key = f"{head['apiVersion']}/{plural}"
        conditions = pod_conditions if key == "v1/pods" else None
        cells = printer_of(key)
        # The real server's printers make a list of rows, its convertors of a single kind begin with none.
        nothing: list[Object] | None = None if cells in (name_and_date, definition) else []
        return cls(columns_of(key), version, include, cells, head, conditions, nothing)

    @classmethod
    def custom(cls, head: Object, table: CustomTable, version: str, include: str) -> TablePrinter:
        return cls(table.columns, version, include, table.cells, head)

    def of_list(self, body: Object, ages: Ages) -> Object:
        metadata = {name: body["metadata"][name] for name in _LIST_METADATA if body["metadata"].get(name)}
        return self._table(metadata, body["items"] or [], ages, headers=True)

    def of_object(self, obj: Object, ages: Ages, *, headers: bool = True) -> Object:
        """headers: with the columns; only the first event of a watch has them."""
        metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
        return self._table(metadata, [obj], ages, headers=headers)

    def _table(self, metadata: Object, objects: list[Object], ages: Ages, *, headers: bool) -> Object:
        return {
            "kind": "Table",
            "apiVersion": self.version,
            "metadata": metadata,
            "columnDefinitions": self.columns if headers else None,
            "rows": [self._row(each, ages) for each in objects] or self._nothing,
        }

    def _row(self, obj: Object, ages: Ages) -> Object:
        row: Object = {"cells": self._cells(obj, ages)}
        conditions = self._conditions(obj) if self._conditions is not None else []
        if conditions:
            row["conditions"] = conditions
        row["object"] = self._shown(obj)
        return row

    def _shown(self, obj: Object) -> Object | None:
        if self.include == "Object":
            return {**self._head, **obj}
        ends_initial_events = INITIAL_EVENTS_END in (obj["metadata"].get("annotations") or {})
        if self.include == "None" and not ends_initial_events:
            return None
        return {"kind": "PartialObjectMetadata", "apiVersion": self.version, "metadata": obj["metadata"]}
