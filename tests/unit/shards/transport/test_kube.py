"""Which server a configuration means, and whom it is taken for."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from shards.clock import boot_seconds
from shards.errors import (
    ConfigError,
    Untrusted,
)
from shards.transport.attempt import Attempt
from shards.transport.kube import connect
from tests.unit.shards.transport.http_server import Server, kubeconfig


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

    async def test_a_pods_authority_that_cannot_be_read_is_a_config_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "namespace").write_text("prod")
        (tmp_path / "ca.crt").write_text("half of a certificate")

        def load(*, client_configuration: Any) -> None:
            client_configuration.host = "https://127.0.0.1:9"
            client_configuration.ssl_ca_cert = str(tmp_path / "ca.crt")

        monkeypatch.delenv("KUBECONFIG", raising=False)
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setattr("shards.transport.kube.SERVICE_ACCOUNT", tmp_path)
        monkeypatch.setattr("kubernetes.aio.config.load_incluster_config", load)
        with pytest.raises(ConfigError, match="service account"):
            await connect()

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

    async def test_its_sockets_reset_and_drop_unsent_data_too(
        self, authority: tuple[Path, Path], tmp_path: Path
    ) -> None:
        async with Server().running(serving(authority)) as server:
            url = f"https://127.0.0.1:{server.port}"
            path = kubeconfig(tmp_path / "config", url, cluster={"certificate-authority": str(authority[0])})
            transport = await connect(kubeconfig=path)
            server.answers = lambda _: None
            attempts: list[Attempt] = []
            take = Attempt.take

            def spy(attempt: Attempt, connection: asyncio.Transport) -> None:
                attempts.append(attempt)
                take(attempt, connection)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Attempt, "take", spy)
                task = asyncio.create_task(transport.request("PUT", "/api", body=b"{}", not_after=boot_seconds() + 5))
                await server.arrived.wait()
            (attempt,) = attempts
            assert attempt.transport is not None
            made = attempt.transport.get_extra_info("socket")
            assert struct.unpack("ii", made.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)) == (1, 0)
            assert 0 < made.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) <= 5000
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await server.ends.get() == "reset"
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
