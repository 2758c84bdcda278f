"""Uniqueness in arrays of `x-kubernetes-list-type` set and map. Pure.

After apiextensions-apiserver pkg/apiserver/schema/listtype.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from fleet.devcluster.causes import Cause
from fleet.devcluster.schemas.values import shown

_LIST_TYPE = "x-kubernetes-list-type"


class Uniqueness:
    """One node of a compiled schema; None stands for a schema without any such array."""

    __slots__ = ("_additional", "_items", "_keys", "_list_type", "_properties")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        declared = schema.get(_LIST_TYPE, "")
        self._list_type: str = declared if declared in ("set", "map") else ""
        self._keys: Sequence[str] = schema.get("x-kubernetes-list-map-keys") or ()
        compiled = {name: uniqueness_of(each) for name, each in (schema.get("properties") or {}).items()}
        self._properties = {name: each for name, each in compiled.items() if each is not None}
        self._additional = uniqueness_of(schema.get("additionalProperties"))
        self._items = uniqueness_of(schema.get("items"))

    @property
    def matters(self) -> bool:
        return bool(self._list_type or self._properties or self._additional or self._items)

    def causes(self, value: Any, path: str = "") -> Iterator[Cause]:
        """Duplicates, one for each repeated value: where it appears the second time."""
        if isinstance(value, dict):
            for name, inner in self._properties.items():
                if name in value:
                    yield from inner.causes(value[name], f"{path}.{name}" if path else name)
            if self._additional is not None:
                for name, item in value.items():
                    yield from self._additional.causes(item, f"{path}[{name}]")
        elif isinstance(value, list):
            yield from self._array_causes(value, path)

    def _array_causes(self, value: list[Any], path: str) -> Iterator[Cause]:
        if self._list_type == "set":
            for index in _repeated(value):
                yield _duplicate(f"{path}[{index}]", value[index])
        elif self._list_type == "map":
            yield from self._map_causes(value, path)
        if self._items is not None:
            for index, item in enumerate(value):
                yield from self._items.causes(item, f"{path}[{index}]")

    def _map_causes(self, value: list[Any], path: str) -> Iterator[Cause]:
        for index, item in enumerate(value):
            if item is not None and not isinstance(item, dict):
                why = "must be an object for an array of list-type map"
                yield Cause("FieldValueInvalid", f"Invalid value: {shown(item)}: {why}", f"{path}[{index}]")
                return
        keys = [{name: item[name] for name in self._keys if name in item} if item else {} for item in value]
        for index in _repeated(keys):
            yield _duplicate(f"{path}[{index}]", keys[index])


def uniqueness_of(schema: Any) -> Uniqueness | None:
    """None where nothing has to be unique."""
    if not isinstance(schema, Mapping):
        return None
    found = Uniqueness(schema)
    return found if found.matters else None


def _repeated(values: Sequence[Any]) -> Iterator[int]:
    seen: dict[bytes, int] = {}
    for index, value in enumerate(values):
        key = msgspec.json.encode(value, order="deterministic")
        times = seen[key] = seen.get(key, 0) + 1
        if times == 2:
            yield index


def _duplicate(field: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", f"Duplicate value: {shown(value)}", field)
