from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.changes.strategic import StrategicError, merge_strategically
from fleet.devcluster.kinds.structure import Structure

STRUCTURE = Structure(
    {
        "type": "object",
        "properties": {
            "named": {
                "type": "array",
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "name",
                "items": {"type": "object", "properties": {"name": {}, "size": {}}},
            },
            "set": {"type": "array", "x-kubernetes-patch-strategy": "merge", "items": {"type": "string"}},
            "plain": {"type": "array", "items": {"type": "string"}},
            "whole": {"type": "object", "x-kubernetes-patch-strategy": "replace", "additionalProperties": {}},
            "map": {"type": "object", "additionalProperties": {}},
        },
    },
    {},
)


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        ({"map": {"a": 1, "b": 1}}, {"map": {"a": None, "c": 2}}, {"map": {"b": 1, "c": 2}}),
        ({"map": {"a": 1}}, {"map": {"$patch": "replace", "b": 2}}, {"map": {"b": 2}}),
        ({"map": {"a": 1}}, {"map": {"$patch": "delete"}}, {"map": {}}),
        ({"map": {"a": 1, "b": 1}}, {"map": {"$retainKeys": ["b"], "b": 2}}, {"map": {"b": 2}}),
        ({"whole": {"a": 1}}, {"whole": {"b": 2}}, {"whole": {"b": 2}}),
        ({"plain": ["a"]}, {"plain": ["b"]}, {"plain": ["b"]}),
        ({"set": ["a", "b"]}, {"set": ["c", "a"]}, {"set": ["c", "a", "b"]}),
        ({"set": ["a", "b"]}, {"$deleteFromPrimitiveList/set": ["a"]}, {"set": ["b"]}),
        ({"set": ["a", "b"]}, {"$setElementOrder/set": ["b", "a"]}, {"set": ["b", "a"]}),
        (
            {"named": [{"name": "a", "size": 1}]},
            {"named": [{"name": "a", "x": 2}]},
            {"named": [{"name": "a", "size": 1, "x": 2}]},
        ),
        ({"named": named("a", "b")}, {"named": named("c")}, {"named": named("c", "a", "b")}),
        ({"named": named("a", "b")}, {"named": [{"name": "a", "$patch": "delete"}]}, {"named": named("b")}),
        ({"named": named("a")}, {"named": [{"$patch": "replace"}, {"name": "b"}]}, {"named": named("b")}),
        (
            {"named": named("a", "b", "c")},
            {"$setElementOrder/named": named("c", "a"), "named": [{"name": "c", "size": 1}]},
            {"named": [{"name": "b"}, {"name": "c", "size": 1}, {"name": "a"}]},
        ),
        ({}, {"named": [{"name": "a", "x": None}, {"name": "b", "$patch": "delete"}]}, {"named": named("a")}),
        ({"map": {"a": 1}}, {"map": "text"}, {"map": "text"}),
    ],
)
def test_a_strategic_patch_merges_by_type(original: Any, patch: Any, result: Any) -> None:
    assert merge_strategically(original, patch, STRUCTURE) == result


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ({"map": {"$patch": "other"}}, 500, "unknown patch type: other in map: map[$patch:other]"),
        ({"map": {"$patch": 5}}, 500, "unknown patch type: %!s(int64=5) in map: map[$patch:5]"),
        ({"map": {"$retainKeys": ["a"], "b": 1}}, 400, "invalid patch format of retainKeys"),
        ({"$deleteFromPrimitiveListset": ["a"]}, 400, "invalid patch format of primitive list"),
        ({"$setElementOrdernamed": []}, 400, "invalid patch format of setElementOrder list"),
        ({"named": [{"size": 1}]}, 500, "map: map[size:1] does not contain declared merge key: name"),
        ({"named": ["a"]}, 500, "list element types are not identical: [[map[name:a]] [a]]"),
        ({"set": [1]}, 500, "list element types are not identical: [[a] [1]]"),
        ({"$setElementOrder/named": named("b"), "named": named("a")}, 500, "The order in patch list"),
    ],
)
def test_a_patch_that_makes_no_sense_says_why(patch: Any, code: int, message: str) -> None:
    original = {"map": {"a": 1}, "named": named("a"), "set": ["a"]}
    with pytest.raises(StrategicError) as refused:
        merge_strategically(original, patch, STRUCTURE)
    assert refused.value.code == code
    assert str(refused.value).startswith(message)
