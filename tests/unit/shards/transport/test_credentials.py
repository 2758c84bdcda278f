"""Tokens that go stale or are refused, against a small server on the loopback interface."""

from __future__ import annotations

import asyncio
import math
import threading
from pathlib import Path

import pytest

from shards.errors import (
    ConfigError,
    Unauthorized,
)
from shards.transport.credentials import Access, Credentials
from shards.transport.kube import KubeTransport, connect
from tests.unit.shards.transport.http_server import STREAM, Clock, Server, answer, kubeconfig


class TestCredentials:
    async def test_a_token_file_is_read_again_when_the_server_refuses(self, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("old\n")
        clock = Clock()
        async with Server().running() as server:
            server.answers = lambda r: answer() if r.headers["authorization"] == "Bearer new" else answer(401)
            url = f"http://127.0.0.1:{server.port}"
            path = kubeconfig(tmp_path / "config", url, user={"tokenFile": str(token)})
            transport = await connect(kubeconfig=path, clock=clock)
            clock.now += 2
            token.write_text("new\n")
            found = await asyncio.gather(*(transport.request("GET", f"/{n}") for n in range(5)))
            assert found == [b"{}"] * 5
            assert [r.headers["authorization"] for r in server.requests].count("Bearer old") == 5
            await transport.close()

    async def test_a_server_that_goes_on_refusing_is_asked_twice_and_no_more(self, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("t1")
        clock = Clock()
        async with Server().running() as server:
            server.answers = lambda _: answer(401)
            url = f"http://127.0.0.1:{server.port}"
            path = kubeconfig(tmp_path / "config", url, user={"tokenFile": str(token)})
            transport = await connect(kubeconfig=path, clock=clock)
            with pytest.raises(Unauthorized):
                await transport.request("GET", "/api")
            assert len(server.requests) == 1, "read a moment ago; there is no other token"
            clock.now += 2
            token.write_text("t2")
            with pytest.raises(Unauthorized):
                await transport.request("GET", "/api")
            assert [r.headers["authorization"] for r in server.requests[1:]] == ["Bearer t1", "Bearer t2"]
            await transport.close()

    async def test_a_watch_is_opened_with_the_new_token_too(self, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("old")
        clock = Clock()
        async with Server().running() as server:
            server.answers = lambda r: STREAM if r.headers["authorization"] == "Bearer new" else answer(401)
            url = f"http://127.0.0.1:{server.port}"
            path = kubeconfig(tmp_path / "config", url, user={"tokenFile": str(token)})
            transport = await connect(kubeconfig=path, clock=clock)
            clock.now += 2
            token.write_text("new")
            async with transport.stream("/api"):
                assert len(server.requests) == 2
            await transport.close()

    async def test_an_old_token_is_read_again_in_the_background(self, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("old")
        clock = Clock()
        async with Server().running() as server:
            url = f"http://127.0.0.1:{server.port}"
            path = kubeconfig(tmp_path / "config", url, user={"tokenFile": str(token)})
            transport = await connect(kubeconfig=path, clock=clock)
            token.write_text("new")
            clock.now += 61
            async with asyncio.timeout(10):
                while server.requests[-1:] == [] or server.requests[-1].headers["authorization"] != "Bearer new":
                    await transport.request("GET", "/api")
            assert server.requests[0].headers["authorization"] == "Bearer old"
            await transport.close()

    async def test_an_exec_plugin_is_run_beside_the_loop(self, tmp_path: Path) -> None:
        status = '{"token":"from-plugin"}'
        said = f'{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{status}}}'
        plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", f"echo '{said}'"]}
        async with Server().running() as server:
            url = f"http://127.0.0.1:{server.port}"
            transport = await connect(kubeconfig=kubeconfig(tmp_path / "config", url, user={"exec": plugin}))
            await transport.request("GET", "/api")
            assert server.requests[0].headers["authorization"] == "Bearer from-plugin"
            await transport.close()

    async def test_an_exec_plugin_that_fails_is_a_config_error(self, tmp_path: Path) -> None:
        plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "false"}
        path = kubeconfig(tmp_path / "config", "http://127.0.0.1:9", user={"exec": plugin})
        with pytest.raises(ConfigError, match="exec plugin"):
            await connect(kubeconfig=path)


def access(authorization: str, url: str = "http://127.0.0.1:9") -> Access:
    return Access(url, "default", authorization, math.inf, None, None, None)


class Loader:
    """A configuration that takes as long to read as the test wants, in its thread."""

    def __init__(self, *outcomes: Access | Exception) -> None:
        self.outcomes = list(outcomes)
        self.may_end = threading.Event()
        self.began = 0

    def __call__(self) -> Access:
        self.began += 1
        assert self.may_end.wait(10)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


class TestRenewal:
    async def test_a_refusal_during_a_renewal_waits_for_it(self) -> None:
        clock = Clock()
        load = Loader(access("new"))
        old = access("old")
        credentials = Credentials(old, load, clock)
        clock.now += 2
        first = asyncio.create_task(credentials.replaced(old, 10))
        while not load.began:
            await asyncio.sleep(0)
        second = asyncio.create_task(credentials.replaced(old, 10))
        await asyncio.sleep(0)
        load.may_end.set()
        assert all(await asyncio.gather(first, second))
        assert load.began == 1
        await credentials.close()

    async def test_one_that_fails_in_any_way_leaves_the_old_credential_and_is_not_repeated_at_once(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        clock = Clock()
        load = Loader(OSError("no such file"), access("new"))
        load.may_end.set()
        old = access("old")._replace(fresh_seconds=60)
        credentials = Credentials(old, load, clock)
        clock.now += 61
        assert not await credentials.replaced(old, 10)
        assert "no such file" in caplog.text
        for _ in range(5):
            assert credentials.current() is old
            await asyncio.sleep(0)
        assert load.began == 1
        clock.now += 11
        assert await credentials.replaced(old, 10)
        await credentials.close()

    async def test_one_that_hangs_does_not_hold_a_request_beyond_its_timeout(self) -> None:
        clock = Clock()
        async with Server().running() as server:
            server.answers = lambda _: answer(401)
            load = Loader(access("new"))
            transport = KubeTransport(access("old", f"http://127.0.0.1:{server.port}"), load, clock)
            clock.now += 2
            async with asyncio.timeout(5):
                with pytest.raises(Unauthorized):
                    await transport.request("GET", "/api", timeout_seconds=0.5)
            load.may_end.set()
            await transport.close()
