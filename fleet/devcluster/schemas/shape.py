"""The shape of custom resources: pruning, dropped nulls, defaults, and the metadata of embedded objects. Pure.

A schema is compiled once into a tree of `Shape`s. After apiextensions-apiserver pkg/apiserver/schema: pruning,
defaulting and objectmeta.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

_EMBEDDED = "x-kubernetes-embedded-resource"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_TYPE_FIELDS = ("apiVersion", "kind", "metadata")


class Shape:
    """One node of a compiled schema."""

    __slots__ = (
        "_defaults",
        "additional",
        "anything",
        "default",
        "embedded",
        "items",
        "keeps_null",
        "nullable",
        "plain",
        "preserves",
        "properties",
    )

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.embedded = bool(schema.get(_EMBEDDED))
        self.preserves = bool(schema.get(_PRESERVE))
        self.nullable = bool(schema.get("nullable"))
        default = schema.get("default")
        self.default = None if default is None else msgspec.json.encode(default)
        self.properties = {name: Shape(each) for name, each in (schema.get("properties") or {}).items()}
        self._defaults = [(name, each) for name, each in self.properties.items() if each.default is not None]
        extra, items = schema.get("additionalProperties"), schema.get("items")
        self.additional = Shape(extra) if isinstance(extra, Mapping) else None
        self.anything = extra is True
        self.items = Shape(items) if isinstance(items, Mapping) else None
        self.plain = not (self.properties or self.additional or self.items or self.preserves or self.embedded)
        self.keeps_null = self.nullable or self.default is not None

    def fresh_default(self) -> Any:
        """A copy of the default; None where there is none."""
        return None if self.default is None else msgspec.json.decode(self.default)

    def under(self, name: str) -> Shape | None:
        found = self.properties.get(name)
        return self.additional if found is None else found

    # ------------------------------------------------------------------ pruning

    def prune(self, value: Any, path: str, unknown: list[str]) -> None:
        """Drops fields that the schema does not know, in place, and adds their paths."""
        if self.preserves:
            self._skip(value, path, unknown)
        elif isinstance(value, dict):
            gone: list[str] = []
            for name, item in value.items():
                if self.embedded and name in _TYPE_FIELDS:
                    continue
                inner = self.properties.get(name)
                if inner is None:
                    inner = self.additional
                if inner is not None:
                    if not inner.plain or isinstance(item, dict | list):
                        inner.prune(item, f"{path}.{name}" if path else name, unknown)
                elif self.anything:
                    _prune_nothing_known(item, f"{path}.{name}" if path else name, unknown)
                else:
                    gone.append(name)
            for name in gone:
                del value[name]
                if name not in _TYPE_FIELDS or path:
                    unknown.append(f"{path}.{name}" if path else name)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if self.items is None:
                    _prune_nothing_known(item, f"{path}[{index}]", unknown)
                else:
                    self.items.prune(item, f"{path}[{index}]", unknown)

    def _skip(self, value: Any, path: str, unknown: list[str]) -> None:
        """Keeps unknown fields here; known ones are pruned below."""
        if isinstance(value, dict):
            for name, item in value.items():
                if self.embedded and name in _TYPE_FIELDS:
                    continue
                inner = self.under(name)
                if inner is not None:
                    inner.prune(item, f"{path}.{name}" if path else name, unknown)
        elif isinstance(value, list) and self.items is not None:
            for index, item in enumerate(value):
                self.items._skip(item, f"{path}[{index}]", unknown)

    # ------------------------------------------------------------------ nulls and defaults

    def complete(self, value: Any) -> None:
        """Drops nulls that the schema does not allow, then fills in defaults, in place."""
        if self.plain:
            return
        if isinstance(value, dict):
            gone = [name for name, item in value.items() if item is None and self._drops_null(name)]
            for name in gone:
                del value[name]
            for name, inner in self._defaults:
                if name not in value or (value[name] is None and not inner.nullable):
                    value[name] = inner.fresh_default()
            for name, item in value.items():
                found = self.properties.get(name)
                if found is None:
                    found = self.additional
                    if found is None:
                        continue
                    if item is None and not found.nullable:
                        item = value[name] = found.fresh_default()
                if not found.plain:
                    found.complete(item)
        elif isinstance(value, list) and self.items is not None:
            for index, item in enumerate(value):
                if item is None and not self.items.nullable:
                    value[index] = item = self.items.fresh_default()
                self.items.complete(item)

    def _drops_null(self, name: str) -> bool:
        inner = self.under(name)
        return inner is not None and not inner.keeps_null


def _prune_nothing_known(value: Any, path: str, unknown: list[str]) -> None:
    """Where a schema says nothing at all, objects lose all their fields."""
    if isinstance(value, dict):
        for name in list(value):
            unknown.append(f"{path}.{name}" if path else name)
            del value[name]
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _prune_nothing_known(item, f"{path}[{index}]", unknown)
