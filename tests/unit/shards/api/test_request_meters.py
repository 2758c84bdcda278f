"""What a process counts of its requests, over the real transport."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from shards.clock import boot_seconds
from shards.errors import Conflict, NotOwner, Unreachable
from shards.metrics import RequestMetrics
from shards.transport.kube import KubeTransport, connect
from tests.unit.shards.transport.http_server import STREAM, Server, answer, chunk, kubeconfig


class Rig:
    """A server, a transport to it, and what that counted."""

    def __init__(self, server: Server, transport: KubeTransport, registry: CollectorRegistry) -> None:
        self.server = server
        self.transport = transport
        self.registry = registry
        self.host = f"127.0.0.1:{server.port}"

    def requests(self) -> dict[tuple[str, str], float]:
        """By method and code."""
        return {
            (sample.labels["method"], sample.labels["code"]): sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == "rest_client_requests_total" and sample.labels["host"] == self.host
        }

    def value(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(name, {"host": self.host, **labels}) or 0.0


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    registry = CollectorRegistry()
    async with Server().running() as server:
        path = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{server.port}")
        transport = await connect(kubeconfig=path, metrics=RequestMetrics(registry))
        yield Rig(server, transport, registry)
        await transport.close()


async def test_requests_are_counted_by_method_and_code_and_timed_by_verb_and_code(rig: Rig) -> None:
    rig.server.answers = lambda request: answer(201 if request.method == "POST" else 200, b'{"a":1}')
    await rig.transport.request("GET", "/api")
    await rig.transport.request("GET", "/api")
    await rig.transport.request("POST", "/api", body=b"{}")

    assert rig.requests() == {("GET", "200"): 2, ("POST", "201"): 1}
    assert rig.value("rest_client_request_duration_seconds_count", verb="GET", code="200") == 2
    assert rig.value("rest_client_request_size_bytes_sum", verb="POST") == 2
    assert rig.value("rest_client_response_size_bytes_sum", verb="GET") == 14


async def test_a_failure_is_counted_by_its_status(rig: Rig) -> None:
    rig.server.answers = lambda _: answer(409, b'{"kind":"Status","code":409,"reason":"Conflict"}')
    with pytest.raises(Conflict):
        await rig.transport.request("PUT", "/api", body=b"{}")
    assert rig.requests() == {("PUT", "409"): 1}


async def test_no_answer_is_counted_as_an_error(rig: Rig) -> None:
    rig.server.answers = lambda _: None
    with pytest.raises(Unreachable):
        await rig.transport.request("PUT", "/api", body=b"{}", timeout_seconds=0.05)
    assert rig.requests() == {("PUT", "<error>"): 1}
    assert rig.value("rest_client_request_duration_seconds_count", verb="PUT", code="<error>") == 1
    assert rig.value("rest_client_response_size_bytes_count", verb="PUT") == 0


async def test_what_was_not_sent_is_not_counted(rig: Rig) -> None:
    with pytest.raises(NotOwner):
        await rig.transport.request("PUT", "/api", body=b"{}", not_after=boot_seconds() - 1)
    assert rig.requests() == {}


async def test_a_watch_is_counted_when_it_is_answered_and_not_timed(rig: Rig) -> None:
    rig.server.answers = lambda _: STREAM + chunk(b"{}\n")
    async with rig.transport.stream("/watch") as chunks:
        async for _ in chunks:
            break
    assert rig.requests() == {("GET", "200"): 1}
    assert rig.value("rest_client_request_duration_seconds_count", verb="GET", code="200") == 0
