"""The HTTP transport against a small server on the loopback interface."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
import struct
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from shards.clock import boot_seconds
from shards.errors import (
    AlreadyExists,
    ApiError,
    ConfigError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    NotOwner,
    ServerTimeout,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    Untrusted,
)
from shards.kube import KubeTransport, connect


@dataclass
class Request:
    """As the server read it."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Answer = bytes | None
"""Bytes to write; None: never answer."""


def answer(status: int = 200, body: bytes = b"{}", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunk(body: bytes) -> bytes:
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"


STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass
class Server:
    """Answers every request with what `answers` says. ends: how the connections ended, as they end."""

    answers: Callable[[Request], Answer] = lambda _: answer()
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    scheme: str = "http"
    ends: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        end = "closed"
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().strip().split("\r\n")
                method, target, _ = first.split(" ")
                headers = {k.lower(): v for k, v in (each.split(": ", 1) for each in lines)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.requests.append(Request(method, target, headers, body))
                self.arrived.set()
                said = self.answers(self.requests[-1])
                if said is None:
                    await reader.read(1)
                    break
                writer.write(said)
        except ConnectionResetError:
            end = "reset"
        except asyncio.IncompleteReadError as error:
            end = "cut" if error.partial else "closed"
        finally:
            self.ends.put_nowait(end)
            writer.close()

    @asynccontextmanager
    async def running(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=tls)
        self.port = server.sockets[0].getsockname()[1]
        self.scheme = "https" if tls else "http"
        try:
            yield self
        finally:
            server.close()
            for writer in self.writers:
                writer.transport.abort()
            await server.wait_closed()


def kubeconfig(
    path: Path, server: str, *, user: Mapping[str, object] | None = None, cluster: Mapping[str, object] | None = None
) -> str:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "clusters": [{"name": "local", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "me", "user": dict(user or {})}],
        "contexts": [
            {"name": "main", "context": {"cluster": "local", "user": "me"}},
            {"name": "blue", "context": {"cluster": "local", "user": "me", "namespace": "blue"}},
        ],
    }
    path.write_text(yaml.safe_dump(content))
    return str(path)


@dataclass
class Rig:
    server: Server
    transport: KubeTransport


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with Server().running() as server:
        path = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{server.port}", user={"token": "secret"})
        transport = await connect(kubeconfig=path)
        yield Rig(server, transport)
        await transport.close()


class Clock:
    """Boot seconds that a test moves. readings: how often it was read; before the one numbered `late_at`, 5 s pass."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.readings = 0
        self.late_at = 0

    def __call__(self) -> float:
        self.readings += 1
        if self.readings == self.late_at:
            self.now += 5
        return self.now


class TestRequests:
    async def test_a_request_carries_who_asks_and_what_it_wants(self, rig: Rig) -> None:
        rig.server.answers = lambda _: answer(200, b'{"a":1}')
        found = await rig.transport.request(
            "PATCH",
            "/api/v1/namespaces/ns/configmaps/a",
            query=[("fieldManager", "a b&c"), ("labelSelector", "slot in (0a,0b)")],
            body=b'{"x":"\xc3\xa9"}',
            content_type="application/merge-patch+json",
            user_agent="fleet/0.1.0 m=pod-0",
        )
        assert found == b'{"a":1}'
        (request,) = rig.server.requests
        assert request.method == "PATCH"
        assert request.target == (
            "/api/v1/namespaces/ns/configmaps/a?fieldManager=a%20b%26c&labelSelector=slot%20in%20%280a%2C0b%29"
        )
        assert request.body == b'{"x":"\xc3\xa9"}'
        wanted = {
            "content-type": "application/merge-patch+json",
            "user-agent": "fleet/0.1.0 m=pod-0",
            "authorization": "Bearer secret",
            "accept": "application/json",
            "accept-encoding": "identity",
        }
        assert {name: request.headers.get(name) for name in wanted} == wanted

    async def test_connections_are_used_again(self, rig: Rig) -> None:
        for _ in range(3):
            await rig.transport.request("GET", "/api")
        assert rig.server.connections == 1

    @pytest.mark.parametrize(
        ("status", "reason", "kind"),
        [
            (400, "BadRequest", ApiError),
            (403, "Forbidden", Forbidden),
            (404, "NotFound", NotFound),
            (409, "Conflict", Conflict),
            (409, "AlreadyExists", AlreadyExists),
            (410, "Expired", Expired),
            (422, "Invalid", Invalid),
            (429, "TooManyRequests", TooManyRequests),
            (500, "InternalError", ApiError),
            (504, "Timeout", ServerTimeout),
        ],
    )
    async def test_failure_answers_become_errors(
        self, rig: Rig, status: int, reason: str, kind: type[ApiError]
    ) -> None:
        body = f'{{"kind":"Status","code":{status},"reason":"{reason}","message":"because"}}'.encode()
        rig.server.answers = lambda _: answer(status, body, **{"Retry-After": "3"})
        with pytest.raises(kind, match="because") as caught:
            await rig.transport.request("GET", "/api")
        assert type(caught.value) is kind
        assert (caught.value.status, caught.value.reason, caught.value.retry_after_seconds) == (status, reason, 3.0)

    async def test_a_proxys_page_becomes_an_error_too(self, rig: Rig) -> None:
        rig.server.answers = lambda _: answer(502, b"<html>bad gateway</html>")
        with pytest.raises(ApiError, match="bad gateway"):
            await rig.transport.request("GET", "/api")

    async def test_redirects_are_not_followed(self, rig: Rig) -> None:
        rig.server.answers = lambda _: answer(302, b"", Location="http://127.0.0.1:9/elsewhere")
        with pytest.raises(ApiError, match="302"):
            await rig.transport.request("GET", "/api")

    async def test_a_truncated_answer_is_no_answer(self, rig: Rig) -> None:
        def cut(_: Request) -> bytes:
            asyncio.get_running_loop().call_soon(rig.server.writers[-1].close)
            return b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"

        rig.server.answers = cut
        with pytest.raises(Unreachable) as caught:
            await rig.transport.request("PATCH", "/api", body=b"{}")
        assert caught.value.maybe_applied


class TestUnreachable:
    async def test_nobody_listens(self, tmp_path: Path) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            path = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{unused.getsockname()[1]}")
            transport = await connect(kubeconfig=path)
            with pytest.raises(Unreachable) as caught:
                await transport.request("PUT", "/api", body=b"{}")
            assert not caught.value.maybe_applied
            await transport.close()

    async def test_a_write_that_gets_no_answer_in_time_may_have_been_applied(self, rig: Rig) -> None:
        rig.server.answers = lambda _: None
        with pytest.raises(Unreachable) as caught:
            await rig.transport.request("PUT", "/api", body=b"{}", timeout_seconds=0.05)
        assert caught.value.maybe_applied
        assert await rig.server.ends.get() == "reset"

    async def test_a_cancelled_request_resets_its_connection(self, rig: Rig) -> None:
        rig.server.answers = lambda _: None
        task = asyncio.create_task(rig.transport.request("PUT", "/api", body=b"{}"))
        await rig.server.arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await rig.server.ends.get() == "reset"

    async def test_what_a_cancelled_request_had_not_sent_is_never_sent(self, tmp_path: Path) -> None:
        loop = asyncio.get_running_loop()
        body = b"x" * 900_000
        with socket.socket() as listener:
            # A window this small leaves most of the body in the sender's buffers.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            listener.setblocking(False)
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            path = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{listener.getsockname()[1]}")
            transport = await connect(kubeconfig=path)
            task = asyncio.create_task(transport.request("PUT", "/api", body=body))
            accepted, _ = await loop.sock_accept(listener)
            with accepted:
                received = len(await loop.sock_recv(accepted, 1))
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await asyncio.sleep(0)
                end = ""
                try:
                    while data := await loop.sock_recv(accepted, 1 << 16):
                        received += len(data)
                except ConnectionResetError:
                    end = "reset"
            assert end == "reset"
            assert received < len(body) / 2
            await transport.close()

    @pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "POST"])
    async def test_a_write_is_never_sent_twice(self, rig: Rig, method: str) -> None:
        await rig.transport.request("GET", "/api")

        def drop(_: Request) -> Answer:
            rig.server.writers[-1].transport.abort()
            return None

        rig.server.answers = drop
        with pytest.raises(Unreachable) as caught:
            await rig.transport.request(method, "/api", body=b"{}")
        assert caught.value.maybe_applied
        assert [each.method for each in rig.server.requests] == ["GET", method]

    async def test_a_read_is_sent_again_when_a_kept_connection_turns_out_to_be_closed(self, rig: Rig) -> None:
        await rig.transport.request("GET", "/api")

        def drop_once(_: Request) -> Answer:
            if len(rig.server.requests) == 2:
                rig.server.writers[-1].transport.abort()
                return None
            return answer(200, b'{"again":true}')

        rig.server.answers = drop_once
        assert await rig.transport.request("GET", "/api") == b'{"again":true}'


class TestDeadline:
    @asynccontextmanager
    async def rig(self, tmp_path: Path) -> AsyncIterator[tuple[Rig, Clock]]:
        clock = Clock()
        async with Server().running() as server:
            path = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{server.port}")
            transport = await connect(kubeconfig=path, clock=clock)
            yield Rig(server, transport), clock
            await transport.close()

    async def test_nothing_is_sent_after_it(self, tmp_path: Path) -> None:
        async with self.rig(tmp_path) as (rig, clock):
            with pytest.raises(NotOwner):
                await rig.transport.request("PUT", "/api", body=b"{}", not_after=clock.now)
            assert rig.server.requests == []

    async def readings(self, rig: Rig, clock: Clock) -> int:
        """How often the clock is read for one write. The last two are made with the connection in hand."""
        before = clock.readings
        await rig.transport.request("PUT", "/api", body=b"{}", not_after=clock.now + 1)
        rig.server.requests.clear()
        return clock.readings - before

    async def test_it_is_looked_at_with_the_connection_in_hand(self, tmp_path: Path) -> None:
        async with self.rig(tmp_path) as (rig, clock):
            clock.late_at = clock.readings + 2 * await self.readings(rig, clock) - 1
            with pytest.raises(NotOwner):
                await rig.transport.request("PUT", "/api", body=b"{}", not_after=clock.now + 1)
            assert rig.server.requests == []
            await rig.transport.request("GET", "/api")
            assert rig.server.connections == 1, "a connection on which nothing was sent serves the next request"

    async def test_it_is_looked_at_again_before_a_body_is_written(self, tmp_path: Path) -> None:
        async with self.rig(tmp_path) as (rig, clock):
            clock.late_at = clock.readings + 2 * await self.readings(rig, clock)
            with pytest.raises(NotOwner):
                await rig.transport.request("PUT", "/api", body=b"{}", not_after=clock.now + 1)
            assert await rig.server.ends.get() == "reset"
            assert rig.server.requests == []

    async def test_a_request_in_time_is_sent_and_the_connection_of_a_late_one_serves_the_next(
        self, tmp_path: Path
    ) -> None:
        async with self.rig(tmp_path) as (rig, clock):
            await rig.transport.request("PUT", "/api", body=b"{}", not_after=clock.now + 1)
            with pytest.raises(NotOwner):
                await rig.transport.request("PUT", "/api", body=b"{}", not_after=clock.now - 1)
            await rig.transport.request("PUT", "/api", body=b"{}", not_after=clock.now + 1)
            assert rig.server.connections == 1
            assert len(rig.server.requests) == 2


class TestSockets:
    @pytest.mark.parametrize("kind", ["request", "watch"])
    async def test_they_reset_on_close_and_do_not_keep_unacknowledged_data(
        self, rig: Rig, kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[socket.socket] = []
        connect_ = socket.socket.connect

        def spy(self: socket.socket, address: tuple[str, int]) -> None:
            seen.append(self)
            connect_(self, address)

        monkeypatch.setattr(socket.socket, "connect", spy)
        until = boot_seconds() + 4
        if kind == "request":
            await rig.transport.request("GET", "/api", not_after=until)
            expected = range(1, 4001)
        else:
            rig.server.answers = lambda _: STREAM + chunk(b"{}\n")
            async with rig.transport.stream("/api") as chunks:
                assert await anext(chunks) == b"{}\n"
                self.check(seen[0], range(20_000, 20_001))
            return
        self.check(seen[0], expected)

    def check(self, found: socket.socket, user_timeout: range) -> None:
        assert struct.unpack("ii", found.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)) == (1, 0)
        assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
        assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) in user_timeout


async def read_all(transport: KubeTransport, idle_seconds: float = 75.0) -> bytes:
    async with transport.stream("/api", idle_seconds=idle_seconds) as chunks:
        return b"".join([each async for each in chunks])


class TestStreams:
    async def test_chunks_come_as_they_are_cut(self, rig: Rig) -> None:
        rig.server.answers = lambda _: STREAM + chunk(b'{"a"') + chunk(b":1}\n") + b"0\r\n\r\n"
        async with rig.transport.stream("/api", query=[("watch", "true")], user_agent="fleet/0") as chunks:
            assert b"".join([each async for each in chunks]) == b'{"a":1}\n'
        assert rig.server.requests[0].target == "/api?watch=true"
        assert rig.server.requests[0].headers["user-agent"] == "fleet/0"

    async def test_a_failure_answer_is_raised_on_entering(self, rig: Rig) -> None:
        rig.server.answers = lambda _: answer(410, b'{"reason":"Expired","message":"too old"}')
        with pytest.raises(Expired, match="too old"):
            async with rig.transport.stream("/api"):
                pytest.fail("the stream must not open")

    @pytest.mark.parametrize("said", [None, STREAM + chunk(b"{}\n")], ids=["no answer", "after a chunk"])
    async def test_a_silent_server_is_given_up(self, rig: Rig, said: Answer) -> None:
        rig.server.answers = lambda _: said
        with pytest.raises(Unreachable, match="silent"):
            await read_all(rig.transport, idle_seconds=0.05)

    async def test_a_broken_connection_is_unreachable(self, rig: Rig) -> None:
        def cut(_: Request) -> bytes:
            asyncio.get_running_loop().call_soon(rig.server.writers[-1].close)
            return STREAM + chunk(b"{}\n")

        rig.server.answers = cut
        with pytest.raises(Unreachable):
            await read_all(rig.transport)

    async def test_leaving_resets_the_connection(self, rig: Rig) -> None:
        rig.server.answers = lambda _: STREAM + chunk(b"{}\n")
        async with rig.transport.stream("/api") as chunks:
            await anext(chunks)
        assert await rig.server.ends.get() == "reset"

    async def test_any_number_of_watches_leaves_room_for_requests(self, rig: Rig) -> None:
        rig.server.answers = lambda request: STREAM if "watch" in request.target else answer()
        watches = [rig.transport.stream("/api", query=[("watch", "1")]) for _ in range(120)]
        for watch in watches:
            await watch.__aenter__()
        assert await rig.transport.request("GET", "/api") == b"{}"
        for watch in watches:
            await watch.__aexit__(None, None, None)


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


class TestConfig:
    async def test_the_context_names_the_namespace(self, tmp_path: Path) -> None:
        path = kubeconfig(tmp_path / "config", "http://127.0.0.1:9/")
        for context, namespace in ((None, "default"), ("blue", "blue")):
            transport = await connect(kubeconfig=path, context=context)
            assert (transport.host, transport.namespace) == ("http://127.0.0.1:9", namespace)
            await transport.close()

    async def test_the_environment_names_the_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KUBECONFIG", kubeconfig(tmp_path / "config", "http://127.0.0.1:9"))
        transport = await connect()
        assert transport.host == "http://127.0.0.1:9"
        await transport.close()

    async def test_without_any_the_home_directory_is_looked_at(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("KUBECONFIG", raising=False)
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        with pytest.raises(ConfigError, match="does not exist; name one with --kubeconfig"):
            await connect()

    async def test_a_pod_without_its_service_account_is_told_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("KUBECONFIG", raising=False)
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "9")
        with pytest.raises(ConfigError, match="service account cannot be used"):
            await connect()

    @pytest.mark.parametrize("content", ["", "[]", "{}", "a: [", "current-context: nowhere\ncontexts: []"])
    async def test_a_file_that_is_no_kubeconfig_is_told_so(self, tmp_path: Path, content: str) -> None:
        path = tmp_path / "config"
        path.write_text(content)
        with pytest.raises(ConfigError, match="cannot be used"):
            await connect(kubeconfig=str(path))

    async def test_a_context_that_does_not_exist_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="green"):
            await connect(kubeconfig=kubeconfig(tmp_path / "config", "http://127.0.0.1:9"), context="green")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    directory = tmp_path_factory.mktemp("tls")
    certificate, key = directory / "crt", directory / "key"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=test"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


def serving(authority: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority)
    return context


class TestTls:
    async def test_the_configured_authority_is_trusted(self, authority: tuple[Path, Path], tmp_path: Path) -> None:
        async with Server().running(serving(authority)) as server:
            url = f"https://127.0.0.1:{server.port}"
            path = kubeconfig(tmp_path / "config", url, cluster={"certificate-authority": str(authority[0])})
            transport = await connect(kubeconfig=path)
            assert await transport.request("PUT", "/api", body=b"{}", not_after=boot_seconds() + 5) == b"{}"
            await transport.close()

    async def test_an_authority_written_into_the_kubeconfig_leaves_no_file_behind(
        self, authority: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(scratch))
        async with Server().running(serving(authority)) as server:
            url = f"https://127.0.0.1:{server.port}"
            data = base64.b64encode(authority[0].read_bytes()).decode()
            path = kubeconfig(tmp_path / "config", url, cluster={"certificate-authority-data": data})
            for _ in range(2):
                transport = await connect(kubeconfig=path)
                assert await transport.request("GET", "/api") == b"{}"
                await transport.close()
        assert list(scratch.iterdir()) == []

    async def test_another_certificate_is_not_and_nothing_is_sent(
        self, authority: tuple[Path, Path], tmp_path: Path
    ) -> None:
        async with Server().running(serving(authority)) as server:
            transport = await connect(kubeconfig=kubeconfig(tmp_path / "config", f"https://127.0.0.1:{server.port}"))
            with pytest.raises(Untrusted, match="does not verify against the configured authority") as caught:
                await transport.request("PUT", "/api", body=b"{}")
            assert not caught.value.maybe_applied
            with pytest.raises(Untrusted):
                async with transport.stream("/api"):
                    pytest.fail("the stream must not open")
            assert server.requests == []
            await transport.close()

    async def test_verification_can_be_switched_off(self, authority: tuple[Path, Path], tmp_path: Path) -> None:
        async with Server().running(serving(authority)) as server:
            url = f"https://127.0.0.1:{server.port}"
            transport = await connect(
                kubeconfig=kubeconfig(tmp_path / "config", url, cluster={"insecure-skip-tls-verify": True})
            )
            assert await transport.request("GET", "/api") == b"{}"
            await transport.close()

    async def test_a_cancelled_request_does_not_say_goodbye(self, authority: tuple[Path, Path], tmp_path: Path) -> None:
        server = Server(answers=lambda _: None)
        async with server.running(serving(authority)):
            url = f"https://127.0.0.1:{server.port}"
            path = kubeconfig(tmp_path / "config", url, cluster={"certificate-authority": str(authority[0])})
            transport = await connect(kubeconfig=path)
            task = asyncio.create_task(transport.request("PUT", "/api", body=b"{}"))
            await server.arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await server.ends.get() == "reset"
            await transport.close()
