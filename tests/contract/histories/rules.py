"""Validation rules of custom resources (`x-kubernetes-validations`)."""

from __future__ import annotations

from typing import Any

from tests.contract.histories.defined import Defined, definition_of, spec_schema, version
from tests.contract.histories.objects import DEFINITIONS
from tests.contract.transcripts import MERGE, Document, Stage

_DRY = {"dryRun": "All"}
_STRING: Document = {"type": "string", "maxLength": 30}
_INTEGER: Document = {"type": "integer"}
_STRINGS: Document = {"type": "array", "maxItems": 5, "items": _STRING}
_INTEGERS: Document = {"type": "array", "maxItems": 5, "items": _INTEGER}
_MAP: Document = {"type": "object", "maxProperties": 5, "additionalProperties": _STRING}


def _rules(*rules: str, **more: Any) -> list[Document]:
    return [{"rule": each, **more} for each in rules]


def _schema(properties: Document, *rules: str) -> Document:
    return spec_schema(properties, **{"x-kubernetes-validations": _rules(*rules)})


async def _post(kind: Defined, spec: Any, **fields: Any) -> None:
    await kind.stage.ask("POST", kind.path(), kind.body("a", spec=spec, **fields), query=_DRY)


def _without_messages(answer: Document) -> None:
    """Of compilers: only codes, reasons and fields are compared."""
    answer.pop("message", None)
    for cause in answer.get("details", {}).get("causes", ()):
        cause.pop("message", None)


async def rules_of_values(stage: Stage) -> None:
    kind = Defined(stage, "judges", "Judge")
    properties: Document = {
        "low": _INTEGER,
        "high": _INTEGER,
        "name": _STRING,
        "names": _STRINGS,
        "numbers": _INTEGERS,
        "map": _MAP,
        "ratio": {"type": "number"},
        "port": {"x-kubernetes-int-or-string": True, "maxLength": 10},
        "time": {"type": "string", "format": "date-time"},
        "wait": {"type": "string", "format": "duration"},
        "raw": {"type": "string", "format": "byte", "maxLength": 20},
        "with-dash": _INTEGER,
        "a.b/c": _INTEGER,
        "x__y": _INTEGER,
        "namespace": _STRING,
    }
    await kind.create(
        version(
            _schema(
                properties,
                "!has(self.low) || !has(self.high) || self.low <= self.high",
                "!has(self.name) || self.name.startsWith('a') && self.name.size() < 6",
                "!has(self.names) || self.names.all(n, n.matches('^[a-z]+$'))",
                "!has(self.numbers) || self.numbers.isSorted() && self.numbers.sum() < 20",
                "!has(self.map) || !('bad' in self.map) && self.map.all(k, self.map[k] != '')",
                "!has(self.ratio) || self.ratio < 2.5",
                "!has(self.port) || (type(self.port) == int ? self.port > 10 : self.port == 'http')",
                "!has(self.time) || self.time > timestamp('2026-01-01T00:00:00Z')",
                "!has(self.wait) || self.wait <= duration('1h')",
                "!has(self.raw) || self.raw == b'abc'",
                "!has(self.with__dash__dash) || self.with__dash__dash > 1",
                "!has(self.a__dot__b__slash__c) || self.a__dot__b__slash__c > 1",
                "!has(self.x__underscores__y) || self.x__underscores__y > 1",
                "!has(self.__namespace__) || self.__namespace__.lowerAscii() == self.__namespace__",
                "!has(self.names) || self.names.exists(n, n == 'a') && self.names.filter(n, n == 'b').size() <= 1",
                "!has(self.names) || self.names.map(n, n + 'x').exists_one(n, n == 'ax')",
            )
        )
    )
    for spec in (
        {"low": 1, "high": 2},
        {"low": 3, "high": 2},
        {"name": "abc"},
        {"name": "bcd"},
        {"name": "abcdefg"},
        {"names": ["a", "b"]},
        {"names": ["a", "B"]},
        {"names": ["b"]},
        {"names": ["a", "a", "b", "b"]},
        {"numbers": [1, 2, 3]},
        {"numbers": [2, 1]},
        {"numbers": [1, 30]},
        {"map": {"good": "x"}},
        {"map": {"bad": "x"}},
        {"map": {"good": ""}},
        {"ratio": 1},
        {"ratio": 3},
        {"port": 80},
        {"port": 8},
        {"port": "http"},
        {"port": "ftp"},
        {"time": "2026-05-01T00:00:00Z"},
        {"time": "2025-05-01T00:00:00+01:00"},
        {"wait": "30m"},
        {"wait": "1h1s"},
        {"raw": "YWJj"},
        {"raw": "YWJk"},
        {"with-dash": 1},
        {"a.b/c": 1},
        {"x__y": 1},
        {"namespace": "A"},
        {"low": "x", "name": "b"},
    ):
        await _post(kind, spec)
    await kind.remove()


async def rules_that_fail(stage: Stage) -> None:
    kind = Defined(stage, "failings", "Failing")
    properties: Document = {
        "n": _INTEGER,
        "s": _STRING,
        "l": _INTEGERS,
        "m": _MAP,
        "port": {"x-kubernetes-int-or-string": True, "maxLength": 10},
        "o": {"type": "object", "properties": {"a": _INTEGER}},
    }
    rules = (
        "10 / self.n > 1",
        "10 % self.n > 0",
        "self.l[2] == 1",
        "self.m['q'] == 'a'",
        "self.port + 1 > 1",
        "int(self.s) == 1",
        "duration(self.s) > duration('1s')",
        "self.l.max() > 1",
        "self.o.a == 1",
        "9223372036854775807 + self.n > 1",
        "self.s.find('[0-9]+') == '5'",
        "self.n < 1.5",
    )
    await kind.create(version(_schema(properties, *rules)))
    for spec in ({}, {"n": 0, "s": "x", "l": [1], "m": {}, "port": "a"}, {"n": 7, "s": "a5", "l": [], "o": {}}):
        await _post(kind, spec)
    await kind.remove()


async def words_of_rules(stage: Stage) -> None:
    kind = Defined(stage, "words", "Word")
    entries: list[Document] = [
        {"rule": "self.a != 1", "message": "a must not be one"},
        {"rule": "self.a != 2", "messageExpression": "'a is ' + self.b"},
        {"rule": "self.a != 3", "message": "fallback", "messageExpression": "self.m['none']"},
        {"rule": "self.a != 4", "reason": "FieldValueForbidden", "fieldPath": ".b"},
        {"rule": "self.a != 5", "reason": "FieldValueRequired", "message": " spaces ", "fieldPath": ".m.x"},
        {"rule": "self.a != 6", "reason": "FieldValueDuplicate", "fieldPath": "['b']"},
        {"rule": "self.a != 7", "reason": "FieldValueInvalid", "message": "seven"},
        {"rule": "self.a != 8", "messageExpression": "'  '"},
        {"rule": "self.a != 9\n || false", "message": "over lines"},
    ]
    low = {**_INTEGER, "x-kubernetes-validations": _rules("self < 100", "self != 55")}
    schema = spec_schema({"a": low, "b": _STRING, "m": _MAP}, **{"x-kubernetes-validations": entries})
    await kind.create(version(schema))
    for number in (*range(10), 55, 100):
        await _post(kind, {"a": number})
    await kind.remove()


async def rules_at_any_depth(stage: Stage) -> None:
    kind = Defined(stage, "depths", "Depth")
    item: Document = {
        "type": "object",
        "required": ["k"],
        "properties": {"k": _STRING, "v": {**_INTEGER, "x-kubernetes-validations": _rules("self > 0")}},
        "x-kubernetes-validations": _rules("self.k != 'no'", "!has(oldSelf.v) || self.v >= oldSelf.v"),
    }
    keyed = {
        "type": "array",
        "maxItems": 5,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": item,
        "x-kubernetes-validations": _rules("self.size() > 0"),
    }
    named: Document = {**_MAP, "additionalProperties": {**_STRING, "x-kubernetes-validations": _rules("self != 'no'")}}
    schema = spec_schema({"keyed": keyed, "named": named})
    schema["properties"]["status"] = {
        "type": "object",
        "properties": {"n": _INTEGER},
        "x-kubernetes-validations": _rules("self.n > 0"),
    }
    schema["x-kubernetes-validations"] = _rules("self.metadata.name.startsWith('a')", "has(self.spec)")
    await kind.create(version(schema, subresources={"status": {}}))
    await _post(kind, {"keyed": []})
    await _post(kind, {"keyed": [{"k": "no"}]})
    await _post(kind, {"keyed": [{"k": "a", "v": 1}, {"k": "b", "v": 0}]})
    await _post(kind, {"named": {"x": "no"}})
    await stage.ask("POST", kind.path(), kind.body("b"))
    await stage.ask("POST", kind.path(), kind.body("a", spec={"keyed": [{"k": "x", "v": 5}], "named": {"y": "yes"}}))
    for patch in (
        {"spec": {"keyed": [{"k": "x", "v": 4}]}},
        {"spec": {"keyed": [{"k": "new", "v": 1}, {"k": "x", "v": 6}]}},
        {"spec": {"named": {"y": "no"}}},
    ):
        await stage.ask("PATCH", kind.path("a"), patch, content_type=MERGE)
    for number in (0, 1):
        path = kind.path("a", "status")
        await stage.ask("PATCH", path, {"status": {"n": number}}, content_type=MERGE)
    await kind.remove()


async def rules_of_transitions(stage: Stage) -> None:
    kind = Defined(stage, "moves", "Move")
    schema = spec_schema(
        {
            "fixed": {**_STRING, "x-kubernetes-validations": _rules("self == oldSelf", message="is immutable")},
            "grows": _INTEGER,
            "once": _STRING,
        },
        **{
            "x-kubernetes-validations": [
                {"rule": "self.grows >= oldSelf.grows"},
                {"rule": "oldSelf.hasValue() || self.grows < 5", "optionalOldSelf": True},
                {"rule": "!oldSelf.hasValue() || self.?once.orValue('q') != 'x'", "optionalOldSelf": True},
            ]
        },
    )
    await kind.create(version(schema))
    await _post(kind, {"grows": 9})
    await stage.ask("POST", kind.path(), kind.body("a", spec={"grows": 1, "fixed": "x"}))
    for patch in (
        {"grows": 9},
        {"grows": 3},
        {"fixed": "y"},
        {"fixed": None},
        {"fixed": "z"},
        {"once": "x"},
    ):
        await stage.ask("PATCH", kind.path("a"), {"spec": patch}, content_type=MERGE)
    await kind.remove()


async def rules_that_came_later(stage: Stage) -> None:
    """One fault per object: the real server walks fields in random order."""
    kind = Defined(stage, "laters", "Later")
    plain: Document = {"a": _STRING, "b": _STRING, "l": _STRINGS}
    await kind.create(version(spec_schema(plain)))
    await stage.ask("POST", kind.path(), kind.body("field", spec={"a": "long", "b": "x"}))
    await stage.ask("POST", kind.path(), kind.body("items", spec={"l": ["long", "ok"], "b": "x"}))
    short: Document = {**_STRING, "x-kubernetes-validations": _rules("self.size() < 3")}
    strict = {"a": short, "b": short, "l": {**_STRINGS, "items": short}, "c": {"type": "string", "default": "z"}}
    await kind.change({"spec": {"versions": [version(spec_schema(strict))]}}, quiet=True)
    await stage.until(kind.path("field"), lambda answer: "c" in answer.get("spec", {}))
    for name, patch in (
        ("field", {"b": "y"}),
        ("field", {"b": "wrong"}),
        ("field", {"a": "longer"}),
        ("field", {"a": "ok"}),
        ("field", {"b": "z"}),
        ("items", {"b": "y"}),
        ("items", {"l": ["long", "ok", "x"]}),
        ("items", {"l": ["ok"]}),
    ):
        answer = await stage.ask("PATCH", kind.path(name), {"spec": patch}, content_type=MERGE)
        await stage.seen(kind.path(name), answer)
    await kind.remove()


async def definitions_with_wrong_rules(stage: Stage) -> None:
    items: Document = {**_INTEGER, "x-kubernetes-validations": _rules("self == oldSelf")}
    for entries in (
        _rules("self.a >"),
        _rules("self.zz > 1"),
        _rules("has(self.zz)"),
        _rules("self.a"),
        _rules("self.a == 'x'"),
        _rules("self.a + 1.5 > 1.0"),
        _rules("nothing(self.a)"),
        _rules("self.a > 1", messageExpression="self.a"),
        _rules("self.a > 1", messageExpression="self.zz"),
        _rules("self.a > 1", optionalOldSelf=True),
        _rules("self.a > oldSelf.a", optionalOldSelf=True),
        _rules("self.a > 1", fieldPath=".zz"),
        _rules("self.a > 1", fieldPath="a"),
        _rules("self.s.all(c, c > 1)"),
        _rules("self.l.all(c, c > 'a')"),
        _rules("self.a > 1", "self.zz > 1", "self.a < oldSelf.a"),
    ):
        schema = spec_schema({"a": _INTEGER, "s": _STRING, "l": _INTEGERS}, **{"x-kubernetes-validations": entries})
        made = definition_of(stage, "wrongs", "Wrong", version(schema))
        await stage.ask("POST", DEFINITIONS, made, query=_DRY, before=_without_messages)
    made = definition_of(stage, "wrongs", "Wrong", version(spec_schema({"l": {**_INTEGERS, "items": items}})))
    await stage.ask("POST", DEFINITIONS, made, query=_DRY)


HISTORIES = (
    rules_of_values,
    rules_that_fail,
    words_of_rules,
    rules_at_any_depth,
    rules_of_transitions,
    rules_that_came_later,
    definitions_with_wrong_rules,
)
