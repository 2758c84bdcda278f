"""Keys whose reconciles end their worker are found among those that are merely there, and quarantined."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import yaml

from fleet.records.quarantine import Quarantine, parse_quarantine
from shards.api.client import Client
from shards.errors import NotFound
from shards.objects import PAUSED_ANNOTATION, Object, Resource
from shards.testing.server import EmbeddedServer
from shards.transport.kube import connect
from tests.integration.pods import WEBSITES_FILE, Pod, fleet_config, fleet_status
from tests.integration.waiting import eventually

WEBSITES = Resource.parse("demo.shardfleet.dev/v1/websites")
CONFIG_MAPS = Resource.parse("v1/configmaps")
CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")
CGROUPS = Path("/sys/fs/cgroup/memory")
LIMIT_MIB = 900


@contextlib.contextmanager
def memory_cgroup() -> Iterator[Path | None]:
    """A cgroup with a limit, where this user may make one (version 1); else None."""
    place = CGROUPS / f"fleet-test-{os.getpid()}"
    try:
        place.mkdir()
        (place / "memory.limit_in_bytes").write_text(str(LIMIT_MIB * 2**20))
    except OSError:
        with contextlib.suppress(OSError):
            place.rmdir()
        yield None
        return
    try:
        yield place
    finally:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                place.rmdir()
                break
            time.sleep(0.05)


def website(name: str, **annotations: str) -> Object:
    return {
        "apiVersion": "demo.shardfleet.dev/v1",
        "kind": "Website",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"replicas": 1, "html": name},
    }


class Stage:
    """A server and what is on it."""

    def __init__(self, server: EmbeddedServer, client: Client) -> None:
        self.server = server
        self.client = client

    async def quarantine(self) -> Quarantine:
        try:
            found = await self.client.get(CONFIG_MAPS, "default", "web-quarantine")
        except NotFound:
            return Quarantine()
        return parse_quarantine(found["data"]["quarantine.json"])

    async def quarantined(self) -> set[str]:
        return {key.name for (_, key), entry in (await self.quarantine()).entries.items() if entry.quarantined}

    async def done(self) -> set[str]:
        """Objects whose reconcile has ended well."""
        found = await self.client.list(WEBSITES, "default")
        return {each["metadata"]["name"] for each in found["items"] if each.get("status")}

    def all_owned(self) -> bool:
        with contextlib.suppress(Exception):
            found = fleet_status(self.server.kubeconfig)
            return bool(found["shards"]) and not found["unowned"]
        return False


@contextlib.asynccontextmanager
async def staged(directory: Path) -> AsyncIterator[Stage]:
    with EmbeddedServer(directory) as server:
        transport = await connect(kubeconfig=str(server.kubeconfig))
        client = Client(transport, user_agent="somebody")
        await client.create(CRDS, "", yaml.safe_load(WEBSITES_FILE.with_name("websites-crd.yaml").read_text()))
        try:
            yield Stage(server, client)
        finally:
            await transport.close()


def config(directory: Path, **changes: object) -> Path:
    return fleet_config(
        directory,
        controller=f"{Path(__file__).with_name('poison_controller.py')}:websites",
        shards={"count": 4},
        coordination={"leaseSeconds": 3.0},
        queue={"maxConcurrentReconciles": 8},
        **changes,
    )


@pytest.mark.timeout(300)
async def test_only_those_that_end_workers_are_quarantined_and_all_others_are_reconciled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killers = {"segv", "hog", "block", "exit"}
    innocent = {f"slow-{n}" for n in range(6)} | {f"good-{n}" for n in range(20)}
    monkeypatch.setenv("MENDED", str(tmp_path))
    with memory_cgroup() as cgroup:
        if cgroup is not None:
            monkeypatch.setenv("HOG_MIB", str(4 * LIMIT_MIB))
        async with staged(tmp_path) as stage:
            for name in sorted(killers | innocent):
                await stage.client.create(WEBSITES, "default", website(name))
            with Pod("web-0", config(tmp_path), stage.server.kubeconfig, tmp_path) as pod:
                assert pod.process is not None
                if cgroup is not None:
                    (cgroup / "cgroup.procs").write_text(str(pod.process.pid))
                began = time.monotonic()
                seen: set[str] = set()
                while not (seen >= killers and await stage.done() >= innocent):
                    assert time.monotonic() < began + 240, (seen, await stage.done(), pod.log.read_text()[-5000:])
                    seen |= await stage.quarantined()
                    await eventually(lambda: True, within_seconds=1, what="a moment")
                assert seen == killers
                entries = {key.name: entry for (_, key), entry in (await stage.quarantine()).entries.items()}
                assert entries["segv"].ended == "SIGSEGV"
                assert entries["hog"].ended == "SIGKILL"
                assert entries["exit"].ended == "exit code 0"
                assert entries["block"].ended == "exit code 79"
                assert "reconcile websites default/block" in entries["block"].words
                # All is quiet now: nobody dies any more.
                counts = {name: child.count for name, child in pod.children().items()}
                await stage.client.merge_patch(WEBSITES, "default", "good-1", {"spec": {"html": "new"}})
                (tmp_path / "segv").touch()
                await stage.client.merge_patch(WEBSITES, "default", "segv", {"spec": {"html": "mended"}})
                while await stage.quarantined() != killers - {"segv"} or "segv" not in await stage.done():
                    assert time.monotonic() < began + 280, await stage.quarantine()
                    await eventually(lambda: True, within_seconds=1, what="a moment")
                assert {name: child.count for name, child in pod.children().items()} == counts


async def test_a_worker_that_is_asked_to_recycle_hands_over_and_is_started_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENDED", str(tmp_path))
    async with staged(tmp_path) as stage:
        await stage.client.create(WEBSITES, "default", website("good"))
        await stage.client.create(WEBSITES, "default", website("still", **{PAUSED_ANNOTATION: "true"}))
        with Pod("web-0", config(tmp_path), stage.server.kubeconfig, tmp_path) as pod:
            await eventually(stage.all_owned, within_seconds=30, what="all shards are owned")
            os.kill(pod.children()["worker-0"].pid, signal.SIGUSR1)
            await eventually(
                lambda: "worker-0" in pod.children() and pod.children()["worker-0"].count == 2,
                within_seconds=30,
                what="the worker is started again",
            )
            await eventually(stage.all_owned, within_seconds=30, what="all shards are owned again")
            assert await stage.done() == {"good"}
            assert (await stage.quarantine()).entries == {}
        log = pod.log.read_text()
        assert "exit code 82" in log
        assert "left for good" in log
