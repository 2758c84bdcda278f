"""Experiments on a fleet that runs in a cluster: here its pods are objects, and a few lines play the kubelet."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.targets import servers
from chaos.targets.api import BlockingApi
from chaos.targets.background import Background
from chaos.targets.bed import SITES
from chaos.targets.kube import KubeFleet
from chaos.targets.kube_pods import PODS
from chaos.targets.ownership import owned_share
from chaos.targets.target import TargetFailed
from fleet.cli import main
from fleet.records.object_names import Names
from shards.errors import NotFound
from shards.objects import Object
from tests.integration.pods import Pod, fleet_config
from tests.integration.waiting import wait_for

pytestmark = pytest.mark.integration

NAMES = Names("web", "default")
LOOK_SECONDS = 0.1


class Kubelet:
    """Runs the two pods of a StatefulSet that are there as objects, and makes those again that are deleted."""

    def __init__(self, kubeconfig: Path, directory: Path) -> None:
        self._background = Background()
        self._api = BlockingApi(kubeconfig, self._background)
        self._kubeconfig = kubeconfig
        self._directory = directory
        self._config = fleet_config(
            directory, controller=f"{SITES}:sites", shards={"count": 4}, coordination={"leaseSeconds": 3}
        )
        self._running: dict[str, tuple[str, Pod]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> Kubelet:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        for _, begun in self._running.values():
            begun.power_off()
        self._api.close()
        self._background.close()

    def _work(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            for name in ("web-0", "web-1"):
                self._look_at(name)

    def _look_at(self, name: str) -> None:
        running = self._running.get(name)
        try:
            found = self._api.get(PODS, "default", name)
        except NotFound:
            found = self._api.create(PODS, "default", _pod(name))
        if running is None or found["metadata"]["uid"] != running[0]:
            if running is not None:
                running[1].power_off()
            directory = self._directory / found["metadata"]["uid"]
            directory.mkdir()
            begun = Pod(name, self._config, self._kubeconfig, directory, uid=found["metadata"]["uid"])
            self._running[name] = found["metadata"]["uid"], begun.__enter__()


def _pod(name: str) -> Object:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "fleet", "image": "fleet"}]}}


@pytest.fixture
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of a server with a fleet of two pods of two workers, all of whose keys are owned."""
    directory = tmp_path_factory.mktemp("k")
    crd = SITES.with_name("sites-crd.yaml")
    with servers.embedded(directory, load=(crd,)) as server, Kubelet(server.kubeconfig, directory):
        wait_for(
            lambda: owned_share(server.control.verdict(), ()) == 1.0 and len(server.control.verdict().timeline) == 4,
            within_seconds=30,
            what="every key has an owner",
        )
        yield server.kubeconfig


def test_a_pod_is_lost_and_the_journal_of_records_tells_who_owned_what(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", "pod-lost", "--target", "kube", "--kubeconfig", str(kubeconfig), "-n", "default", "--json"]
    code = main(["chaos", *arguments, "--fleet", "web", "--yes-break-my-fleet"])
    out, err = capsys.readouterr()
    assert code == 0, err
    journal = json.loads(out)
    assert (journal["status"], journal["target"]) == ("completed", "kube")
    judged = {each["id"]: each["outcome"] for each in journal["verdict"]["invariants"]}
    assert {name for name, outcome in judged.items() if outcome == "held"} >= {"I2", "I8", "I27"}
    assert "broken" not in judged.values()
    takeover = journal["steady_states"]["after"]["probes"][-1]["output"]
    assert 0 < takeover <= 3


def test_what_is_out_of_reach_is_said(kubeconfig: Path) -> None:
    with KubeFleet(NAMES, kubeconfig=kubeconfig, context=None, primary=None) as fleet:
        assert fleet.pods.names() == ["web-0", "web-1"]
        assert (fleet.ranges, fleet.lease_seconds) == (4, 3.0)
        with pytest.raises(
            TargetFailed, match=r"worker-0 of web-0 is out of reach of the API; run this on --target dev"
        ):
            fleet.pods.kill("web-0", "worker-0")
        with pytest.raises(TargetFailed, match="say with --primary which objects"):
            fleet.people.touch()


def test_a_fleet_that_is_not_there_is_named(kubeconfig: Path) -> None:
    wanted = Names("other", "default")
    with pytest.raises(TargetFailed, match="there is no fleet other in default: it has no map other-map"):
        KubeFleet(wanted, kubeconfig=kubeconfig, context=None, primary=None).__enter__()
