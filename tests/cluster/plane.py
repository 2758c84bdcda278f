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
import os
import secrets
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Mapping, Sequence
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
FIRST_KEY = {"key": "Lw=="}
"""Asks etcd for what is stored under "/": nothing."""
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
        self._arguments: dict[str, tuple[str, ...]] = {}
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

    @property
    def etcd(self) -> str:
        """Its client URL."""
        return self._etcd

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None, *, user_agent: str = "") -> bytes:
        """An administrator's request over verified TLS; a body is sent as JSON, as a merge patch where it patches.

        Returns the body of a 2xx answer. Raises http.client.HTTPException for any other, OSError for none.
        """
        return _request(self._api_port, self.ca_file, self.token, method, path, body=body, user_agent=user_agent)

    def metrics_text(self) -> str:
        """The API server's own metrics, in the Prometheus text format."""
        return self.request("GET", "/metrics").decode()

    def restart(self, *names: str) -> None:
        """Ends servers at once, in that order, and starts them again in the opposite one. Raises StartFailed."""
        self._end(*names)
        self._begin(*reversed(names))

    def compact(self) -> None:
        """etcd forgets what was before now. The API server keeps a history of its own, as long as it runs."""
        found = self._ask_etcd("/v3/kv/range", FIRST_KEY)  # every answer tells the revision
        self._ask_etcd("/v3/kv/compaction", {"revision": found["header"]["revision"], "physical": True})

    def back_up(self, to: Path) -> None:
        """A copy of what etcd has written, made while it stands still, as a snapshot of its volume would be."""
        pid = self.servers["etcd"].pid
        shutil.rmtree(to, ignore_errors=True)
        os.kill(pid, signal.SIGSTOP)
        try:
            shutil.copytree(self._data, to)
        finally:
            os.kill(pid, signal.SIGCONT)

    def restore(self, backup: Path, *, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Everything begins anew on a copy that `back_up` made: versions go back. meanwhile: called when nothing is
        answered any more, and nothing yet. Raises StartFailed."""
        names = [name for name in ("kube-controller-manager", "kube-apiserver", "etcd") if name in self.servers]
        self._end(*names)
        meanwhile()
        shutil.rmtree(self._data)
        shutil.copytree(backup, self._data)
        self._begin(*reversed(names))

    def _end(self, *names: str) -> None:
        for name in names:
            self.servers[name].cut_off()
            self.servers[name].wait(READY_SECONDS)

    def _begin(self, *names: str) -> None:
        for name in names:
            self._wait_for(self._launch(name, *self._arguments[name]))

    def _ask_etcd(self, path: str, body: Mapping[str, Any]) -> Any:
        request = urllib.request.Request(f"{self._etcd}{path}", json.dumps(body).encode(), method="POST")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=READY_SECONDS) as answer:
            return json.load(answer)

    @property
    def _data(self) -> Path:
        return self.directory / "etcd"

    def _port(self) -> int:
        reserved = ReservedPort()
        self._ports.append(reserved)
        return reserved.number

    def _start(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self._start_etcd()
        self._start_apiserver()
        if self._controllers:
            self._start_controllers()

    def _launch(self, name: str, *arguments: str) -> Server:
        server = Server(name, [str(self._binary), name, *arguments], log=self.directory / f"{name}.log")
        self.servers[name] = server
        self._arguments[name] = arguments
        return server

    def _wait_for(self, server: Server) -> None:
        """Raises StartFailed."""
        troubles = {
            "etcd": self._etcd_trouble,
            "kube-apiserver": lambda: self._trouble("/readyz") or self._trouble("/api/v1/namespaces/default"),
            "kube-controller-manager": self._manager_trouble,
        }
        server.wait_until(troubles[server.name], READY_SECONDS)

    def _etcd_trouble(self) -> str:
        try:
            self._ask_etcd("/v3/kv/range", FIRST_KEY)
        except OSError as error:  # of which what urllib raises is a part
            return f"{type(error).__name__}: {error}"
        return ""

    def _manager_trouble(self) -> str:
        certificate = self._manager_certificates / "kube-controller-manager.crt"
        return _trouble(self._manager_port, "/healthz", certificate, "")

    def _start_etcd(self) -> None:
        self._etcd, peer = (f"http://127.0.0.1:{self._port()}" for _ in range(2))
        self._wait_for(self._launch("etcd", str(self._data), self._etcd, peer))

    def front_end(self, name: str, *, sharded: bool, etcd: str = "") -> Path:
        """One more API server on the same etcd, as behind a load balancer: its kubeconfig. etcd: another URL that leads
        there. Raises StartFailed."""
        port, directory = self._port(), self.directory / name
        directory.mkdir()
        flags = self._flags(port, directory / "apiserver", directory / "audit.log", sharded=sharded, etcd=etcd)
        server = Server(name, [str(self._binary), "kube-apiserver", *flags], log=directory / "kube-apiserver.log")
        self.servers[name] = server
        authority = directory / "apiserver" / "apiserver.crt"
        server.wait_until(lambda: _trouble(port, "/readyz", authority, self.token), READY_SECONDS)
        kubeconfig = directory / "kubeconfig"
        self._write_kubeconfig(kubeconfig, f"https://127.0.0.1:{port}", authority)
        return kubeconfig

    def _start_apiserver(self) -> None:
        self._api_port = self._port()
        self._write_inputs()
        flags = self._flags(self._api_port, self.ca_file.parent, self.audit_log, sharded=self.sharded)
        self._wait_for(self._launch("kube-apiserver", *flags))

    def _flags(self, port: int, certificates: Path, audit_log: Path, *, sharded: bool, etcd: str = "") -> list[str]:
        return [
            f"--etcd-servers={etcd or self._etcd}",
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
        server = self._launch(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            f"--service-account-private-key-file={self._key}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._manager_port}",
            f"--cert-dir={self._manager_certificates}",
            f"--controllers={','.join(self._controllers)}",
        )
        self._wait_for(server)

    @property
    def _manager_certificates(self) -> Path:
        return self.directory / "kube-controller-manager"

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
