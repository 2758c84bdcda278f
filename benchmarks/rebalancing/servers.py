"""The servers that fleets are measured on, each in processes of its own, and their own record of what was written.

`embedded`: `fleet serve`, whose recorder has every request. `real`: etcd and kube-apiserver, whose audit log has; the
one that $REAL_KUBECONFIG leads to if it is set, which other work may use at the same time. Times are seconds since 1970
in both.
"""

from __future__ import annotations

import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import yaml

from fleet.devcluster.recording.journal import Entry, decode_lines
from shards.clock import boot_seconds
from tests.cluster import audit
from tests.cluster.build import ensure
from tests.cluster.gobuild import Say
from tests.cluster.plane import AUDIT_POLICY, GARBAGE_COLLECTION, ControlPlane
from tests.integration.pods import FLEET
from tests.integration.waiting import wait_for

PREFIX = "bench-"
"""Of the namespaces: lines of an audit log about anything else are not kept."""


class BenchServer(Protocol):
    """name: as rows call it. shared: whether others use it too, so that nothing may be left behind."""

    name: str
    kubeconfig: Path
    shared: bool

    def writes(self, namespace: str) -> list[Entry]:
        """All of them in the namespace so far, in commit order."""
        ...


class Embedded:
    """Follows the recorder of a `fleet serve`."""

    name = "embedded"
    shared = False

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self._url = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        self._seen = 0
        self._kept: list[Entry] = []

    def writes(self, namespace: str) -> list[Entry]:
        offset = time.time() - boot_seconds()
        with urllib.request.urlopen(f"{self._url}/-/journal?after={self._seen}", timeout=60) as answer:
            for entry in decode_lines(answer.read()):
                self._seen = entry.seq
                if entry.write and entry.namespace.startswith(PREFIX):
                    entry.time += offset
                    self._kept.append(entry)
        return [each for each in self._kept if each.namespace == namespace]


class Real:
    """Follows the audit log of an API server from now on."""

    name = "real"

    def __init__(self, kubeconfig: Path, audit_log: Path, *, shared: bool = False) -> None:
        self.kubeconfig = kubeconfig
        self.shared = shared
        self._log = audit_log
        self._read = audit_log.stat().st_size if audit_log.exists() else 0
        self._lines: list[bytes] = []

    def writes(self, namespace: str) -> list[Entry]:
        with self._log.open("rb") as log:
            log.seek(self._read)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                if b'"namespace":"' + PREFIX.encode() in line:
                    self._lines.append(line)
        wanted = b'"namespace":"%s"' % namespace.encode()
        return [each for each in audit.journal(line for line in self._lines if wanted in line) if each.write]


@contextmanager
def embedded(directory: Path) -> Iterator[Embedded]:
    """A new one, empty."""
    kubeconfig, log = directory / "kubeconfig", directory / "serve.log"
    directory.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        process = subprocess.Popen(
            [FLEET, "serve", "--write-kubeconfig", str(kubeconfig)], stdout=out, stderr=out, start_new_session=True
        )
    try:
        wait_for(lambda: kubeconfig.exists() or process.poll(), within_seconds=30, what="the embedded server serves")
        yield Embedded(kubeconfig)
    finally:
        process.kill()
        process.wait()


@contextmanager
def real(directory: Path, say: Say) -> Iterator[Real]:
    """That of $REAL_KUBECONFIG, or a new one, empty. Raises BuildFailed, StartFailed."""
    given = os.environ.get("REAL_KUBECONFIG")
    if given:
        yield Real(Path(given), Path(given).with_name("audit.log"), shared=True)
        return
    directory.mkdir(parents=True, exist_ok=True)
    policy = directory / "bench-policy.yaml"
    policy.write_text(yaml.safe_dump(_POLICY))
    flags = [f"--audit-policy-file={policy}"]
    binary = ensure(say)
    with ControlPlane(directory, binary=binary, controllers=GARBAGE_COLLECTION, apiserver_flags=flags) as plane:
        yield Real(plane.kubeconfig, plane.audit_log)


_POLICY = AUDIT_POLICY | {
    # Parcels are made and removed by the thousand: nobody asks who did it.
    "rules": [
        {
            "level": "None",
            "verbs": ["create", "delete"],
            "resources": [{"group": "bench.shardfleet.dev", "resources": ["parcels"]}],
        },
        *AUDIT_POLICY["rules"],  # type: ignore[misc]
    ]
}
