"""The value of a Secret is in nothing that a fleet tells, whatever authors, servers and libraries make of it."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest
import yaml

from shards.api.client import Client
from shards.objects import Object, Resource
from shards.testing.server import EmbeddedServer
from shards.transport.kube import connect
from tests.integration.pods import JOURNALS, WEBSITES_FILE, Pod, fleet_config, fleet_status
from tests.integration.secret_controllers import SITES
from tests.integration.small_fleet import website
from tests.integration.test_metrics_page import CRDS, WEBSITES, page
from tests.integration.waiting import eventually

SECRETS = Resource.parse("v1/secrets")
LEASES = Resource.parse("coordination.k8s.io/v1/leases")
CANARY = "tweety-4711"
FORMS = (CANARY, b64encode(CANARY.encode()).decode())


def told(text: str) -> list[str]:
    """The lines that show the word."""
    return [line for line in text.splitlines() if any(form in line for form in FORMS)]


@pytest.mark.parametrize("form", FORMS)
def test_a_line_that_shows_it_would_be_found(form: str) -> None:
    assert told(f"fine\nfailed: ValueError('cannot use {form}')\nfine") == [f"failed: ValueError('cannot use {form}')"]


def secret(name: str) -> Object:
    applied = f'{{"apiVersion":"v1","kind":"Secret","stringData":{{"word":"{CANARY}"}}}}'
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": applied}
    metadata = {"name": name, "namespace": "default", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"word": CANARY}}


@pytest.mark.parametrize("style", ["text", "json"])
async def test_no_log_record_metric_status_or_journal_shows_it(
    style: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", CANARY)
    file = Path(__file__).with_name("secret_controllers.py")
    config = fleet_config(
        tmp_path,
        controllers=[f"{file}:websites", f"{file}:secrets"],
        shards={"count": 2},
        log={"level": "debug", "format": style},
    )
    both = yaml.safe_load(config.read_text())
    del both["controller"]
    config.write_text(yaml.safe_dump(both))
    with EmbeddedServer(tmp_path) as server:
        transport = await connect(kubeconfig=str(server.kubeconfig))
        client = Client(transport, user_agent="somebody")
        await client.create(CRDS, "", yaml.safe_load(WEBSITES_FILE.with_name("websites-crd.yaml").read_text()))
        await client.create(SECRETS, "default", secret("given"))
        for name in SITES:
            await client.create(WEBSITES, "default", website(name))
        with Pod("web-0", config, server.kubeconfig, tmp_path) as pod:
            log = pod.log.read_text
            await eventually(lambda: log().count("failed, next try") > 40, within_seconds=40, what="reconciles fail")
            marks = ("transform failed", "cannot succeed", "waits:", "the word is", "stands still", "took longer")
            await eventually(lambda: all(mark in log() for mark in marks), within_seconds=40, what=str(marks))
            await eventually(
                lambda: len(fleet_status(server.kubeconfig)["failing"]) >= 8, within_seconds=40, what="keys fail"
            )
            status = str(fleet_status(server.kubeconfig))
            metrics = page(pod)
        leases = str(await client.list(LEASES, "default"))
        await transport.close()
    journals = "".join(each.read_text() for each in (tmp_path / JOURNALS).glob("*"))
    for name, text in {"log": log(), "status": status, "metrics": metrics, "leases": leases, "notes": journals}.items():
        assert text, name
        assert told(text) == [], name
