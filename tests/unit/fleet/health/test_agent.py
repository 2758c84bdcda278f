"""The agent's HTTP door."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from fleet.health.agent import AgentServer
from fleet.health.health import HealthServer
from fleet.health.metrics import FleetMetrics, snapshot
from shards.errors import ConfigError


def _agent(run_dir: Path, port: int = 0) -> AgentServer:
    return AgentServer(
        host="127.0.0.1",
        port=port,
        run_dir=run_dir,
        workers=["worker-0", "worker-1"],
        status=lambda: {"coordinator": False},
    )


def _worker(run_dir: Path, name: str, status: Mapping[str, object], fences: int = 0) -> HealthServer:
    registry = CollectorRegistry()
    FleetMetrics(registry).fences.inc(fences)
    return HealthServer(run_dir, name, incarnation=1, status=lambda: status, metrics=lambda: snapshot(registry))


async def _get(agent: AgentServer, path: str) -> tuple[int, str, str]:
    """Status, body, content type."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{agent.port}{path}") as response,
    ):
        return response.status, await response.text(), response.headers["Content-Type"]


async def test_a_pod_is_ready_when_every_worker_says_so(tmp_path: Path) -> None:
    agent = _agent(tmp_path)
    await agent.start()
    first = _worker(tmp_path, "worker-0", {"ready": True})
    await first.start()

    status, body, _ = await _get(agent, "/readyz")
    assert status == 503
    assert body.startswith("worker-1: worker-1 is not there")

    second = _worker(tmp_path, "worker-1", {"ready": False, "reason": "the member Lease is not held"})
    await second.start()
    assert (await _get(agent, "/readyz"))[:2] == (503, "worker-1: the member Lease is not held\n")
    await second.close()

    second = _worker(tmp_path, "worker-1", {"ready": True})
    await second.start()
    assert (await _get(agent, "/readyz"))[:2] == (200, "ok\n")
    for server in (agent, first, second):
        await server.close()


async def test_the_agent_is_healthy_while_its_workers_are_down(tmp_path: Path) -> None:
    agent = _agent(tmp_path)
    await agent.start()

    assert (await _get(agent, "/healthz"))[:2] == (200, "ok\n")
    await agent.close()


async def test_metrics_are_added_up_over_the_workers(tmp_path: Path) -> None:
    agent = _agent(tmp_path)
    await agent.start()
    workers = [_worker(tmp_path, "worker-0", {}, fences=2), _worker(tmp_path, "worker-1", {}, fences=3)]
    for worker in workers:
        await worker.start()

    status, body, content_type = await _get(agent, "/metrics")

    assert status == 200
    assert "shardfleet_fences_total 5.0" in body.splitlines()
    assert content_type.startswith("text/plain; version=")
    await workers[0].close()
    body = (await _get(agent, "/metrics"))[1]
    assert "shardfleet_fences_total 5.0" in body.splitlines()
    assert 'shardfleet_worker_up{worker="worker-0"} 0.0' in body.splitlines()
    await workers[1].close()
    await agent.close()


async def test_status_shows_the_agent_and_every_worker(tmp_path: Path) -> None:
    agent = _agent(tmp_path)
    await agent.start()
    worker = _worker(tmp_path, "worker-0", {"ready": True, "shards": 4})
    await worker.start()

    status, body, content_type = await _get(agent, "/status")

    assert (status, content_type) == (200, "application/json")
    assert '"agent":{"coordinator":false}' in body
    assert '"worker-0":{"ready":true,"shards":4}' in body
    assert '"worker-1":{"ready":false,"reason":"worker-1 is not there' in body
    await worker.close()
    await agent.close()


async def test_a_port_in_use_is_a_clear_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(ConfigError, match=rf"agent\.port: port {port} on 127\.0\.0\.1 is in use"):
            await _agent(tmp_path, port).start()


async def test_an_address_of_another_machine_is_a_clear_sentence(tmp_path: Path) -> None:
    agent = AgentServer(host="192.0.2.1", port=0, run_dir=tmp_path, workers=[])

    with pytest.raises(ConfigError, match=r"cannot listen on 192\.0\.2\.1"):
        await agent.start()
