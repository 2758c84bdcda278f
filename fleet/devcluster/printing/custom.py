"""Tables of custom resources: the columns that their definitions declare. Pure.

Source: apiextensions-apiserver, pkg/registry/customresource/tableconvertor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from fleet.devcluster.printing.columns import Column, age_description, column, name_column
from fleet.devcluster.printing.durations import Ages
from fleet.devcluster.printing.jsonpaths import Step, compiled_path, first_result
from fleet.devcluster.printing.phrases import name_of
from shards.objects import Object

_AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


@dataclass(frozen=True, slots=True)
class CustomTable:
    """Columns, and the path of each but the first, which is the name."""

    columns: list[Column]
    _paths: tuple[tuple[str, tuple[Step, ...]], ...]

    @classmethod
    def of(cls, definition: Object, version: str) -> CustomTable:
        """definition: a CustomResourceDefinition. A column whose path is not understood shows nothing."""
        versions: list[Mapping[str, Any]] = definition["spec"].get("versions") or []
        found = next((each for each in versions if each.get("name") == version), {})
        declared = found.get("additionalPrinterColumns") or [_AGE | {"description": age_description()}]
        columns, paths = [name_column()], []
        for each in declared:
            path = each.get("jsonPath", "")
            text = each.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
            columns.append(column(each["name"], each["type"], each.get("format", ""), text, each.get("priority", 0)))
            # A path that cannot be followed becomes one that finds nothing.
            paths.append((str(each["type"]), compiled_path(path) or (lambda _: iter(()),)))
        return cls(columns, tuple(paths))

    def cells(self, obj: Object, ages: Ages) -> list[Any]:
        row: list[Any] = [name_of(obj)]
        for kind, path in self._paths:
            found = first_result(path, obj)
            row.append(_cell(kind, found[0], ages) if found else None)
        return row


def _cell(kind: str, value: Any, ages: Ages) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "string":
        return _text(value)
    if kind == "integer" and number:
        return int(value)
    if kind == "number" and number:
        return value
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind == "date" and isinstance(value, str):
        return _age(value, ages)
    return None


def _age(text: str, ages: Ages) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return "<invalid>"
    return ages.since(text)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()
