"""`metadata` of an object: what is kept of it, and whether an update touches it."""

from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.changes.metadata import normalised, untouched

OLD = {"name": "a", "uid": "u", "labels": {"x": "1"}, "managedFields": [{"manager": "m"}]}


def test_empty_fields_are_left_out_and_zeros_kept() -> None:
    given = {"labels": {}, "namespace": "", "finalizers": [], "name": "a", "deletionGracePeriodSeconds": 0}
    assert normalised(given) == {"name": "a", "deletionGracePeriodSeconds": 0}
    assert normalised(None) == {}


def test_an_owner_has_all_that_an_owner_must_have() -> None:
    (owner,) = normalised({"ownerReferences": [{"name": "o", "controller": None}]})["ownerReferences"]
    assert owner == {"name": "o", "apiVersion": "", "kind": "", "uid": ""}


def test_an_empty_list_of_managers_is_a_wish_and_kept() -> None:
    assert normalised({"managedFields": []}) == {"managedFields": []}


@pytest.mark.parametrize(
    ("new", "same"),
    [
        ({"name": "a", "uid": "u", "labels": {"x": "1"}}, True),
        (dict(OLD), True),
        ({"name": "a", "uid": "u", "labels": {"x": "2"}}, False),
        ({"name": "a", "uid": "u"}, False),
        ({"name": "a", "uid": "u", "labels": {"x": "1"}, "finalizers": ["a/b"]}, False),
        ({"name": "a", "uid": "u", "labels": {"x": "1"}, "managedFields": []}, False),
    ],
)
def test_metadata_is_untouched_where_all_of_it_is_as_it_was(new: dict[str, Any], same: bool) -> None:
    assert untouched(new, OLD) is same
