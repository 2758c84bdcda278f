"""The page of a running pod has every metric that docs/metrics.md has, and no other."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path

import yaml
from prometheus_client.parser import text_string_to_metric_families

from shards.api.client import Client
from shards.objects import Resource
from shards.testing.server import EmbeddedServer
from shards.transport.kube import connect
from tests.integration.pods import ROOT, WEBSITES_FILE, Pod, fleet_config
from tests.integration.small_fleet import website
from tests.integration.waiting import eventually

WEBSITES = Resource.parse("demo.shardfleet.dev/v1/websites")
CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")
_ROW = re.compile(r"^\| `([\w<>]+)` \| (counter|gauge|histogram) \| ?([^|]*)\|", re.MULTILINE)

Metrics = dict[str, tuple[str, frozenset[str]]]
"""Type and labels by name, a counter's with its `_total`."""


def documented() -> Metrics:
    rows = _ROW.findall((ROOT / "docs/metrics.md").read_text())
    return {
        name.replace("<controller>", "websites"): (kind, frozenset(re.findall(r"`(\w+)`", labels)))
        for name, kind, labels in rows
    }


def exported(pod: Pod) -> Metrics:
    found = {}
    for family in text_string_to_metric_families(page(pod)):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = frozenset().union(*(sample.labels for sample in family.samples)) - {"le"}
        found[name] = (family.type, labels)
    return found


def page(pod: Pod) -> str:
    port = re.findall(r"metrics and health on port (\d+)", pod.log.read_text())
    if not port:
        return ""
    with urllib.request.urlopen(f"http://127.0.0.1:{port[-1]}/metrics", timeout=10) as answer:
        text: str = answer.read().decode()
    return text


async def test_a_running_pod_exports_what_is_documented_and_nothing_else(tmp_path: Path) -> None:
    config = fleet_config(
        tmp_path,
        controller=f"{Path(__file__).with_name('every_metric_controller.py')}:websites",
        shards={"count": 2},
        client={"fleetRequestsPerSecond": 500},
    )
    with EmbeddedServer(tmp_path) as server:
        transport = await connect(kubeconfig=str(server.kubeconfig))
        client = Client(transport, user_agent="somebody")
        await client.create(CRDS, "", yaml.safe_load(WEBSITES_FILE.with_name("websites-crd.yaml").read_text()))
        for name in ("fails", "terminal", "hangs", "looks", "writes", "deletes"):
            await client.create(WEBSITES, "default", website(name))
        with Pod("web-0", config, server.kubeconfig, tmp_path) as pod:
            await eventually(lambda: len(pod.children()) == 3, within_seconds=20, what="the pod runs")
            await eventually(lambda: "claimed" in pod.log.read_text(), within_seconds=20, what="shards are owned")
            pod.kill("worker-0")
            await eventually(
                lambda: not documented().keys() - exported(pod).keys(),
                within_seconds=30,
                what="every metric has a value",
            )
            found = exported(pod)
        await transport.close()
    assert found == documented()


def test_the_documented_metrics_are_read_with_their_types_and_labels() -> None:
    assert documented()["reflector_lists_total"] == ("counter", frozenset({"name"}))
    assert documented()["shardfleet_fences_total"] == ("counter", frozenset())
