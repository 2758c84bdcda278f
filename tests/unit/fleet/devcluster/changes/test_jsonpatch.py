from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.changes.jsonpatch import PatchRefused, apply_operations


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        ([{"op": "add", "path": "/b", "value": 2}], {"a": [1, 2], "b": 2}),
        ([{"op": "add", "path": "/a/0", "value": 0}], {"a": [0, 1, 2]}),
        ([{"op": "add", "path": "/a/-", "value": 3}], {"a": [1, 2, 3]}),
        ([{"op": "add", "path": "/a/-1", "value": 3}], {"a": [1, 2, 3]}),
        ([{"op": "remove", "path": "/a/0"}], {"a": [2]}),
        ([{"op": "replace", "path": "/a", "value": "x"}], {"a": "x"}),
        ([{"op": "replace", "path": "/new", "value": "x"}], {"a": [1, 2], "new": "x"}),
        ([{"op": "replace", "path": "/a/-1", "value": 9}], {"a": [1, 9]}),
        ([{"op": "replace", "path": "", "value": {"b": 1}}], {"b": 1}),
        ([{"op": "test", "path": "/a/1", "value": 2}], {"a": [1, 2]}),
        ([{"op": "test", "path": "/none", "value": None}], {"a": [1, 2]}),
        ([{"op": "move", "from": "/a", "path": "/b"}], {"b": [1, 2]}),
        ([{"op": "copy", "from": "/a/0", "path": "/b"}], {"a": [1, 2], "b": 1}),
        ([{"op": "copy", "from": "/none", "path": "/b"}], {"a": [1, 2], "b": None}),
        ([{"op": "add", "path": "/x~1y~0z", "value": 1}], {"a": [1, 2], "x/y~z": 1}),
        ([{"op": "add", "path": "ignored/b", "value": 1}], {"a": [1, 2], "b": 1}),
    ],
)
def test_operations_are_applied_in_order(operations: Any, result: Any) -> None:
    assert apply_operations({"a": [1, 2]}, operations) == result


def test_a_copy_is_independent_of_its_source() -> None:
    operations: list[dict[str, Any]] = [
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/b/-", "value": 2},
    ]
    assert apply_operations({"a": [1]}, operations) == {"a": [1], "b": [1, 2]}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a/0", "value": 9},
        {"op": "test", "path": "/a/0", "value": True},
        {"op": "test", "path": "/none/deep", "value": None},
        {"op": "remove", "path": "/none"},
        {"op": "remove", "path": ""},
        {"op": "add", "path": "/none/deep", "value": 1},
        {"op": "add", "path": "/a/7", "value": 1},
        {"op": "add", "path": "/a/x", "value": 1},
        {"op": "add", "path": "", "value": 1},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "value": 1},
        {"op": "replace", "path": "/none/deep", "value": 1},
        {"op": "move", "from": "/none", "path": "/b"},
        {"op": "move", "path": "/b"},
        {"op": "nonsense", "path": "/a"},
        {"path": "/a", "value": 1},
    ],
)
def test_an_operation_that_does_not_apply_is_refused(operation: Any) -> None:
    with pytest.raises(PatchRefused):
        apply_operations({"a": [1]}, [operation])
