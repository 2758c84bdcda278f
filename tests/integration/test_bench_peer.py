"""The project as a peer of the runtime's benchmark speaks the harness's protocol, and does its work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from fleet.devcluster.recording.journal import WRITES, Entry
from fleet.devcluster.serversettings import ServerSettings
from shards.testing.server import EmbeddedServer
from tests.clients.peers import SOURCE
from tests.integration.waiting import wait_for

WIDGETS = 60
LEASE_SECONDS = 8.0
"""By default; a worker is fenced after so long."""
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.bench.example.com"},
    "spec": {
        "group": "bench.example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def request(server: EmbeddedServer, path: str, body: dict[str, Any]) -> None:
    sent = urllib.request.Request(
        server.url + path,
        method="POST",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {server.settings.admin_token}", "Content-Type": "application/json"},
    )
    urllib.request.urlopen(sent, timeout=10).close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """One of its own: the peer works on every widget that there is."""
    with EmbeddedServer(tmp_path, ServerSettings(admin_token="admin")) as found:
        request(found, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
        for number in range(WIDGETS):
            widget = {"metadata": {"name": f"w-{number}"}, "spec": {"size": number}}
            body = {"apiVersion": "bench.example.com/v1", "kind": "Widget", **widget}
            request(found, "/apis/bench.example.com/v1/namespaces/default/widgets", body)
        yield found


class Peer:
    """The peer as the harness runs it. events: those that it printed, in order."""

    def __init__(self, program: str, workload: str, kubeconfig: Path | None = None, **more: str) -> None:
        variables = {
            **os.environ,
            "WORKLOAD": workload,
            "N": str(WIDGETS),
            "PYTHONPATH": str(SOURCE.parents[1]),
            **more,
        }
        self.process = subprocess.Popen(
            [sys.executable, str(SOURCE / "python" / program)],
            env={**variables, "KUBECONFIG": str(kubeconfig)},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.events: list[dict[str, Any]] = []

    def until(self, event: str) -> dict[str, Any]:
        """Its next event of that name. The test's own time limit ends a wait for one that never comes."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line))
            if self.events[-1]["event"] == event:
                return self.events[-1]
        raise AssertionError(f"the peer ended before {event}: {self.events}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()


def test_it_tells_what_the_harness_waits_for(server: EmbeddedServer) -> None:
    with Peer("peer_shards.py", "sync", server.kubeconfig) as peer:
        peer.until("all_reconciled")
        peer.process.send_signal(signal.SIGUSR2)
        assert peer.until("latency")["count"] == 0
        peer.process.send_signal(signal.SIGUSR1)
        peer.until("gc")
        peer.process.send_signal(signal.SIGTERM)
        peer.until("stopped")

    told = [each["event"] for each in peer.events]
    assert sorted(told[:4]) == ["all_reconciled", "first_reconcile", "start", "synced"]
    assert next(each["count"] for each in peer.events if each["event"] == "synced") == WIDGETS


def test_it_writes_twice_for_each_widget(server: EmbeddedServer) -> None:
    with Peer("peer_shards.py", "work", server.kubeconfig) as peer:
        peer.until("all_reconciled")
        wait_for(lambda: len(writes(server)) >= 2 * WIDGETS, within_seconds=20, what=f"{2 * WIDGETS} writes")
        done = writes(server)

    assert len(writes(server)) == len(done) == 2 * WIDGETS


def writes(server: EmbeddedServer) -> list[Entry]:
    mine = [each for each in server.journal() if each.user_agent.startswith("fleet/")]
    return [each for each in mine if each.verb in WRITES and each.resource.endswith(("/widgets", "/configmaps"))]


def test_a_fleet_names_the_workers_that_did_something_and_what_they_cost(server: EmbeddedServer) -> None:
    """One that joins when all is done has nothing to be named for."""
    with Peer("peer_fleet.py", "sync", server.kubeconfig, FLEET_WORKERS="2") as peer:
        done = peer.until("all_reconciled")

    assert len(done["workers"]) == len(set(done["workers"])) in {1, 2}
    assert all(done["counts"])
    assert sum(done["counts"]) >= WIDGETS
    assert done["workers_cpu_s"] >= 0


def test_the_queue_is_measured_without_a_server() -> None:
    with Peer("peer_shards.py", "queue", KEYS="1000") as peer:
        assert peer.until("queue")["keys"] == 1000


@pytest.mark.timeout(120)
def test_a_fleet_tells_how_long_a_killed_workers_keys_were_nobodys(server: EmbeddedServer) -> None:
    """A worker starts again at once; a pod's keys are taken over when its last renewal is a lease old, and that came up
    to a third of a lease before the signal."""
    how = "SIGKILL of a worker,SIGKILL of a pod,SIGTERM of a pod"
    with Peer("peer_takeover.py", "failover", server.kubeconfig, REPEATS="1", HOW=how) as peer:
        peer.until("stopped")

    told = {each["how"]: each for each in peer.events if each["event"] == "takeover"}
    assert list(told) == how.split(",")
    assert all(0 < each["seconds"] <= each["all_s"] for each in told.values())
    assert sum(each["keys"] for each in told.values()) >= WIDGETS
    assert told["SIGKILL of a worker"]["all_s"] < LEASE_SECONDS / 2 < told["SIGKILL of a pod"]["all_s"]
