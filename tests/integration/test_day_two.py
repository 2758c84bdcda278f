"""A day in the life of a fleet, by its commands and by kubectl: frozen, drained, killed, told in Events, removed. Pods
as processes, on both servers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from shards.api.client import Client
from shards.errors import Conflict
from shards.objects import Resource
from shards.testing.server import EmbeddedServer
from shards.transport.kube import connect
from tests.clients.kubectls import debians
from tests.integration.pods import END_SECONDS, FLEET, WEBSITES_FILE, Pod, fleet_config
from tests.integration.waiting import eventually

CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")
NAME = "day-two"
BOTH = {"day-0", "day-1"}


@pytest.fixture(params=["embedded", "real"])
def kubeconfig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if request.param == "real":
        yield request.getfixturevalue("real_kubeconfig")
    else:
        with EmbeddedServer(tmp_path) as server:
            yield server.kubeconfig


class Operator:
    """Somebody at a terminal."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = str(kubeconfig)
        self.kubectl = str(debians(print).binary)

    def fleet(self, *words: str, code: int = 0) -> str:
        """What the command says on both streams."""
        command = [FLEET, *words, "--kubeconfig", self.kubeconfig, "-n", "default", "--fleet", NAME]
        done = subprocess.run(command, capture_output=True, text=True, timeout=4 * END_SECONDS, check=False)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    def status(self) -> dict[str, Any]:
        command = [FLEET, "status", "--kubeconfig", self.kubeconfig, "-n", "default", "--fleet", NAME, "-o", "json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=END_SECONDS, check=False)
        found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {"shards": [], "unowned": [""]}
        return found

    def events(self, *words: str) -> str:
        command = [self.kubectl, "--kubeconfig", self.kubeconfig, "-n", "default", "get", "events", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=END_SECONDS, check=True).stdout

    def owners(self) -> set[str]:
        """Pods, when all is owned; else nobody."""
        found = self.status()
        if not found["shards"] or found["unowned"]:
            return set()
        return {row["owner"].rpartition("-")[0] for row in found["shards"]}


async def install(kubeconfig: Path) -> None:
    transport = await connect(kubeconfig=str(kubeconfig))
    try:
        crd = yaml.safe_load(WEBSITES_FILE.with_name("websites-crd.yaml").read_text())
        await Client(transport, user_agent="somebody").create(CRDS, "", crd)
    except Conflict:
        pass  # on a server that others use too
    finally:
        await transport.close()


@pytest.mark.timeout(300)
async def test_a_day_of_a_fleet(kubeconfig: Path, tmp_path: Path) -> None:
    await install(kubeconfig)
    config = fleet_config(tmp_path, fleet=NAME, shards={"count": 8}, coordination={"leaseSeconds": 6})
    somebody = Operator(kubeconfig)
    somebody.fleet("uninstall", "--yes")  # what a run that was interrupted left on a server that lives on
    with Pod("day-0", config, kubeconfig, tmp_path) as one, Pod("day-1", config, kubeconfig, tmp_path) as other:
        await eventually(
            lambda: somebody.owners() == {"day-0", "day-1"}, within_seconds=60, what="both pods own shards"
        )

        assert "is frozen: only shards whose owner is gone" in somebody.fleet("freeze", "--why", "incident 12")
        assert "is frozen already, since " in somebody.fleet("freeze")
        assert ": incident 12" in somebody.fleet("freeze")
        assert "frozen since" in somebody.fleet("status")
        assert "the fleet is frozen" in somebody.fleet("drain", "day-1")
        assert "is frozen no more" in somebody.fleet("unfreeze")
        assert "was not frozen" in somebody.fleet("unfreeze")

        assert "is drained already" in somebody.fleet("drain", "day-1", "--wait")
        assert somebody.owners() == {"day-0"}
        assert "no member or pod of day-two is called 'day-9'; members are day-0-0" in somebody.fleet(
            "drain", "day-9", code=2
        )
        assert "day-1 is drained no more" in somebody.fleet("undrain", "day-1")
        await eventually(
            lambda: somebody.owners() == {"day-0", "day-1"}, within_seconds=60, what="both own shards again"
        )

        one.kill("worker-0")
        await eventually(lambda: "Takeover" in somebody.events(), within_seconds=30, what="the takeover is told")
        told = somebody.events("--field-selector", f"involvedObject.name={NAME}-map")
        for reason in ("Frozen", "Unfrozen", "Drained", "Undrained"):
            assert f" {reason} " in told, told
        assert f"lease/{NAME}-shard-uidv1-" in somebody.events()

        assert "live, so nothing was removed" in somebody.fleet("uninstall", "--yes", code=1)
        assert other.terminate() == 0
        assert one.terminate() == 0
    said = somebody.fleet("uninstall", "--yes")
    assert "removed 1 document, 1 map, " in said or "removed 1 map, 1 document, " in said
    assert "left alone: the config, if it is in a ConfigMap" in said
    assert "keeps nothing in namespace default" in somebody.fleet("uninstall", "--yes")
