"""Starts that must fail on a real API server: one sentence that says what would be right, no traceback, exit code 1."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.plane import ControlPlane
from tests.integration.pods import FLEET, fleet_config

SOMEBODY = "/api/v1/namespaces/default/serviceaccounts"


def refusal(config: Path, kubeconfig: Path) -> str:
    """The sentence that `fleet run` ends with."""
    command = [FLEET, "run", "--config", str(config), "--kubeconfig", str(kubeconfig)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    [sentence] = done.stderr.strip().splitlines()
    return sentence


def changed(plane: ControlPlane, directory: Path, *, cluster: dict[str, Any], user: dict[str, Any]) -> Path:
    """The plane's kubeconfig with another cluster entry or another user."""
    document = yaml.safe_load(plane.kubeconfig.read_text())
    if cluster:
        document["clusters"][0]["cluster"] = cluster
    if user:
        document["users"][0]["user"] = user
    file = directory / "kubeconfig"
    file.write_text(yaml.safe_dump(document))
    return file


def test_a_crd_that_is_not_installed_is_named(real_cluster: ControlPlane, tmp_path: Path) -> None:
    controller = tmp_path / "lonely.py"
    controller.write_text(
        "from shards import Controller\n"
        'lonely = Controller("lonely", primary="nowhere.shardfleet.dev/v1/lonelies")\n'
        "@lonely.reconcile\n"
        "async def reconcile(ctx, request): ...\n"
    )
    said = refusal(fleet_config(tmp_path, controller=f"{controller}:lonely"), real_cluster.kubeconfig)
    assert "nowhere.shardfleet.dev/v1/lonelies" in said
    assert "CustomResourceDefinition" in said or "CRD" in said


def test_a_missing_permission_is_named_with_its_verb_and_resource(real_cluster: ControlPlane, tmp_path: Path) -> None:
    real_cluster.request("POST", SOMEBODY, {"metadata": {"name": "nobody-in-particular"}})
    answer = real_cluster.request("POST", f"{SOMEBODY}/nobody-in-particular/token", {"spec": {}})
    token = json.loads(answer)["status"]["token"]
    kubeconfig = changed(real_cluster, tmp_path, cluster={}, user={"token": token})
    config = fleet_config(tmp_path, controller=f"{_config_maps(tmp_path)}:pages")
    said = refusal(config, kubeconfig)
    assert "configmaps" in said
    assert "list" in said
    assert "permission" in said or "allowed" in said or "Role" in said


def test_credentials_that_the_server_does_not_know_are_said_to_be_wrong(
    real_cluster: ControlPlane, tmp_path: Path
) -> None:
    kubeconfig = changed(real_cluster, tmp_path, cluster={}, user={"token": "of-somebody-else"})
    said = refusal(fleet_config(tmp_path, controller=f"{_config_maps(tmp_path)}:pages"), kubeconfig)
    assert "credentials" in said


def test_a_server_whose_certificate_cannot_be_trusted_is_not_spoken_to(
    real_cluster: ControlPlane, tmp_path: Path
) -> None:
    kubeconfig = changed(real_cluster, tmp_path, cluster={"server": real_cluster.url}, user={})
    said = refusal(fleet_config(tmp_path, controller=f"{_config_maps(tmp_path)}:pages"), kubeconfig)
    assert "certificate" in said


@pytest.mark.parametrize("server", ["http://127.0.0.1:9"])
def test_a_server_that_is_not_there_is_named(real_cluster: ControlPlane, tmp_path: Path, server: str) -> None:
    kubeconfig = changed(real_cluster, tmp_path, cluster={"server": server}, user={})
    said = refusal(fleet_config(tmp_path, controller=f"{_config_maps(tmp_path)}:pages"), kubeconfig)
    assert server in said
    assert "cannot be reached" in said


def _config_maps(directory: Path) -> Path:
    """A controller for a resource that every server has."""
    controller = directory / "pages.py"
    controller.write_text(
        "from shards import Controller\n"
        'pages = Controller("pages", primary="v1/configmaps")\n'
        "@pages.reconcile\n"
        "async def reconcile(ctx, request): ...\n"
    )
    return controller
