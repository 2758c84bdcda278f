"""Compaction: the embedded server against a real one whose etcd forgets within seconds."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tests.cluster.plane import ControlPlane
from tests.contract.differences import difference
from tests.contract.histories.objects import CONFIG_MAPS, config_map
from tests.contract.transcripts import Document, Stage, stage

if TYPE_CHECKING:
    from pathlib import Path

    from shards.testing.server import EmbeddedServer

Compact = Callable[[], Awaitable[None]]


async def compaction(stage: Stage, compact: Compact) -> None:
    """What old versions and tokens answer before and after. Watches go on: their cache remembers what etcd forgot."""
    collection = stage.path(CONFIG_MAPS)
    made = [await stage.ask("POST", collection, config_map(name, {})) for name in ("a", "b", "c")]
    version = made[1]["metadata"]["resourceVersion"]
    token = (await stage.ask("GET", collection, query={"limit": "1"}))["metadata"]["continue"]
    await stage.ask("DELETE", stage.path(CONFIG_MAPS, "c"), quiet=True)
    exact = {"resourceVersion": version, "resourceVersionMatch": "Exact"}
    await stage.ask("GET", collection, query=exact)
    await stage.ask("GET", collection, query={"continue": token})
    await compact()
    await stage.until(
        f"{collection}?resourceVersion={version}&resourceVersionMatch=Exact", lambda answer: answer.get("code") == 410
    )
    await stage.ask("GET", collection, query=exact)
    await stage.ask("GET", collection, query={"resourceVersion": version, "limit": "1"})
    await stage.ask("GET", collection, query={"resourceVersion": version})
    await stage.ask("GET", collection, query={"resourceVersion": version, "resourceVersionMatch": "NotOlderThan"})
    refused = await stage.ask("GET", collection, query={"continue": token, "limit": "1"})
    await stage.ask("GET", collection, query={"continue": refused["metadata"]["continue"]})
    async with stage.watch(collection, {"resourceVersion": version}) as read:
        await read(2)


async def played(kubeconfig: Path, compact: Compact) -> list[Document]:
    async with stage(kubeconfig, secrets.token_hex(4)) as made:
        await compaction(made, compact)
        return made.transcript


async def test_both_servers_forget_alike(embedded: EmbeddedServer, cluster_binary: Path, tmp_path: Path) -> None:
    async def compact() -> None:
        embedded.server.storage.compact(watches=False)

    async def on_its_own() -> None:
        """The real server compacts within two intervals."""

    async def embedded_compact() -> None:
        embedded.run(compact())

    found = await played(embedded.kubeconfig, embedded_compact)
    flags = ("--etcd-compaction-interval=2s",)
    with ControlPlane(tmp_path, binary=cluster_binary, apiserver_flags=flags) as plane:
        assert difference(found, await played(plane.kubeconfig, on_its_own)) == ""
    assert sum(step.get("status") == 410 for step in found) == 3
