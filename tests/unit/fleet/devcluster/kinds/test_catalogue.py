"""The data of built-in kinds."""

from __future__ import annotations

from fleet.devcluster.kinds.catalogue import entries, schema_name, schemas, values
from fleet.devcluster.kinds.custom import custom_subresources, storage_version_hash
from fleet.devcluster.kinds.resources import BUILT_IN, Registry
from fleet.devcluster.kinds.rules import RULES, VIRTUAL


def test_every_stored_resource_has_a_schema_and_is_served_once_per_version() -> None:
    stored = [each for each in entries() if each.stored]
    assert [(each.resource.group, each.resource.plural) for each in BUILT_IN] == [(e.group, e.name) for e in stored]
    assert len({each.resource for each in BUILT_IN}) == len(BUILT_IN)
    assert all(schema_name(each.group, each.version, f"{each.kind}List") for each in stored)


def test_the_rules_are_of_resources_that_exist() -> None:
    known = {(each.group, each.name) for each in entries()}
    assert set(RULES) <= known
    assert known >= VIRTUAL


def test_references_of_schemas_lead_somewhere() -> None:
    pod = schemas()["io.k8s.api.core.v1.Pod"]["properties"]["spec"]["allOf"][0]["$ref"]
    assert pod.removeprefix("#/components/schemas/") in schemas()


def test_a_go_type_says_which_fields_it_leaves_out() -> None:
    assert "hostNetwork" in values()["io.k8s.api.core.v1.PodSpec"].left_out
    assert "terminationGracePeriodSeconds" not in values()["io.k8s.api.core.v1.PodSpec"].left_out
    assert values()["io.k8s.api.rbac.v1.Role"].null == ("rules",)


def test_the_hash_of_a_stored_version_is_that_of_the_real_server() -> None:
    hashes = {each.name: each.storage_version_hash for each in entries() if each.group == "apps"}
    assert storage_version_hash("apps", "v1", "Deployment") == hashes["deployments"]


def test_a_custom_resource_has_the_subresources_that_it_declares() -> None:
    assert [each.name for each in custom_subresources("Website", {"status": {}})] == ["status"]
    assert [each.kind for each in custom_subresources("Website", {"scale": {}})] == ["Scale"]


def test_a_registry_counts_its_changes() -> None:
    registry = Registry()
    before = registry.revision
    registry.add(BUILT_IN[0])
    assert registry.revision > before
    assert registry.has_built_in("authorization.k8s.io")
