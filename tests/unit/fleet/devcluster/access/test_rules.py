from __future__ import annotations

import pytest

from fleet.devcluster.access.attributes import Attributes, forbidden
from fleet.devcluster.access.rules import Rule
from fleet.devcluster.wire.identity import Identity

ANN = Identity("ann")
EVERYTHING = Rule(verbs=("*",), api_groups=("*",), resources=("*",))
SCALES = Rule(verbs=("get",), api_groups=("apps",), resources=("*/scale",))
NAMED = Rule(verbs=("get",), api_groups=("",), resources=("configmaps",), resource_names=("mine",))
PATHS = Rule(verbs=("get",), non_resource_urls=("/debug/*", "/metrics"))


def resource(verb: str, group: str, name: str, subresource: str = "", of: str = "") -> Attributes:
    return Attributes(ANN, verb, group, "v1", name, subresource, "default", of)


@pytest.mark.parametrize(
    ("rule", "wanted", "allowed"),
    [
        (EVERYTHING, resource("delete", "apps", "deployments", "scale"), True),
        (EVERYTHING, Attributes(ANN, "get", path="/metrics"), False),
        (SCALES, resource("get", "apps", "deployments", "scale"), True),
        (SCALES, resource("get", "apps", "deployments"), False),
        (SCALES, resource("get", "batch", "jobs", "scale"), False),
        (SCALES, resource("update", "apps", "deployments", "scale"), False),
        (NAMED, resource("get", "", "configmaps", of="mine"), True),
        (NAMED, resource("get", "", "configmaps", of="other"), False),
        (NAMED, resource("get", "", "configmaps"), False),
        (NAMED, resource("get", "", "configmaps", "status", of="mine"), False),
        (PATHS, Attributes(ANN, "get", path="/metrics"), True),
        (PATHS, Attributes(ANN, "get", path="/debug/pprof"), True),
        (PATHS, Attributes(ANN, "get", path="/debug"), False),
        (PATHS, Attributes(ANN, "post", path="/metrics"), False),
    ],
)
def test_a_rule_allows_what_it_names(rule: Rule, wanted: Attributes, allowed: bool) -> None:
    assert rule.allows(wanted) is allowed


def test_a_refusal_says_who_may_not_do_what_where() -> None:
    refused = forbidden(resource("update", "apps", "deployments", "scale", of="web"), "")
    assert refused.message == (
        'deployments.apps "web" is forbidden: User "ann" cannot update resource "deployments/scale" '
        'in API group "apps" in the namespace "default"'
    )
    assert refused.details == {"name": "web", "group": "apps", "kind": "deployments"}


def test_a_refused_path_has_no_details() -> None:
    refused = forbidden(Attributes(ANN, "get", path="/metrics"), "RBAC: something is missing")
    assert refused.message == 'forbidden: User "ann" cannot get path "/metrics": RBAC: something is missing'
    assert refused.details == {}
