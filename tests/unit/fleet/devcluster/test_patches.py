from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.patches import PatchError, PatchTestFailed, apply_json_patch, merge

RFC_7386: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("target", "patch", "result"), RFC_7386)
def test_a_merge_patch_follows_the_examples_of_the_rfc(target: Any, patch: Any, result: Any) -> None:
    assert merge(target, patch) == result


def test_a_merge_patch_leaves_its_target_alone() -> None:
    target = {"a": {"b": "c"}}
    merge(target, {"a": {"b": "d"}})
    assert target == {"a": {"b": "c"}}


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        ([{"op": "add", "path": "/b", "value": 2}], {"a": [1, 2], "b": 2}),
        ([{"op": "add", "path": "/a/0", "value": 0}], {"a": [0, 1, 2]}),
        ([{"op": "add", "path": "/a/-", "value": 3}], {"a": [1, 2, 3]}),
        ([{"op": "remove", "path": "/a/0"}], {"a": [2]}),
        ([{"op": "replace", "path": "/a", "value": "x"}], {"a": "x"}),
        ([{"op": "replace", "path": "/new", "value": "x"}], {"a": [1, 2], "new": "x"}),
        ([{"op": "test", "path": "/a/1", "value": 2}], {"a": [1, 2]}),
        ([{"op": "move", "from": "/a", "path": "/b"}], {"b": [1, 2]}),
        ([{"op": "copy", "from": "/a/0", "path": "/b"}], {"a": [1, 2], "b": 1}),
        ([{"op": "add", "path": "/x~1y~0z", "value": 1}], {"a": [1, 2], "x/y~z": 1}),
    ],
)
def test_a_json_patch_is_applied_in_order(operations: Any, result: Any) -> None:
    target = {"a": [1, 2]}
    assert apply_json_patch(target, operations) == result
    assert target == {"a": [1, 2]}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a/0", "value": 9},
        {"op": "remove", "path": "/none"},
        {"op": "add", "path": "/none/deep", "value": 1},
        {"op": "add", "path": "/a/7", "value": 1},
    ],
)
def test_a_json_patch_that_does_not_apply_is_refused(operation: Any) -> None:
    with pytest.raises(PatchTestFailed):
        apply_json_patch({"a": [1]}, [operation])


@pytest.mark.parametrize(
    "patch", [{}, [1], [{"op": "nonsense", "path": "/a"}], [{"op": "add", "path": "a", "value": 1}]]
)
def test_a_malformed_json_patch_is_refused(patch: Any) -> None:
    with pytest.raises(PatchError):
        apply_json_patch({"a": 1}, patch)
