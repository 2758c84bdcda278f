"""What rules see of a schema: its types, the names of its fields, and its values. Pure.

After apiserver pkg/cel: common/schemas.go (SchemaDeclType) and escaping.go. Not a part: the fields that a schema does
not declare, and those whose names cannot be escaped.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

_RESERVED: Final = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"),
        *("import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_NAME = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*", re.ASCII)
_TO_ESCAPE = re.compile(r"__|[-./]")
_FORMATS: Final = {"byte": "bytes", "duration": "duration", "date": "timestamp", "date-time": "timestamp"}
_SCALARS: Final = {"boolean": "bool", "number": "double", "integer": "int"}
_STRING_SCHEMA: Final = {"type": "string"}
_DURATION_PART = re.compile(r"([0-9]*\.?[0-9]+)(h|ms|m|s|us|µs|ns)")
_UNIT_NANOSECONDS: Final = {
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "µs": 1_000,
    "ns": 1,
}


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """One node of a schema. kind: int, double, string, bool, bytes, duration, timestamp, dyn, list, map or object.

    element: of a list or a map. fields: of an object: by the property's name, its name in rules and its type.
    """

    kind: str
    element: Declared | None = None
    fields: Mapping[str, tuple[str, Declared]] = field(default_factory=dict)

    def value(self, given: Any) -> Any:
        """A JSON value as rules see it."""
        if given is None:
            return None
        if self.kind == "object" and isinstance(given, dict):
            known = self.fields
            return {known[name][0]: known[name][1].value(item) for name, item in given.items() if name in known}
        if self.element is not None:
            if isinstance(given, dict):
                return {name: self.element.value(item) for name, item in given.items()}
            if isinstance(given, list):
                return [self.element.value(item) for item in given]
        convert = _CONVERTERS.get(self.kind)
        return given if convert is None else convert(given)


def declared(schema: Mapping[str, Any], *, resource: bool = False) -> Declared | None:
    """None for what rules cannot see. resource: whether this is the root of a resource, which has metadata."""
    if schema.get("x-kubernetes-int-or-string"):
        return Declared("dyn")
    kind = schema.get("type", "")
    if kind == "object" and not resource and isinstance(schema.get("additionalProperties"), Mapping):
        element = _part(schema["additionalProperties"])
        return Declared("map", element) if element else None
    if kind == "object" or resource:
        return Declared("object", fields=_fields(schema, resource=resource))
    if kind == "array":
        element = _part(schema.get("items"))
        return Declared("list", element) if element else None
    if kind == "string":
        return Declared(_FORMATS.get(schema.get("format", ""), "string"))
    return Declared(_SCALARS[kind]) if kind in _SCALARS else None


def escaped(name: str) -> str | None:
    """The name of a property in rules; None when it has none."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _NAME.fullmatch(name):
        return None
    return _TO_ESCAPE.sub(lambda found: _ESCAPES[found[0]], name)


def _part(schema: Any) -> Declared | None:
    if not isinstance(schema, Mapping):
        return None
    return declared(schema, resource=bool(schema.get("x-kubernetes-embedded-resource")))


def _fields(schema: Mapping[str, Any], *, resource: bool) -> dict[str, tuple[str, Declared]]:
    properties: dict[str, Any] = dict(schema.get("properties") or {})
    if resource:
        names = {"name": _STRING_SCHEMA, "generateName": _STRING_SCHEMA}
        properties |= {"kind": _STRING_SCHEMA, "apiVersion": _STRING_SCHEMA}
        properties["metadata"] = {"type": "object", "properties": names}
    found: dict[str, tuple[str, Declared]] = {}
    for name, each in properties.items():
        inner, called = _part(each), escaped(name)
        if inner is not None and called is not None:
            found[name] = called, inner
    return found


def _duration(text: Any) -> Any:
    """Go's time.ParseDuration; other texts stay as they are."""
    sign = -1 if str(text).startswith("-") else 1
    parts = str(text).lstrip("+-")
    if parts != "0" and (not parts or _DURATION_PART.sub("", parts)):
        return text
    total = sum(int(float(count) * _UNIT_NANOSECONDS[unit]) for count, unit in _DURATION_PART.findall(parts))
    seconds, nanoseconds = divmod(total, 1_000_000_000)
    return Duration(seconds=sign * seconds, nanos=sign * nanoseconds)


def _timestamp(text: Any) -> Any:
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return text
    found = Timestamp()
    found.FromDatetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return found


def _bytes(text: Any) -> Any:
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, binascii.Error):
        return text


def _double(number: Any) -> Any:
    return float(number) if isinstance(number, int) and not isinstance(number, bool) else number


_CONVERTERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "duration": _duration,
    "timestamp": _timestamp,
    "bytes": _bytes,
    "double": _double,
}
