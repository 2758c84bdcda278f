"""Merge patches between what is and what is wanted."""

from __future__ import annotations

from typing import Any

import pytest

from shards.ownership.desired import merge_changes, status_changes

SPEC: dict[str, Any] = {
    "spec": {
        "replicas": 1,
        "paused": False,
        "containers": [{"name": "web", "image": "nginx", "imagePullPolicy": "Always"}],
        "strategy": {"type": "Recreate"},
    }
}


@pytest.mark.parametrize(
    ("desired", "patch"),
    [
        ({"spec": {"replicas": 1}}, {}),
        ({"spec": {"replicas": 2}}, {"spec": {"replicas": 2}}),
        ({"spec": {"replicas": True}}, {"spec": {"replicas": True}}),
        ({"spec": {"paused": 0}}, {"spec": {"paused": 0}}),
        ({"spec": {"containers": [{"name": "web", "image": "nginx"}]}}, {}),
        (
            {"spec": {"containers": [{"name": "web", "image": "httpd"}]}},
            {"spec": {"containers": [{"name": "web", "image": "httpd"}]}},
        ),
        ({"spec": {"containers": []}}, {"spec": {"containers": []}}),
        ({"spec": {"volumes": []}}, {}),
        ({"spec": {"volumes": [{"name": "v"}]}}, {"spec": {"volumes": [{"name": "v"}]}}),
        ({"spec": {"strategy": None}}, {"spec": {"strategy": None}}),
        ({"spec": {"affinity": None, "tolerations": {}}}, {}),
        ({"spec": {"strategy": {"type": "Rolling", "max": 1}}}, {"spec": {"strategy": {"type": "Rolling", "max": 1}}}),
        ({"spec": {"strategy": "text"}}, {"spec": {"strategy": "text"}}),
        ({"data": {"a": "1"}}, {"data": {"a": "1"}}),
        ({"kind": "Other", "apiVersion": "v9", "status": {"x": 1}}, {}),
    ],
)
def test_a_patch_holds_what_differs_and_nothing_else(desired: dict[str, Any], patch: dict[str, Any]) -> None:
    assert merge_changes(SPEC, desired) == patch


def test_of_metadata_only_labels_annotations_and_finalizers_are_wanted() -> None:
    current = {"metadata": {"name": "a", "uid": "u", "labels": {"kept": "1", "changed": "old"}}}
    desired = {"metadata": {"name": "b", "uid": "v", "labels": {"changed": "new"}, "ownerReferences": [{"uid": "x"}]}}
    assert merge_changes(current, desired) == {"metadata": {"labels": {"changed": "new"}}}


def test_a_status_list_must_be_equal_element_by_element() -> None:
    current = {"conditions": [{"type": "Ready", "message": "old"}], "size": 1}
    assert status_changes(current, {"conditions": [{"type": "Ready"}]}) == {"conditions": [{"type": "Ready"}]}
    assert status_changes(current, {"size": 1}) == {}


def test_applying_the_patch_leaves_nothing_to_do() -> None:
    def apply(target: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
        result = {**target}
        for name, value in patch.items():
            if value is None:
                result.pop(name, None)
            elif isinstance(value, dict):
                below = result.get(name)
                result[name] = apply(below if isinstance(below, dict) else {}, value)
            else:
                result[name] = value
        return result

    desired = {"spec": {"replicas": 3, "strategy": None, "containers": [{"name": "a"}, {"name": "b"}], "x": {"y": [1]}}}
    assert merge_changes(apply(SPEC, merge_changes(SPEC, desired)), desired) == {}
