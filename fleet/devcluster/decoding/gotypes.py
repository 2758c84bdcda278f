"""The Go type of a built-in kind, as far as its OpenAPI schema tells: what the server's decoder accepts. Pure.

The decoder of the real server fills a Go struct. A value of the wrong type fails with the name of the struct field; an
unknown field, a repeated one and a null are dropped, and a null in a list or a map is the zero value. `GoType.read`
does the same to a decoded body, in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from fleet.devcluster.decoding.gotexts import SCALARS, go_kind
from fleet.devcluster.decoding.pairs import Pairs

Schemas = Mapping[str, Mapping[str, Any]]

_PREFIX = "#/components/schemas/"
_ZEROS = {
    "string": "",
    "bytes": "",
    "bool": False,
    "float64": 0,
    "int32": 0,
    "int64": 0,
    "intorstring": 0,
    "quantity": "0",
}
_NOTHING: Mapping[str, Any] = {}
_UNSIGNED = "io.k8s.apimachinery."
_TEXTS = {"Time": "time", "MicroTime": "microtime", "Quantity": "quantity", "IntOrString": "intorstring"}


class Findings(msgspec.Struct):
    """What reading a body finds. mismatch: the first wrong type. strict: unknown and repeated fields, in order."""

    mismatch: str = ""
    strict: list[str] = []
    trail: list[str | int | tuple[str]] = []
    """Where the reader is: fields, indices, and keys of maps as 1-tuples."""

    def unknown(self, name: str) -> None:
        self._add(f'unknown field "{self._path(name)}"')

    def repeated(self, name: str) -> None:
        self._add(f'duplicate field "{self._path(name)}"')

    def _add(self, sentence: str) -> None:
        if sentence not in self.strict:
            self.strict.append(sentence)

    def _path(self, name: str) -> str:
        text = ""
        for each in (*self.trail, name):
            if isinstance(each, int):
                text += f"[{each}]"
            else:
                part = each if isinstance(each, str) else each[0]
                text += f".{part}" if text else part
        return text

    def wrong(self, value: Any, struct: str, wanted: str, shown: str = "") -> None:
        """Only the first one counts."""
        if self.mismatch:
            return
        fields = ".".join(each for each in self.trail if isinstance(each, str))
        where = f"struct field {struct}.{fields}" if fields else "value"
        self.mismatch = f"json: cannot unmarshal {shown or go_kind(value)} into Go {where} of type {wanted}"


class GoType:
    """One type. kind: struct, map, list, any, or the name of a scalar."""

    __slots__ = ("_fields", "_make", "item", "kind", "struct", "text")

    def __init__(self, kind: str, text: str, item: GoType | None = None, struct: str = "") -> None:
        self.kind = kind
        self.text = text
        self.item = item
        self.struct = struct
        self._fields: dict[str, GoType] | None = None
        self._make: Callable[[], dict[str, GoType]] = dict

    @property
    def fields(self) -> dict[str, GoType]:
        """Of a struct. Made when first asked for: types refer to themselves."""
        if self._fields is None:
            self._fields = self._make()
        return self._fields

    def zero(self) -> Any:
        """What null becomes in a list or a map of such values."""
        return {} if self.kind == "struct" else _ZEROS.get(self.kind)

    def read(self, value: Any, found: Findings, struct: str = "") -> Any:
        """The value as the decoder leaves it, changed in place. struct: the one whose field this is.

        Raises Refused where the real server's decoder stops at once.
        """
        kind = self.kind
        if kind == "struct":
            return self._read_struct(value, found, struct, _NOTHING)
        if kind == "map":
            return self._read_map(value, found, struct)
        if kind == "list":
            return self._read_list(value, found, struct)
        if kind != "any":
            SCALARS[kind](value, found, struct, self.text)
        return value

    def read_changes(self, value: dict[str, Any], found: Findings, old: Mapping[str, Any]) -> Any:
        """As `read`, of a struct. old: one that has been read; what has the very values of it is left."""
        return self._read_struct(value, found, "", old)

    def _read_struct(self, value: Any, found: Findings, struct: str, old: Mapping[str, Any]) -> Any:
        if not isinstance(value, dict):
            found.wrong(value, struct, self.text)
            return value
        if isinstance(value, Pairs):
            value = self._merged(value, found)
        fields, name_here = self.fields, self.struct
        trail = found.trail
        gone: list[str] | None = None
        for name, item in value.items():
            if old and item is old.get(name, value):
                continue
            known = fields.get(name)
            if known is None or item is None:
                gone = gone or []
                gone.append(name)
                if known is None:
                    found.unknown(name)
                continue
            kind = known.kind
            if (kind == "string" and item.__class__ is str) or kind == "any":
                continue
            trail.append(name)
            before = old.get(name) if old and kind == "struct" else None
            if isinstance(before, dict):
                kept = known._read_struct(item, found, name_here, before)
            else:
                kept = known.read(item, found, name_here)
            trail.pop()
            if kept is not item:
                value[name] = kept
        if gone:
            for name in gone:
                del value[name]
        return value

    def _merged(self, value: Pairs, found: Findings) -> dict[str, Any]:
        """Repeated fields are read one over the other."""
        made: dict[str, Any] = {}
        for name, item in value.entries:
            if name in made and (self.kind == "map" or name in self.fields):
                found.repeated(name)
                if isinstance(item, dict) and isinstance(made[name], dict):
                    item = {**made[name], **item}
            elif name not in made and self.kind == "struct" and name not in self.fields:
                found.unknown(name)
            made[name] = self._entered(name, item, found)
        return made

    def _entered(self, name: str, item: Any, found: Findings) -> Any:
        """An entry read at once, so that what is said of it comes in the order of the text."""
        known = self.item if self.kind == "map" else self.fields.get(name)
        if known is None or item is None:
            return item
        found.trail.append((name,) if self.kind == "map" else name)
        item = known.read(item, found, self.struct)
        found.trail.pop()
        return item

    def _read_map(self, value: Any, found: Findings, struct: str) -> Any:
        if not isinstance(value, dict):
            found.wrong(value, struct, self.text)
            return value
        if isinstance(value, Pairs):
            value = self._merged(value, found)
        inner = self.item
        if inner is None or inner.kind == "any":
            return value
        plain = inner.kind == "string"
        for name, item in value.items():
            if plain and item.__class__ is str:
                continue
            if item is None:
                value[name] = inner.zero()
                continue
            found.trail.append((name,))
            value[name] = inner.read(item, found, struct)
            found.trail.pop()
        return value

    def _read_list(self, value: Any, found: Findings, struct: str) -> Any:
        if not isinstance(value, list):
            found.wrong(value, struct, self.text)
            return value
        inner = self.item
        if inner is None or inner.kind == "any":
            return value
        plain = inner.kind == "string"
        for index, item in enumerate(value):
            if plain and item.__class__ is str:
                continue
            if item is None:
                value[index] = inner.zero()
                continue
            found.trail.append(index)
            value[index] = inner.read(item, found, struct)
            found.trail.pop()
        return value


_UID = GoType("string", "types.UID")
_WITH_PLAIN_UID = ("UserInfo", "SubjectAccessReviewSpec")


class GoTypes:
    """All types of a set of OpenAPI schemas."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._named: dict[str, GoType] = {}

    def named(self, name: str) -> GoType:
        """ "io.k8s.api.core.v1.Pod"."""
        found = self._named.get(name)
        if found is None:
            found = self._named[name] = self._declared(name, self._schemas[name])
        return found

    def _declared(self, name: str, schema: Mapping[str, Any]) -> GoType:
        package, _, short = name.rpartition(".")
        text = f"{package.rpartition('.')[2]}.{short}"
        if short in _TEXTS and name.startswith(_UNSIGNED):
            return GoType(_TEXTS[short], text)
        if "properties" not in schema:
            return GoType("any", text) if schema.get("type", "object") == "object" else self.of(schema)
        made = GoType("struct", text, struct=short)
        made._make = lambda: {each: self._field(short, each, inner) for each, inner in schema["properties"].items()}
        return made

    def _field(self, struct: str, name: str, schema: Mapping[str, Any]) -> GoType:
        # The schemas do not tell this named type from a string; errors do.
        return _UID if name == "uid" and struct not in _WITH_PLAIN_UID else self.of(schema)

    def of(self, schema: Mapping[str, Any]) -> GoType:
        """The type of a field."""
        wrapped = schema.get("allOf")
        reference: str = wrapped[0].get("$ref", "") if wrapped else schema.get("$ref", "")
        if reference:
            return self.named(reference.removeprefix(_PREFIX))
        kind = schema.get("type", "")
        if kind == "array":
            item = self.of(schema.get("items", {}))
            return GoType("list", f"[]{item.text}", item)
        if kind == "object":
            extra = schema.get("additionalProperties")
            item = self.of(extra) if isinstance(extra, Mapping) else GoType("any", "interface {}")
            return GoType("map", f"map[string]{item.text}", item)
        if kind == "integer":
            name: str = schema.get("format", "int64")
            return GoType(name if name in SCALARS else "int64", name)
        if kind == "string" and schema.get("format") == "byte":
            return GoType("bytes", "[]uint8")
        plain = {"string": "string", "boolean": "bool", "number": "float64"}.get(kind, "")
        return GoType(plain, plain) if plain else GoType("any", "interface {}")
