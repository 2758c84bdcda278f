from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fleet.configuration.config import FleetConfig
from fleet.configuration.config_file import load_config
from fleet.configuration.controllers import load_controller
from fleet.pod.preflight import Need, needs
from fleet.records.object_names import Kind, Names
from fleet.records.record import DocumentName

ROOT = Path(__file__).parents[3]
BASE = ROOT / "deploy/base"


@pytest.fixture(scope="module")
def config() -> FleetConfig:
    return load_config(BASE / "fleet.yaml")


def objects(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((BASE / name).read_text()))


def granted() -> set[tuple[str, str, str, str]]:
    """(scope, group, resource with subresource, verb) of every rule; scope "" for the ClusterRole."""
    found = set()
    for role in objects("rbac.yaml"):
        scope = "" if role["kind"] == "ClusterRole" else "fleet"
        for rule in role.get("rules", ()):
            found |= {
                (scope, group, resource, verb)
                for group in rule["apiGroups"]
                for resource in rule["resources"]
                for verb in rule["verbs"]
            }
    return found


def wanted(need: Need) -> set[tuple[str, str, str, str]]:
    name = f"{need.resource.plural}/{need.subresource}" if need.subresource else need.resource.plural
    return {(need.namespace, need.resource.group, name, verb) for verb in need.verbs}


def test_the_roles_grant_what_the_checks_at_start_ask_for_and_little_more(config: FleetConfig) -> None:
    controller = load_controller("websites.py:websites", base=ROOT / "docs/examples").controller
    names = Names(config.fleet, "fleet")
    asked = set().union(*(wanted(need) for need in needs([controller], config.shard_settings().scope, names)))
    assert granted() >= asked
    more = granted() - asked
    events = {each for each in more if each[2] == "events"}
    assert {each[-1] for each in events} == {"create", "patch"}
    assert more - events == {("", "demo.shardfleet.dev", "websites/finalizers", "update")}


def test_the_objects_named_in_the_role_are_the_fleet_s(config: FleetConfig) -> None:
    names = [
        name
        for role in objects("rbac.yaml")
        for rule in role.get("rules", ())
        for name in rule.get("resourceNames", ())
    ]
    assert names == [f"{config.fleet}-map", f"{config.fleet}-quarantine", f"{config.fleet}-controls"]


def test_the_config_map_has_the_name_and_the_labels_by_which_the_fleet_finds_it(config: FleetConfig) -> None:
    [base] = objects("kustomization.yaml")
    [generated] = base["configMapGenerator"]
    names = Names(config.fleet, "fleet")
    assert generated["name"] == names.document(DocumentName.CONFIG)
    assert generated["options"]["labels"] == names.labels(Kind.DOCUMENT)


def test_pods_are_given_longer_to_end_than_their_workers_need(config: FleetConfig) -> None:
    [stateful_set] = objects("statefulset.yaml")
    pod = stateful_set["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > config.workers.grace_seconds
    environment = {entry["name"] for entry in pod["containers"][0]["env"]}
    assert environment >= {"POD_NAME", "POD_UID", "POD_NAMESPACE"}
    assert stateful_set["spec"]["serviceName"] == objects("service.yaml")[0]["metadata"]["name"]


def test_probes_and_service_use_the_port_of_the_config(config: FleetConfig) -> None:
    [stateful_set], [service] = objects("statefulset.yaml"), objects("service.yaml")
    [port] = stateful_set["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert port["containerPort"] == service["spec"]["ports"][0]["port"] == config.agent.metrics_port


def test_every_resource_of_the_base_exists() -> None:
    [base] = objects("kustomization.yaml")
    assert all((BASE / name).is_file() for name in (*base["resources"], *base["configMapGenerator"][0]["files"]))
