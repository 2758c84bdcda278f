"""What deploy/ holds, on a real API server: accepted to the letter, and just enough rights to do the work."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fleet.dev.player import DeploymentPlayer
from shards.objects import Resource
from shards.transport.kube import connect
from tests.cluster.plane import GARBAGE_COLLECTION, ControlPlane
from tests.integration.pods import ROOT, WEBSITES_FILE, Pod
from tests.integration.test_real_fleet import Site, in_background

BASE = ROOT / "deploy" / "base"
STRICT = "dryRun=All&fieldValidation=Strict"
PLURALS = {
    "ServiceAccount": "serviceaccounts",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Service": "services",
    "StatefulSet": "statefulsets",
}


def manifests() -> list[dict[str, Any]]:
    files = yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]
    return [document for file in files for document in yaml.safe_load_all((BASE / file).read_text())]


def collection(manifest: dict[str, Any]) -> str:
    namespace = "" if manifest["kind"].startswith("Cluster") else "default"
    return Resource.parse(f"{manifest['apiVersion']}/{PLURALS[manifest['kind']]}").path(namespace)


@pytest.fixture
def plane(cluster_binary: Path, tmp_path: Path) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path / "plane", binary=cluster_binary, controllers=GARBAGE_COLLECTION) as plane:
        yield plane


@pytest.mark.parametrize(
    "manifest", manifests(), ids=lambda manifest: f"{manifest['kind']}/{manifest['metadata']['name']}"
)
def test_every_manifest_is_accepted_with_strict_validation(
    real_cluster: ControlPlane, manifest: dict[str, Any]
) -> None:
    answer = json.loads(real_cluster.request("POST", f"{collection(manifest)}?{STRICT}", manifest))
    assert answer["metadata"]["name"] == manifest["metadata"]["name"]


@pytest.mark.timeout(120)
async def test_the_service_accounts_rights_are_enough_for_the_main_job(plane: ControlPlane, tmp_path: Path) -> None:
    admin = await connect(kubeconfig=str(plane.kubeconfig))
    try:
        site = Site(admin)
        await site.install()
        for manifest in manifests():
            if manifest["kind"] not in ("Service", "StatefulSet"):
                plane.request("POST", collection(manifest), manifest)
        await site.create(20)
        async with in_background(DeploymentPlayer(admin, user_agent="player").run()):
            with Pod("websites-0", _config(tmp_path), _kubeconfig(plane, tmp_path), tmp_path) as pod:
                await site.settle(within_seconds=60)
        log = pod.log.read_text()
        assert "forbidden" not in log
        assert "ERROR" not in log
    finally:
        await admin.close()


def _config(directory: Path) -> Path:
    """deploy/base/fleet.yaml, with the controller where it is here and no fixed port."""
    document = yaml.safe_load((BASE / "fleet.yaml").read_text())
    document["controller"] = f"{WEBSITES_FILE}:websites"
    document["agent"] = {"metricsPort": 0, "address": "127.0.0.1"}
    file = directory / "fleet.yaml"
    file.write_text(yaml.safe_dump(document))
    return file


def _kubeconfig(plane: ControlPlane, directory: Path) -> Path:
    """As the pod's service account."""
    path = "/api/v1/namespaces/default/serviceaccounts/websites/token"
    token = json.loads(plane.request("POST", path, {"spec": {}}))["status"]["token"]
    document = yaml.safe_load(plane.kubeconfig.read_text())
    document["users"][0]["user"] = {"token": token}
    file = directory / "kubeconfig"
    file.write_text(yaml.safe_dump(document))
    return file
