"""Empty fields, as the Go types of the real server write them."""

from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.builtins.values import shape_of
from fleet.devcluster.kinds.catalogue import schema_name


def settled(group: str, kind: str, body: dict[str, Any]) -> dict[str, Any]:
    return shape_of(schema_name(group, "v1", kind)).settle(body)


def test_a_zero_that_is_no_pointer_is_left_out() -> None:
    spec = settled("", "Pod", {"spec": {"hostNetwork": False, "nodeName": "", "containers": [{"name": "c"}]}})["spec"]
    assert "hostNetwork" not in spec
    assert "nodeName" not in spec


def test_a_zero_behind_a_pointer_is_kept() -> None:
    body = settled("apps", "Deployment", {"spec": {"replicas": 0, "paused": False}})
    assert body["spec"]["replicas"] == 0
    assert "paused" not in body["spec"]


def test_an_empty_list_goes_and_an_empty_struct_stays() -> None:
    spec = settled("", "Pod", {"spec": {"containers": [{"name": "c", "args": [], "securityContext": {}}]}})["spec"]
    assert "args" not in spec["containers"][0]
    assert spec["containers"][0]["securityContext"] == {}


def test_a_struct_that_is_no_pointer_is_always_there() -> None:
    assert settled("", "Pod", {"spec": {"containers": [{"name": "c"}]}})["spec"]["containers"][0]["resources"] == {}
    assert settled("policy", "PodDisruptionBudget", {})["status"]["disruptionsAllowed"] == 0


@pytest.mark.parametrize(
    ("group", "kind", "field"),
    [("rbac.authorization.k8s.io", "Role", "rules"), ("discovery.k8s.io", "EndpointSlice", "endpoints")],
)
def test_a_missing_list_that_must_be_written_is_null(group: str, kind: str, field: str) -> None:
    assert settled(group, kind, {})[field] is None


def test_an_empty_list_is_none_only_once_it_is_stored() -> None:
    body = settled("rbac.authorization.k8s.io", "Role", {"rules": []})
    assert body["rules"] == []
    shape_of(schema_name("rbac.authorization.k8s.io", "v1", "Role")).stored(body)
    assert body["rules"] is None


def test_metadata_is_left_to_others() -> None:
    assert settled("", "ConfigMap", {"metadata": {"labels": {}}}) == {"metadata": {"labels": {}}}
