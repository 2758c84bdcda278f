"""A real control plane on loopback: etcd, kube-apiserver and, where asked for, kube-controller-manager.

    with ControlPlane(directory, binary=ensure(print)) as plane:
        ... plane.kubeconfig ...

    python -m tests.cluster.plane        starts one, prints its kubeconfig's path, serves until Ctrl-C

Everything it writes (data, keys, certificates, logs, audit log) is in `directory`.
"""

from __future__ import annotations

import argparse
import http.client
import json
import secrets
import signal
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from tests.cluster.build import ensure
from tests.cluster.gobuild import BuildFailed
from tests.cluster.ports import ReservedPort
from tests.cluster.server import Server, StartFailed

READY_SECONDS = 60.0
SHARDING_GATE = "ShardedListAndWatch"
GARBAGE_COLLECTION = ("garbage-collector-controller", "namespace-controller")

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "omitManagedFields": True,
    "rules": [
        {"level": "None", "nonResourceURLs": ["/*"]},
        {"level": "None", "users": ["system:apiserver"]},  # its own bookkeeping
        {"level": "None", "verbs": ["list", "watch"]},
        # The answer to a write carries the resource version that puts the writes in order: tests.cluster.audit. Gets
        # show whether a destructive act was made on a live read.
        {"level": "RequestResponse"},
    ],
}


class ControlPlane:
    """One etcd, one API server, and the controllers that are named.

    sharded: the feature gate of server-side sharded list and watch (KEP-5866).
    controllers: names of kube-controller-manager's controllers, with their suffix; none starts no controller manager.
    The garbage collector learns about a new CRD within 30 s of its creation.
    apiserver_flags: added at the end, so that they override.
    """

    def __init__(
        self,
        directory: Path,
        *,
        binary: Path,
        sharded: bool = True,
        controllers: Sequence[str] = (),
        apiserver_flags: Sequence[str] = (),
    ) -> None:
        self.directory = directory
        self.sharded = sharded
        self.token = secrets.token_hex(16)
        """Bearer token of a cluster administrator."""
        self.kubeconfig = directory / "kubeconfig"
        self.audit_log = directory / "audit.log"
        """One JSON object a line, one line a finished write."""
        self.servers: dict[str, Server] = {}
        self._binary = binary
        self._controllers = controllers
        self._apiserver_flags = apiserver_flags
        self._ports: list[ReservedPort] = []
        self._api_port = self._manager_port = 0
        self._etcd = ""

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._api_port}"

    @property
    def ca_file(self) -> Path:
        """What the API server's certificate is verified against: the server makes both, in one file."""
        return self.directory / "apiserver" / "apiserver.crt"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Returns when the API server is ready, its first namespace exists and the controllers run.

        Raises StartFailed.
        """
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends the servers in the order that lets each say goodbye to the next. Idempotent; the directory stays."""
        for name in reversed(list(self.servers)):
            self.servers.pop(name).stop()
        while self._ports:
            self._ports.pop().release()

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None, *, user_agent: str = "") -> bytes:
        """An administrator's request over verified TLS; a body is sent as JSON, as a merge patch where it patches.

        Returns the body of a 2xx answer. Raises http.client.HTTPException for any other, OSError for none.
        """
        return _request(self._api_port, self.ca_file, self.token, method, path, body=body, user_agent=user_agent)

    def metrics_text(self) -> str:
        """The API server's own metrics, in the Prometheus text format."""
        return self.request("GET", "/metrics").decode()

    def _port(self) -> int:
        reserved = ReservedPort()
        self._ports.append(reserved)
        return reserved.number

    def _start(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        etcd = self._start_etcd()
        self._start_apiserver(etcd)
        if self._controllers:
            self._start_controllers()

    def _launch(self, name: str, *arguments: str) -> Server:
        server = Server(name, [str(self._binary), name, *arguments], log=self.directory / f"{name}.log")
        self.servers[name] = server
        return server

    def _start_etcd(self) -> str:
        """Its client URL."""
        client, peer = (f"http://127.0.0.1:{self._port()}" for _ in range(2))
        server = self._launch("etcd", str(self.directory / "etcd"), client, peer)
        server.wait_until(lambda: "" if "etcd ready" in server.tail() else "no sign of life", READY_SECONDS)
        return client

    def front_end(self, name: str, *, sharded: bool) -> Path:
        """One more API server on the same etcd, as behind a load balancer: its kubeconfig. Raises StartFailed."""
        port, directory = self._port(), self.directory / name
        directory.mkdir()
        flags = self._flags(port, directory / "apiserver", directory / "audit.log", sharded=sharded)
        server = Server(name, [str(self._binary), "kube-apiserver", *flags], log=directory / "kube-apiserver.log")
        self.servers[name] = server
        authority = directory / "apiserver" / "apiserver.crt"
        server.wait_until(lambda: _trouble(port, "/readyz", authority, self.token), READY_SECONDS)
        kubeconfig = directory / "kubeconfig"
        self._write_kubeconfig(kubeconfig, f"https://127.0.0.1:{port}", authority)
        return kubeconfig

    def _start_apiserver(self, etcd: str) -> None:
        self._api_port = self._port()
        self._etcd = etcd
        self._write_inputs()
        flags = self._flags(self._api_port, self.ca_file.parent, self.audit_log, sharded=self.sharded)
        server = self._launch("kube-apiserver", *flags)
        server.wait_until(
            lambda: self._trouble("/readyz") or self._trouble("/api/v1/namespaces/default"), READY_SECONDS
        )

    def _flags(self, port: int, certificates: Path, audit_log: Path, *, sharded: bool) -> list[str]:
        return [
            f"--etcd-servers={self._etcd}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={certificates}",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._key}",
            f"--service-account-signing-key-file={self._key}",
            f"--token-auth-file={self.directory / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            f"--audit-policy-file={self.directory / 'audit-policy.yaml'}",
            f"--audit-log-path={audit_log}",
            "--audit-log-maxsize=100000",  # in MiB: never rotated, so that one file holds everything
            f"--feature-gates={SHARDING_GATE}={str(sharded).lower()}",
            *self._apiserver_flags,
        ]

    def _start_controllers(self) -> None:
        self._manager_port = self._port()
        certificates = self.directory / "kube-controller-manager"
        server = self._launch(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            f"--service-account-private-key-file={self._key}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._manager_port}",
            f"--cert-dir={certificates}",
            f"--controllers={','.join(self._controllers)}",
        )
        certificate = certificates / "kube-controller-manager.crt"
        server.wait_until(lambda: _trouble(self._manager_port, "/healthz", certificate, ""), READY_SECONDS)

    @property
    def _key(self) -> Path:
        return self.directory / "service-accounts.key"

    def _write_inputs(self) -> None:
        subprocess.run([self._binary, "key", self._key], check=True)
        (self.directory / "tokens.csv").write_text(f'{self.token},admin,admin,"system:masters"\n')
        (self.directory / "audit-policy.yaml").write_text(yaml.safe_dump(AUDIT_POLICY))
        self._write_kubeconfig(self.kubeconfig, self.url, self.ca_file)

    def _write_kubeconfig(self, file: Path, url: str, authority: Path) -> None:
        cluster = {"server": url, "certificate-authority": str(authority)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": self.token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin", "namespace": "default"}}],
            "current-context": "test",
        }
        file.write_text(yaml.safe_dump(config))

    def _trouble(self, path: str) -> str:
        return _trouble(self._api_port, path, self.ca_file, self.token)


def _request(
    port: int,
    authority: Path,
    token: str,
    method: str,
    path: str,
    *,
    body: Mapping[str, Any] | None = None,
    user_agent: str = "",
    timeout_seconds: float = 30.0,
) -> bytes:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {"Content-Type": kind, "Authorization": f"Bearer {token}", "User-Agent": user_agent or "tests"}
    context = ssl.create_default_context(cafile=authority)
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=timeout_seconds)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        content = answer.read()
    finally:
        connection.close()
    if not http.client.OK <= answer.status < http.client.MULTIPLE_CHOICES:
        raise http.client.HTTPException(f"{answer.status} for {path}: {content.decode(errors='replace')[:2000]}")
    return content


def _trouble(port: int, path: str, authority: Path, token: str) -> str:
    """Why a GET of path does not succeed yet; "" when it does."""
    try:
        _request(port, authority, token, "GET", path, timeout_seconds=5.0)
    except (
        OSError,
        http.client.HTTPException,
    ) as error:  # nobody listens, no certificate yet, or not ready by its own word
        return f"{type(error).__name__}: {error}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Starts a control plane and serves until Ctrl-C.")
    parser.add_argument("--no-sharding", action="store_true", help=f"turn the feature gate {SHARDING_GATE} off")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shardfleet-") as directory:
        try:
            binary = ensure(lambda line: print(line, file=sys.stderr, flush=True))
            plane = ControlPlane(
                Path(directory), binary=binary, sharded=not options.no_sharding, controllers=GARBAGE_COLLECTION
            )
            with plane:
                print(f"export KUBECONFIG={plane.kubeconfig}", flush=True)
                signal.signal(signal.SIGTERM, signal.default_int_handler)
                with suppress(KeyboardInterrupt):
                    signal.pause()
        except (BuildFailed, StartFailed) as failure:
            print(failure, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
