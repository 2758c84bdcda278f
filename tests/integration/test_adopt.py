"""`fleet adopt` as a person runs it, against a server with access control."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from fleet import cli
from shards.api.client import Client
from shards.errors import AlreadyExists
from shards.keyrange import slot_of
from shards.objects import SLOT_LABEL, Object, Resource
from shards.testing.server import EmbeddedServer
from shards.transport.kube import connect
from tests.integration.pods import WEBSITES_FILE, fleet_config

pytestmark = pytest.mark.integration

WEBSITES = Resource.parse("demo.shardfleet.dev/v1/websites")
CONFIGMAPS = Resource.parse("v1/configmaps")
CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")
NAMESPACE = "adoption"


@pytest.fixture
async def client(embedded: EmbeddedServer) -> AsyncIterator[Client]:
    transport = await connect(kubeconfig=str(embedded.kubeconfig))
    client = Client(transport)
    with contextlib.suppress(AlreadyExists):
        await client.create(CRDS, "", yaml.safe_load(WEBSITES_FILE.with_name("websites-crd.yaml").read_text()))
    with contextlib.suppress(AlreadyExists):
        await client.create(Resource.parse("v1/namespaces"), "", {"metadata": {"name": NAMESPACE}})
    yield client
    await transport.close()


async def old_page(client: Client, name: str) -> Object:
    site = await client.create(
        WEBSITES,
        NAMESPACE,
        {
            "apiVersion": "demo.shardfleet.dev/v1",
            "kind": "Website",
            "metadata": {"name": name},
            "spec": {"replicas": 1, "html": "x"},
        },
    )
    owner = {"apiVersion": "demo.shardfleet.dev/v1", "kind": "Website", "name": name, "uid": site["metadata"]["uid"]}
    metadata = {"name": name, "ownerReferences": [owner | {"controller": True}]}
    await client.create(CONFIGMAPS, NAMESPACE, {"metadata": metadata, "data": {"a": "1"}})
    return site


async def test_it_counts_then_writes_then_finds_nothing_left(
    embedded: EmbeddedServer, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sites = [await old_page(client, f"old-{number}") for number in range(3)]
    config = fleet_config(tmp_path, scope={"namespaces": [NAMESPACE]})
    arguments = ["adopt", "--config", str(config), "--kubeconfig", str(embedded.kubeconfig)]

    async def adopt(*more: str) -> tuple[int, str]:
        code = await asyncio.to_thread(cli.main, [*arguments, *more])
        return code, capsys.readouterr().out

    code, said = await adopt()
    assert code == 1
    assert said.splitlines() == [
        "v1/configmaps: 3 children, 3 without their slot label",
        "apps/v1/deployments: 0 children, 0 without their slot label",
        "nothing was written; --yes writes 3 labels, which takes 0 s",
    ]
    code, said = await adopt("--yes", "--rate", "100")
    assert code == 0
    assert said.splitlines() == [
        "v1/configmaps: 3 children, 0 without their slot label, 3 got it now",
        "apps/v1/deployments: 0 children, 0 without their slot label, 0 got it now",
        "0 children are left without their slot label: featureGates.SlotLabels may be on",
    ]
    code, said = await adopt("-o", "json")
    assert code == 0
    assert [(each["resource"], each["children"], each["left"]) for each in json.loads(said)] == [
        ("v1/configmaps", 3, 0),
        ("apps/v1/deployments", 0, 0),
    ]
    for number, site in enumerate(sites):
        found = await client.get(CONFIGMAPS, NAMESPACE, f"old-{number}")
        assert found["metadata"]["labels"] == {SLOT_LABEL: slot_of(site["metadata"]["uid"])}
        assert found["data"] == {"a": "1"}
