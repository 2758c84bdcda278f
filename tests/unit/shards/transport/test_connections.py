"""Ways to a server that are not the plain one: proxies, IPv6, and authorities that rotate."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest

import shards.transport.kube
from shards.errors import Unauthorized, Unreachable, Untrusted
from shards.transport.kube import KubeTransport, connect, loader
from tests.unit.shards.transport.http_server import STREAM, Clock, Server, answer, chunk, kubeconfig


def certificate(directory: Path, name: str) -> tuple[Path, Path]:
    """A certificate of the loopback interface that signs itself, and its key."""
    made, key = directory / f"{name}.crt", directory / f"{name}.key"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-keyout", str(key), "-out", str(made), "-days", "2", "-subj", f"/CN={name}"),
            *("-addext", "subjectAltName=IP:127.0.0.1,IP:::1"),
        ],
        check=True,
        capture_output=True,
    )
    return made, key


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificate(tmp_path_factory.mktemp("old"), "old")


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificate(tmp_path_factory.mktemp("new"), "new")


def serving(pair: tuple[Path, Path], clients: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)
    return context


class Tunnel:
    """An HTTP proxy: carries CONNECT to where it says, and answers plain requests itself. asked: request lines."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.port = 0
        self.status = b"200 OK"
        self.authorization = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.asked.append(head.split("\r\n")[0])
            lines = [each for each in head.split("\r\n") if each.lower().startswith("proxy-authorization")]
            self.authorization = lines[0] if lines else ""
            if not self.asked[-1].startswith("CONNECT"):
                writer.write(answer())
            else:
                writer.write(b"HTTP/1.1 " + self.status + b"\r\n\r\n")
                if self.status == b"200 OK":
                    port = int(self.asked[-1].split(" ")[1].rpartition(":")[2])
                    there, away = await asyncio.open_connection("127.0.0.1", port)
                    await asyncio.gather(_pipe(reader, away), _pipe(there, writer))
        writer.close()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while found := await reader.read(1 << 16):
            writer.write(found)
    writer.close()


@pytest.fixture
async def tunnel() -> Tunnel:
    return Tunnel()


class TestProxies:
    async def test_the_proxy_of_the_kubeconfig_carries_requests_and_watches(
        self, tunnel: Tunnel, old: tuple[Path, Path], tmp_path: Path
    ) -> None:
        door = await asyncio.start_server(tunnel.serve, "127.0.0.1", 0)
        port = door.sockets[0].getsockname()[1]
        async with door, Server().running(serving(old)) as server:
            cluster = {"certificate-authority": str(old[0]), "proxy-url": f"http://me:secret@127.0.0.1:{port}"}
            url = f"https://127.0.0.1:{server.port}"
            transport = await connect(kubeconfig=kubeconfig(tmp_path / "config", url, cluster=cluster))
            assert await transport.request("PUT", "/api", body=b"{}") == b"{}"
            server.answers = lambda _: STREAM + chunk(b"one") + b"0\r\n\r\n"
            async with transport.stream("/api") as chunks:
                assert [each async for each in chunks] == [b"one"]
            assert tunnel.asked == [f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"] * 2
            assert tunnel.authorization.endswith("Basic bWU6c2VjcmV0")
            await transport.close()

    async def test_the_environments_is_used_where_the_kubeconfig_names_none(
        self, tunnel: Tunnel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with await asyncio.start_server(tunnel.serve, "127.0.0.1", 0) as door:
            monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{door.sockets[0].getsockname()[1]}")
            monkeypatch.delenv("NO_PROXY", raising=False)
            transport = await connect(kubeconfig=kubeconfig(tmp_path / "config", "http://api.example.com"))
            assert await transport.request("GET", "/api") == b"{}"
            assert tunnel.asked == ["GET http://api.example.com/api HTTP/1.1"]
            await transport.close()

    async def test_one_that_refuses_is_a_server_out_of_reach_and_nothing_was_sent(
        self, tunnel: Tunnel, old: tuple[Path, Path], tmp_path: Path
    ) -> None:
        tunnel.status = b"407 Proxy Authentication Required"
        async with await asyncio.start_server(tunnel.serve, "127.0.0.1", 0) as door:
            cluster = {
                "certificate-authority": str(old[0]),
                "proxy-url": f"http://127.0.0.1:{door.sockets[0].getsockname()[1]}",
            }
            transport = await connect(
                kubeconfig=kubeconfig(tmp_path / "config", "https://127.0.0.1:9", cluster=cluster)
            )
            with pytest.raises(Unreachable, match="407") as caught:
                await transport.request("PUT", "/api", body=b"{}")
            assert not caught.value.maybe_applied
            await transport.close()


async def test_a_server_with_an_ipv6_address_is_reached(old: tuple[Path, Path], tmp_path: Path) -> None:
    async with Server(host="::1").running(serving(old)) as server:
        cluster = {"certificate-authority": str(old[0])}
        url = f"https://[::1]:{server.port}"
        transport = await connect(kubeconfig=kubeconfig(tmp_path / "config", url, cluster=cluster))
        assert await transport.request("GET", "/api") == b"{}"
        assert server.requests[0].headers["host"] == f"[::1]:{server.port}"
        await transport.close()


class Rotated:
    """A kubeconfig whose authority and client certificate are files, and a transport made from it."""

    def __init__(self, directory: Path, port: int) -> None:
        self.ca, self.client, self.key = directory / "ca", directory / "client", directory / "key"
        self.clock = Clock()
        self._directory = directory
        self._port = port

    def write(self, ca: Path, client: tuple[Path, Path]) -> None:
        for target, source in ((self.ca, ca), (self.client, client[0]), (self.key, client[1])):
            target.write_bytes(source.read_bytes())

    async def transport(self) -> KubeTransport:
        user = {"client-certificate": str(self.client), "client-key": str(self.key)}
        url = f"https://127.0.0.1:{self._port}"
        path = kubeconfig(self._directory / "config", url, cluster={"certificate-authority": str(self.ca)}, user=user)
        load = loader(path, None)
        return KubeTransport(await asyncio.to_thread(load), load, self.clock)


class TestRotation:
    async def test_a_new_authority_is_read_when_the_old_one_does_not_fit_any_more(
        self, old: tuple[Path, Path], new: tuple[Path, Path], tmp_path: Path
    ) -> None:
        async with Server().running(serving(new)) as server:
            rig = Rotated(tmp_path, server.port)
            rig.write(old[0], old)
            transport = await rig.transport()
            with pytest.raises(Untrusted):
                await transport.request("GET", "/api")
            rig.write(new[0], old)
            rig.clock.now += 2
            assert await transport.request("GET", "/api") == b"{}"
            await transport.close()

    async def test_a_watch_finds_the_new_authority_too(
        self, old: tuple[Path, Path], new: tuple[Path, Path], tmp_path: Path
    ) -> None:
        async with Server().running(serving(new)) as server:
            server.answers = lambda _: STREAM + b"0\r\n\r\n"
            rig = Rotated(tmp_path, server.port)
            rig.write(old[0], old)
            transport = await rig.transport()
            rig.write(new[0], old)
            rig.clock.now += 2
            async with transport.stream("/api") as chunks:
                assert [each async for each in chunks] == []
            await transport.close()

    async def test_a_new_client_certificate_is_shown_when_the_old_one_is_refused(
        self, old: tuple[Path, Path], new: tuple[Path, Path], tmp_path: Path
    ) -> None:
        """The old one is refused in a request, as API servers do with one that has expired."""
        async with Server().running(serving(old)) as server:
            rig = Rotated(tmp_path, server.port)
            rig.write(old[0], old)
            transport = await rig.transport()
            server.answers = lambda _: answer() if server.connections > 1 else answer(401)
            with pytest.raises(Unauthorized):
                await transport.request("GET", "/api")
            rig.write(old[0], new)
            rig.clock.now += 2
            assert await transport.request("GET", "/api") == b"{}"
            assert server.connections == 2
            await transport.close()

    async def test_a_watch_that_is_open_goes_on_and_its_connection_is_closed_after_it(
        self, old: tuple[Path, Path], new: tuple[Path, Path], tmp_path: Path
    ) -> None:
        async with AsyncExitStack() as stack:
            server = await stack.enter_async_context(Server().running(serving(old)))
            rig = Rotated(tmp_path, server.port)
            rig.write(old[0], old)
            transport = await rig.transport()
            server.answers = lambda _: STREAM + chunk(b"one")
            async with transport.stream("/api") as chunks:
                assert await anext(chunks) == b"one"
                rig.write(old[0], new)
                server.answers = lambda _: answer(401) if server.connections < 3 else answer()
                rig.clock.now += 2
                assert await transport.request("GET", "/api") == b"{}"
                server.writers[0].write(chunk(b"two"))
                assert await anext(chunks) == b"two"
                assert len(transport._retired) == 1
            assert transport._retired == []
            await transport.close()

    async def test_what_does_not_change_keeps_its_connections(
        self, old: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shards.transport.kube, "TOKEN_SECONDS", 60.0)
        async with Server().running(serving(old)) as server:
            token = tmp_path / "token"
            token.write_text("same")
            cluster = {"certificate-authority": str(old[0])}
            url = f"https://127.0.0.1:{server.port}"
            path = kubeconfig(tmp_path / "config", url, cluster=cluster, user={"tokenFile": str(token)})
            load, clock = loader(path, None), Clock()
            transport = KubeTransport(await asyncio.to_thread(load), load, clock)
            for _ in range(3):
                await transport.request("GET", "/api")
                clock.now += 61
                transport._credentials.current()
                assert transport._credentials._renewal is not None
                await transport._credentials._renewal
            assert server.connections == 1
            await transport.close()
