from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from fleet.devcluster.fields.sets import (
    MEMBER,
    FieldSet,
    difference,
    intersection,
    is_member,
    node_of,
    ordered,
    paths_of,
    union,
)

PATHS = st.sets(st.lists(st.sampled_from(["f:a", "f:b", 'k:{"n":1}']), min_size=1, max_size=3).map(tuple), max_size=8)


def of(paths: set[tuple[str, ...]]) -> FieldSet:
    found: FieldSet = {}
    for path in paths:
        tree: FieldSet = {}
        for element in reversed(path):
            tree = {element: tree}
        found = union(found, tree)
    return found


def canonical(fields: Any) -> bool:
    """No empty branch, and no "." where there is nothing beside it."""
    return all(
        element == "."
        or not node
        or (node != {".": {}} and canonical(node) and node_of(node, member=False) is not None)
        for element, node in fields.items()
    )


@given(PATHS)
def test_a_set_gives_the_paths_back_that_it_was_made_of(paths: set[tuple[str, ...]]) -> None:
    assert set(paths_of(of(paths))) == paths


@given(PATHS, PATHS)
def test_sets_behave_like_sets_of_paths(left: set[tuple[str, ...]], right: set[tuple[str, ...]]) -> None:
    for made, wanted in (
        (union(of(left), of(right)), left | right),
        (difference(of(left), of(right)), left - right),
        (intersection(of(left), of(right)), left & right),
    ):
        assert set(paths_of(made)) == wanted
        assert canonical(made)


@given(PATHS, PATHS)
def test_a_recursive_difference_takes_what_is_below_along(
    left: set[tuple[str, ...]], right: set[tuple[str, ...]]
) -> None:
    wanted = {path for path in left if not any(path[: len(each)] == each for each in right)}
    assert set(paths_of(difference(of(left), of(right), recursive=True))) == wanted


@given(PATHS, PATHS)
def test_arguments_stay_as_they_are(left: set[tuple[str, ...]], right: set[tuple[str, ...]]) -> None:
    first, second = of(left), of(right)
    for operation in (union, difference, intersection):
        operation(first, second)
    assert set(paths_of(first)) == left
    assert set(paths_of(second)) == right
    assert MEMBER == {}


def test_a_union_that_adds_nothing_is_the_same_object() -> None:
    fields: FieldSet = {"f:a": {".": {}, "f:b": {}}}
    assert union(fields, {"f:a": {"f:b": {}}}) is fields


def test_elements_are_ordered_by_kind_and_content() -> None:
    fields: FieldSet = {
        "v:2": {},
        'k:{"p":443}': {},
        'k:{"p":80}': {},
        "f:b": {},
        "f:a": {"f:d": {}, ".": {}},
        "v:10": {},
    }
    assert list(ordered(fields)) == ["f:a", "f:b", 'k:{"p":80}', 'k:{"p":443}', "v:2", "v:10"]
    assert list(ordered(fields)["f:a"]) == [".", "f:d"]


def test_a_node_is_a_member_when_it_is_empty_or_says_so() -> None:
    assert is_member({})
    assert is_member({".": {}, "f:a": {}})
    assert not is_member({"f:a": {}})
