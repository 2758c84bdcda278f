"""Checks values against the schema of a custom resource, with the failures of the real server. Pure.

A schema is compiled once into a tree of `Check`s; the walk follows kube-openapi pkg/validation/validate, down to its
count of matches, which decides whose failures `anyOf` and `oneOf` report. Maps are walked in the schema's order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fleet.devcluster.schemas import failures as fail
from fleet.devcluster.schemas.combined import Combined
from fleet.devcluster.schemas.failures import Failure
from fleet.devcluster.schemas.formats import FORMATS, supported
from fleet.devcluster.schemas.numbers import number_failures
from fleet.devcluster.schemas.patterns import compiled
from fleet.devcluster.schemas.values import INT64_MAX, INT64_MIN, UNKNOWN, is_json_integer, same, shown, type_name


class Check:
    """One node of a compiled schema."""

    def __init__(self, schema: Mapping[str, Any], *, combined: bool = False) -> None:
        """combined: what matches decides between alternatives further up."""
        self._counts = combined
        kind: str = schema.get("type", "")
        self._schema = schema
        self._types: tuple[str, ...] = (
            ("integer", "string") if schema.get("x-kubernetes-int-or-string") else (kind,) if kind else ()
        )
        self._nullable = bool(schema.get("nullable"))
        name: str = schema.get("format", "")
        only = self._types[0] if len(self._types) == 1 else ""
        self._format_name = name if name and supported(only, name) else ""
        self._format: Callable[[str], bool] | None = FORMATS.get(self._format_name.replace("-", ""))
        self._enum: Sequence[Any] = schema.get("enum") or ()
        self._max_length, self._min_length = schema.get("maxLength"), schema.get("minLength", 0)
        self._pattern = compiled(schema["pattern"]).search if schema.get("pattern") else None
        self._textual = bool(self._pattern or self._max_length is not None or self._min_length)
        self._bounded = any(name in schema for name in ("minimum", "maximum", "multipleOf"))
        self._max_items, self._min_items = schema.get("maxItems"), schema.get("minItems", 0)
        self._unique = bool(schema.get("uniqueItems"))
        self._max_properties, self._min_properties = schema.get("maxProperties"), schema.get("minProperties", 0)
        self._sized = "maxProperties" in schema or "minProperties" in schema
        self._required: Sequence[str] = schema.get("required") or ()
        self._compile_parts(schema)
        self.plain, self.plain_matches = self._plain()

    def _plain(self) -> tuple[type | None, int]:
        """The class whose values need no look, and the matches of each; None where all values do."""
        if len(self._types) != 1 or self._format_name or self._enum or self._combined:
            return None, 0
        if self._types == ("string",) and not self._textual:
            return str, 7
        if self._types == ("integer",) and not self._bounded:
            return int, 8
        return (bool, 6) if self._types == ("boolean",) else (None, 0)

    def _compile_parts(self, schema: Mapping[str, Any]) -> None:
        def part(each: Mapping[str, Any]) -> Check:
            return Check(each, combined=self._counts)

        self._properties = {name: part(each) for name, each in (schema.get("properties") or {}).items()}
        extra, items = schema.get("additionalProperties"), schema.get("items")
        self._additional = part(extra) if isinstance(extra, Mapping) else extra
        self._items = part(items) if isinstance(items, Mapping) else None
        self._combined = Combined(schema, lambda each: Check(each, combined=True))
        listed = schema.get("x-kubernetes-list-type") == "map"
        self._keys: tuple[str, ...] = tuple(schema.get("x-kubernetes-list-map-keys") or ()) if listed else ()

    def failures(self, value: Any, path: str = "", old: Any = UNKNOWN) -> list[Failure]:
        """What is wrong. old: the value that an update replaces; what it leaves as it was is not complained about."""
        found: list[Failure] = []
        self.walk(value, path, found, old)
        return found

    def walk(self, value: Any, path: str, into: list[Failure], old: Any = UNKNOWN) -> int:
        """Adds the failures, and answers the number of matches, where they count."""
        if old is not UNKNOWN and not self._counts and same(old, value):
            return 0
        found: list[Failure] = []
        matches = self._check_null(path, found) if value is None else self._check(value, path, found, old)
        if found and (old is UNKNOWN or not same(old, value)):
            fail.add(into, found)
        return matches

    def _check_null(self, path: str, into: list[Failure]) -> int:
        if self._types and "null" not in self._types and not self._nullable:
            into.append(fail.wrong_type(path, ",".join(self._types), "null"))
            matches = 0
        else:
            matches = 1
        if self._enum:
            into.append(fail.not_in_enum(path, None, self._enum))
        return matches

    def _check(self, value: Any, path: str, into: list[Failure], old: Any) -> int:
        kind = type_name(value)
        matches = 4
        if self._types or self._format_name:
            matches += 2 if self._fits(value, kind, path, into) else 1
        if self._combined:
            matches += self._combined.check(value, path, into, old)
        if kind == "string":
            matches += self._check_string(value, path, into)
        elif kind in ("integer", "number"):
            matches += 2
            small = value.__class__ is int and -(2**31) <= value < 2**31
            if self._bounded or not small:
                fail.add(into, number_failures(value, self._types, self._format_name, self._schema, path))
        elif kind == "array":
            matches += self._check_array(value, path, into, old) + 2
        if self._enum and not any(_equal(value, each) for each in self._enum):
            fail.add(into, [fail.not_in_enum(path, value, self._enum)])
        if kind == "object":
            matches += self._check_object(value, path, into, old) + 1
        return matches

    def _fits(self, value: Any, kind: str, path: str, into: list[Failure]) -> bool:
        types = self._types
        if kind in types and kind != "string" and kind != "array":
            return True
        whole = kind == "number" and "integer" in types and is_json_integer(float(value))
        fits = kind in types or whole or (kind == "integer" and "number" in types)
        name = self._format_name
        if name and kind not in ("string", "array") and not fits:
            actual = {"integer": "int64", "number": "float64"}.get(kind, "")
            if actual != name:
                into.append(fail.wrong_type(path, name, actual))
                return False
        if name and kind in ("string", "array") and "integer" not in types and "number" not in types:
            return True
        if not fits:
            into.append(fail.wrong_type(path, ",".join(types), kind))
        return fits

    def _check_string(self, value: str, path: str, into: list[Failure]) -> int:
        if self._textual:
            if self._max_length is not None and len(value) > self._max_length:
                fail.add(into, [fail.too_long(path, self._max_length)])
            elif len(value) < self._min_length:
                fail.add(into, [fail.invalid(path, value, f"should be at least {self._min_length} chars long")])
            elif self._pattern is not None and not self._pattern(value):
                fail.add(into, [fail.invalid(path, value, f"should match '{self._schema['pattern']}'")])
        if self._format is None:
            return 1
        if not self._format(value):
            fail.add(into, [fail.wrong_type(path, self._format_name, value)])
        return 2

    def _check_array(self, value: list[Any], path: str, into: list[Failure], old: Any) -> int:
        matches = 0
        items = self._items
        if items is not None:
            before = self._before(old) if old is not UNKNOWN else None
            plain, known = items.plain, items.plain_matches
            for index, item in enumerate(value):
                if item.__class__ is plain and _fits_int64(item):
                    matches += known
                else:
                    matches += items.walk(item, f"{path}[{index}]", into, self._counterpart(item, before))
        if len(value) < self._min_items:
            fail.add(into, [fail.invalid(path, len(value), f"should have at least {self._min_items} items")])
        if self._max_items is not None and len(value) > self._max_items:
            fail.add(into, [fail.too_many(path, len(value), self._max_items, "items")])
        if self._unique and any(each in value[:index] for index, each in enumerate(value)):
            text = f"{path} in body shouldn't contain duplicates"
            fail.add(into, [Failure(path, "FieldValueInvalid", f'Invalid value: "": {text}', text)])
        return matches

    def _before(self, old: Any) -> dict[tuple[Any, ...], Any] | None:
        """Of a list of type map: the old items by their keys. Items of other lists do not correlate."""
        if not self._keys or not isinstance(old, list):
            return None
        return {self._key(each): each for each in old if isinstance(each, dict)}

    def _key(self, item: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(repr(item.get(name)) for name in self._keys)

    def _counterpart(self, item: Any, before: dict[tuple[Any, ...], Any] | None) -> Any:
        if before is None or not isinstance(item, dict):
            return UNKNOWN
        return before.get(self._key(item), UNKNOWN)

    def _check_object(self, value: dict[str, Any], path: str, into: list[Failure], old: Any) -> int:
        matches = 0
        before: Mapping[str, Any] = old if old is not UNKNOWN and isinstance(old, dict) else {}
        if self._sized:
            self._check_size(value, path, into)
        properties, extra = self._properties, self._additional
        if isinstance(extra, Check):
            for name, item in value.items():
                if name in properties:
                    continue
                if item.__class__ is extra.plain and _fits_int64(item):
                    matches += extra.plain_matches
                else:
                    matches += extra.walk(item, f"{path}.{name}", into, before.get(name, UNKNOWN))
        elif extra is False:
            for name in value:
                if name not in properties:
                    text = f"{path}.{name} in body is a forbidden property"
                    message = f"Invalid value: {shown(name)}: {text}"
                    fail.add(into, [Failure(path, "FieldValueInvalid", message, text)])
        for name, check in properties.items():
            if name not in value:
                continue
            item = value[name]
            if item.__class__ is check.plain and _fits_int64(item):
                matches += check.plain_matches
                continue
            inner = f"{path}.{name}" if path else name
            matches += check.walk(item, inner, into, before.get(name, UNKNOWN))
        for name in self._required:
            if name not in value:
                fail.add(into, [fail.required(f"{path}.{name}")])
        return matches

    def _check_size(self, value: dict[str, Any], path: str, into: list[Failure]) -> None:
        count = len(value)
        if count < self._min_properties:
            rule = f"should have at least {self._min_properties} properties"
            fail.add(into, [fail.invalid(path, count, rule)])
        if self._max_properties is not None and count > self._max_properties:
            fail.add(into, [fail.too_many(path, count, self._max_properties, "properties")])

    def walk_part(self, value: Any, path: str, into: list[Failure], old: Any) -> int:
        """As `walk`, of a schema inside of another: an unchanged value is forgiven by its children and the whole."""
        if value is None:
            return self._check_null(path, into)
        return self._check(value, path, into, old)


def _fits_int64(value: Any) -> bool:
    """False for a number that Go reads as a float, whatever it looks like."""
    return value.__class__ is not int or INT64_MIN <= value <= INT64_MAX


def _equal(value: Any, allowed: Any) -> bool:
    """True is not 1."""
    return value == allowed and isinstance(value, bool) == isinstance(allowed, bool)
