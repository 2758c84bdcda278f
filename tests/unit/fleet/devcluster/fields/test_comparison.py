from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.fields.comparison import Comparison, compare, created
from fleet.devcluster.kinds.structure import ANYTHING, Structure

_ITEM = {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer", "default": 3}}}
STRUCTURE = Structure(
    {
        "type": "object",
        "properties": {
            "named": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": _ITEM,
            },
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "path": {"type": "array", "items": {"type": "string"}},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    },
    {},
)
BUILT_IN = Structure(
    {
        "type": "object",
        "required": ["list"],
        "properties": {
            "struct": {"type": "object", "default": {}, "properties": {"text": {"type": "string", "default": ""}}},
            "list": {"type": "array", "items": {"type": "string"}},
            "pointer": {"type": "object", "properties": {"text": {"type": "string", "default": ""}}},
        },
    },
    {"some": {}},
)


@pytest.mark.parametrize(
    ("old", "new", "added", "removed", "modified"),
    [
        ({}, {"labels": {"a": "b"}}, {"f:labels": {".": {}, "f:a": {}}}, {}, {}),
        ({"labels": {"a": "b"}}, {}, {}, {"f:labels": {".": {}, "f:a": {}}}, {}),
        (
            {"labels": {"a": "b"}},
            {"labels": {"a": "c", "d": "e"}},
            {"f:labels": {"f:d": {}}},
            {},
            {"f:labels": {"f:a": {}}},
        ),
        ({"labels": {}}, {"labels": {"a": "b"}}, {"f:labels": {"f:a": {}}}, {}, {}),
        ({}, {"labels": {}}, {"f:labels": {}}, {}, {}),
        ({"path": ["a"]}, {"path": ["a", "b"]}, {}, {}, {"f:path": {}}),
        ({"whole": {"a": "b"}}, {"whole": {"c": "d"}}, {}, {}, {"f:whole": {}}),
        ({"tags": ["a", "b"]}, {"tags": ["b", "c"]}, {"f:tags": {'v:"c"': {}}}, {"f:tags": {'v:"a"': {}}}, {}),
        ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, {}, {}, {}),
        (
            {"named": [{"name": "a", "size": 1}]},
            {"named": [{"name": "b"}, {"name": "a", "size": 2}]},
            {"f:named": {'k:{"name":"b"}': {".": {}, "f:name": {}}}},
            {},
            {"f:named": {'k:{"name":"a"}': {"f:size": {}}}},
        ),
        ({"x": {"y": 1}}, {"x": 3}, {}, {"f:x": {"f:y": {}}}, {"f:x": {}}),
        ({"x": 3}, {"x": {"y": 1}}, {"f:x": {"f:y": {}}}, {}, {"f:x": {}}),
        ({"x": 1}, {"x": True}, {}, {}, {"f:x": {}}),
        ({"x": {"y": 1}}, {"x": {"y": True}}, {}, {}, {"f:x": {"f:y": {}}}),
        ({"x": [1]}, {"x": [True]}, {}, {}, {"f:x": {}}),
    ],
)
def test_a_comparison_tells_what_appeared_vanished_and_changed(
    old: Any, new: Any, added: Any, removed: Any, modified: Any
) -> None:
    structure = ANYTHING if "x" in old else STRUCTURE
    assert compare(old, new, structure) == Comparison(added, removed, modified)


def test_a_struct_that_is_always_there_is_not_added() -> None:
    new = {"struct": {"text": "a"}, "list": ["a"]}
    assert compare({}, new, BUILT_IN) == Comparison({}, {}, {"f:struct": {"f:text": {}}, "f:list": {}})
    assert compare({}, {"struct": {"text": ""}, "list": None}, BUILT_IN) == Comparison()


def test_what_a_new_struct_shows_anyway_is_added_with_it() -> None:
    assert compare({}, {"pointer": {"text": ""}}, BUILT_IN).added == {"f:pointer": {".": {}, "f:text": {}}}


@pytest.mark.parametrize(
    "new",
    [
        {},
        {"labels": {"b": "1", "a": "2"}, "path": ["x"], "whole": {"a": "b"}, "tags": ["t"], "named": [{"name": "a"}]},
        {"labels": {}, "path": [], "tags": [], "named": []},
    ],
)
def test_a_created_object_owns_what_a_comparison_with_nothing_finds(new: Any) -> None:
    assert created(new, STRUCTURE, {}) == compare({}, new, STRUCTURE).added


def test_what_nobody_owns_is_left_out_of_a_created_object() -> None:
    assert created(
        {"labels": {"a": "1", "b": "2"}, "path": []}, STRUCTURE, {"f:labels": {"f:a": {}}, "f:path": {}}
    ) == {"f:labels": {"f:b": {}}}
