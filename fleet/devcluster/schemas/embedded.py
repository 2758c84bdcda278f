"""Objects inside of custom resources (`x-kubernetes-embedded-resource`): their kind, version and metadata. Pure.

After apiextensions-apiserver pkg/apiserver/schema/objectmeta.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fleet.devcluster.causes import Cause
from fleet.devcluster.schemas.names import dns1035_faults
from fleet.devcluster.schemas.objectmeta import KNOWN_FIELDS, meta_causes
from fleet.devcluster.schemas.values import shown

_GROUP_VERSION = re.compile(r"[^/]*(?:/[^/]*)?")


class Embedded:
    """One node of a compiled schema that leads to embedded objects."""

    __slots__ = ("_additional", "_here", "_items", "_properties")

    def __init__(self, schema: Mapping[str, Any], *, root: bool = False) -> None:
        self._here = bool(schema.get("x-kubernetes-embedded-resource")) and not root
        compiled = {name: _node(each) for name, each in (schema.get("properties") or {}).items()}
        self._properties = {name: each for name, each in compiled.items() if each is not None}
        self._additional = _node(schema.get("additionalProperties"))
        self._items = _node(schema.get("items"))

    @property
    def matters(self) -> bool:
        return bool(self._here or self._properties or self._additional or self._items)

    def causes(self, value: Any, path: str = "") -> Iterator[Cause]:
        """What is wrong with the embedded objects."""
        if self._here and isinstance(value, dict):
            yield from _type_causes(value, path)
            if isinstance(value.get("metadata"), dict):
                yield from meta_causes(value["metadata"], f"{path}.metadata" if path else "metadata")
        for inner, item, below in self._parts(value, path):
            yield from inner.causes(item, below)

    def coerce(self, value: Any, unknown: list[str], path: str = "") -> Cause | None:
        """Drops unknown fields of embedded metadata, in place, and adds their paths.

        Answers what cannot be read: a kind or version that is no text, or metadata that is no object.
        """
        if self._here and isinstance(value, dict):
            for name in ("apiVersion", "kind"):
                if name in value and not isinstance(value[name], str):
                    why = f"Invalid value: {shown(value[name])}: must be a string"
                    return Cause("FieldValueInvalid", why, f"{path}.{name}")
            metadata = value.get("metadata")
            if isinstance(metadata, dict):
                for name in [name for name in metadata if name not in KNOWN_FIELDS]:
                    del metadata[name]
                    unknown.append(f"{path}.metadata.{name}")
        for inner, item, below in self._parts(value, path):
            fault = inner.coerce(item, unknown, below)
            if fault is not None:
                return fault
        return None

    def _parts(self, value: Any, path: str) -> Iterator[tuple[Embedded, Any, str]]:
        if isinstance(value, dict):
            for name, item in value.items():
                inner = self._properties.get(name)
                if inner is not None:
                    yield inner, item, f"{path}.{name}" if path else name
                elif self._additional is not None:
                    yield self._additional, item, f"{path}[{name}]"
        elif isinstance(value, list) and self._items is not None:
            for index, item in enumerate(value):
                yield self._items, item, f"{path}[{index}]"


def embedded_of(root: Mapping[str, Any]) -> Embedded | None:
    """Of the schema of a whole object. None where it embeds nothing."""
    found = Embedded(root, root=True)
    return found if found.matters else None


def _node(schema: Any) -> Embedded | None:
    if not isinstance(schema, Mapping):
        return None
    found = Embedded(schema)
    return found if found.matters else None


def _type_causes(value: Mapping[str, Any], path: str) -> Iterator[Cause]:
    checks: tuple[tuple[str, Callable[[str], str]], ...] = (("apiVersion", _version_fault), ("kind", _kind_fault))
    for name, _ in checks:
        if name not in value:
            yield Cause("FieldValueRequired", "Required value", f"{path}.{name}")
    for name, check in checks:
        if name not in value:
            continue
        given = value[name]
        why = "must be a string" if not isinstance(given, str) else check(given) if given else "must not be empty"
        if why:
            yield Cause("FieldValueInvalid", f"Invalid value: {shown(given)}: {why}", f"{path}.{name}")


def _version_fault(text: str) -> str:
    return "" if _GROUP_VERSION.fullmatch(text) else f"unexpected GroupVersion string: {text}"


def _kind_fault(text: str) -> str:
    faults = dns1035_faults(text.lower())
    return f"may have mixed case, but should otherwise match: {','.join(faults)}" if faults else ""
