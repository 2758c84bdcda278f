"""What a schema makes of custom resources: pruning, defaults and validation."""

from __future__ import annotations

from typing import Any

from tests.contract.histories.defined import Defined, spec_schema, version
from tests.contract.transcripts import MERGE, Document, Stage

_DRY = {"dryRun": "All"}
_STRING: Document = {"type": "string"}
_INTEGER: Document = {"type": "integer"}


async def _post(kind: Defined, spec: Any, **fields: Any) -> None:
    await kind.stage.ask("POST", kind.path(), kind.body("a", spec=spec, **fields), query=_DRY)


async def pruned_and_defaulted(stage: Stage) -> None:
    kind = Defined(stage, "trees", "Tree")
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"k": {"type": "object"}}}
    properties: Document = {
        "size": {"type": "integer", "default": 1},
        "kept": {"type": "string", "nullable": True, "default": "x"},
        "inner": {"type": "object", "default": {}, "properties": {"a": {"type": "string", "default": "y"}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer", "default": 3}}}},
        "numbers": {"type": "array", "items": {"type": "integer", "default": 7}},
        "map": {"type": "object", "additionalProperties": {"type": "integer", "nullable": True}},
        "free": free,
        "port": {"x-kubernetes-int-or-string": True},
        "any": {"type": "object", "additionalProperties": True},
        "object": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": {"type": "object"}},
        },
    }
    await kind.create(version(spec_schema(properties)))
    inner = {"kind": "A", "apiVersion": "v1", "metadata": {"name": "x", "foo": 1}, "spec": {"b": 1}, "bar": 1}
    for spec in (
        None,
        {},
        {"size": None, "kept": None, "inner": None},
        {"inner": {"b": 1}, "foo": 1},
        {"list": [{}, {"b": 1}, {"a": None}]},
        {"numbers": [1, None]},
        {"map": {"a": 1, "b": None}},
        {"free": {"x": {"y": 1}, "k": {"z": 1}}},
        {"port": 1},
        {"port": "http"},
        {"any": {"a": {"b": 1}, "c": 1}},
        {"object": inner},
    ):
        await _post(kind, spec)
    await stage.ask("POST", kind.path(), kind.body("one"))
    await stage.ask("PATCH", kind.path("one"), {"spec": {"size": None, "x": 1, "list": [{}]}}, content_type=MERGE)
    await kind.remove()


async def values_that_are_wrong(stage: Stage) -> None:
    kind = Defined(stage, "rules", "Rule")
    limits: Document = {
        "string": {"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-z]+$"},
        "one": {"type": "string", "maxLength": 1},
        "enum": {"type": "string", "enum": ["a", "b"]},
        "numbers": {"type": "integer", "enum": [1, 2]},
        "integer": {"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 2},
        "small": {"type": "integer", "format": "int32"},
        "number": {"type": "number", "minimum": 0.5, "exclusiveMinimum": True, "maximum": 2, "exclusiveMaximum": True},
        "step": {"type": "number", "multipleOf": 0.5},
        "boolean": {"type": "boolean"},
        "array": {"type": "array", "minItems": 1, "maxItems": 2, "items": _STRING},
        "map": {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": _INTEGER},
        "object": {"type": "object", "required": ["a"], "properties": {"a": _STRING}},
        "port": {"x-kubernetes-int-or-string": True},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": _STRING},
        "keyed": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k", "l"],
            "items": {
                "type": "object",
                "required": ["k", "l"],
                "properties": {"k": _STRING, "l": _INTEGER, "m": _STRING},
            },
        },
    }
    await kind.create(version(spec_schema(limits)))
    for name, values in (
        ("string", ("a", "abcd", "AB", 1, None, True, [], {}, "é", "ab\n")),
        ("one", ("ab",)),
        ("enum", ("c", 1, "a")),
        ("numbers", (3, 1.0, "1")),
        ("integer", (0, 10, 3, 2.0, 2.5, 1e30, "2")),
        ("small", (2147483648, 1)),
        ("number", (0.5, 2, 1, "x", 1e3)),
        ("step", (0, 1, 0.7, 1.5)),
        ("boolean", (1, "true")),
        ("array", ([], ["a", "b", "c"], [1], "a", [None])),
        ("map", ({}, {"a": 1, "b": 2}, {"a": "x"}, {"a": None})),
        ("object", ({}, {"a": 1}, {"a": None}, [])),
        ("port", (True, 1.5, [])),
        ("set", (["a", "b", "a"], ["a", "a", "a"])),
        ("keyed", ([{"k": "a", "l": 1}, {"k": "a", "l": 1, "m": "x"}], [{"k": "a", "l": 1}, {"k": "a", "l": 2}])),
    ):
        for value in values:
            await _post(kind, {name: value})
    await _post(kind, "x")
    await _post(kind, [])
    await kind.remove()


async def formats_of_strings(stage: Stage) -> None:
    kind = Defined(stage, "forms", "Form")
    samples: dict[str, tuple[str, ...]] = {
        "date-time": ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5+01:00", "2026-01-01", "2026-13-01T00:00:00Z", "x"),
        "date": ("2026-02-28", "2026-02-30", "x"),
        "duration": ("1h30m", "1.5s", "3 days", "x", ""),
        "uuid": ("0f8fad5b-d9cb-469f-a165-70867728950e", "x"),
        "ipv4": ("10.0.0.1", "10.0.0.256", "::1"),
        "ipv6": ("::1", "10.0.0.1"),
        "cidr": ("10.0.0.0/8", "10.0.0.0", "10.0.0.0/33"),
        "byte": ("YQ==", "Y", "!!"),
        "hostname": ("example.com", "-x", "a_b"),
        "email": ("a@b.example", "x"),
        "uri": ("https://example.com/x", "/x", "x y"),
        "mac": ("00:00:5e:00:53:01", "x"),
        "hexcolor": ("#fff", "x"),
        "password": ("x",),
        "k8s-short-name": ("abc", "A", "a.b"),
        "k8s-long-name": ("a.b", "A"),
        "unknown-format": ("x",),
    }
    properties = {f"f{index}": {"type": "string", "format": name} for index, name in enumerate(samples)}
    await kind.create(version(spec_schema(properties)))
    for index, values in enumerate(samples.values()):
        for value in values:
            await _post(kind, {f"f{index}": value})
    await _post(kind, {"f0": 5})
    await kind.remove()


async def schemas_of_schemas(stage: Stage) -> None:
    kind = Defined(stage, "logics", "Logic")
    parts = {"type": "object", "properties": {"a": _INTEGER, "b": _INTEGER, "c": _STRING}}
    has_a, has_b = {"required": ["a"]}, {"required": ["b"]}
    deep = {"properties": {"a": {"minimum": 5}, "b": {"maximum": 3}}}
    properties = {
        "any": {**parts, "anyOf": [has_a, has_b]},
        "one": {**parts, "oneOf": [has_a, has_b]},
        "all": {**parts, "allOf": [has_a, has_b]},
        "not": {**parts, "not": has_a},
        "deep": {**parts, "anyOf": [deep, {**has_a, **deep, "required": ["a", "c"]}]},
        "port": {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": "^a",
        },
    }
    await kind.create(version(spec_schema(properties)))
    for name in ("any", "one", "all", "not"):
        for value in ({}, {"a": 1}, {"a": 1, "b": 1}, "x"):
            await _post(kind, {name: value})
    inner: tuple[Document, ...] = ({}, {"a": 1}, {"a": 1, "b": 9}, {"a": 7, "b": 2}, {"a": 1, "c": "x"})
    for document in inner:
        await _post(kind, {"deep": document})
    for port in (1, "a", "b", True):
        await _post(kind, {"port": port})
    await kind.remove()


async def faults_that_stay(stage: Stage) -> None:
    kind = Defined(stage, "relics", "Relic")
    await kind.create(version(spec_schema({"a": _STRING, "b": _STRING})))
    await stage.ask("POST", kind.path(), kind.body("one", spec={"a": "long", "b": "x"}))
    strict = spec_schema(
        {"a": {"type": "string", "maxLength": 2}, "b": _STRING, "c": {"type": "string", "default": "z"}}
    )
    await kind.change({"spec": {"versions": [version(strict)]}}, quiet=True)
    await stage.until(kind.path("one"), lambda answer: "c" in answer.get("spec", {}))
    await stage.ask("GET", kind.path("one"))
    await stage.ask("PATCH", kind.path("one"), {"spec": {"b": "y"}}, content_type=MERGE)
    await stage.ask("PATCH", kind.path("one"), {"spec": {"a": "longer"}}, content_type=MERGE)
    await stage.ask("PATCH", kind.path("one"), {"spec": {"a": "ok"}}, content_type=MERGE)
    await kind.remove()


async def true_is_not_one(stage: Stage) -> None:
    """Nor is 1 the same as 1.0 where anything may stand."""
    kind = Defined(stage, "switches", "Switch")
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    await kind.create(version(spec_schema({"size": {"type": "integer"}, "free": anything})))
    await stage.ask("POST", kind.path(), kind.body("one", spec={"size": 1, "free": {"x": 1, "y": 0}}))
    for size in (True, 1):
        await stage.ask("PATCH", kind.path("one"), {"spec": {"size": size}}, content_type=MERGE)
    for free in ({"x": True}, {"y": False}, {"x": 1}, {"x": 1.0}):
        await stage.ask("PATCH", kind.path("one"), {"spec": {"free": free}}, content_type=MERGE)
    for manager, value in (("a", True), ("b", 1)):
        body = {"spec": {"free": {"x": value}}, "metadata": {"labels": {"by": manager}}}
        query = {"fieldManager": manager}
        await stage.ask("PATCH", kind.path("one"), body, query=query, content_type=MERGE)
    await kind.remove()


async def embedded_objects(stage: Stage) -> None:
    kind = Defined(stage, "shells", "Shell")
    whole = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    await kind.create(version(spec_schema({"object": whole})))
    for value in (
        {},
        {"kind": "A", "apiVersion": "v1"},
        {"kind": 1, "apiVersion": "v1"},
        {"kind": "", "apiVersion": ""},
        {"kind": "9", "apiVersion": "a/b/c"},
        {"kind": "A", "apiVersion": "v1", "metadata": {"name": "A_", "labels": {"a": "b"}}, "x": 1},
        {"kind": "A", "apiVersion": "v1", "metadata": {"name": "a/b", "labels": {"a b": "c"}}},
    ):
        await _post(kind, {"object": value})
    await kind.remove()


HISTORIES = (
    pruned_and_defaulted,
    values_that_are_wrong,
    formats_of_strings,
    schemas_of_schemas,
    faults_that_stay,
    true_is_not_one,
    embedded_objects,
)
