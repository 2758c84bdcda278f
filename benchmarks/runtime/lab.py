"""Where the peers are measured: a real API server of their own, built peers, and the harness of benchmarks/peers."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.clients.peers import SOURCE, Bench, Toolbox, compiled
from tests.cluster.build import ensure
from tests.cluster.gobuild import Say
from tests.cluster.plane import ControlPlane

ROOT = SOURCE.parents[1]

SILENT_AUDIT = '{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "None"}]}'
"""The tests' audit log holds every request and answer, which costs the server more than the peers do."""

NO_LIMITS = (
    "--max-requests-inflight=20000",
    "--max-mutating-requests-inflight=20000",
    "--enable-priority-and-fairness=false",
)
"""The server must not hold a peer back."""


@dataclass(frozen=True, slots=True)
class Lab:
    """results: one JSON object a line, as the harness appends them."""

    directory: Path
    bench: Bench

    @property
    def results(self) -> Path:
        return self.directory / "results.jsonl"

    def clear(self) -> None:
        self.bench.tool("clear")

    def populate(self, widgets: int) -> None:
        """Creates those that are missing of the first `widgets`."""
        self.bench.tool("populate", "-n", str(widgets))

    def measure(self, phase: str, *arguments: str, profile: str = "") -> None:
        """One phase of the harness, all rounds. profile: file for a peer that writes one, in the lab's directory.

        Raises subprocess.CalledProcessError.
        """
        command = [sys.executable, str(SOURCE / "bench.py"), phase, *arguments]
        variables = {
            **self.bench.environment(),
            **self.bench.toolbox.variables,
            "LAB": str(self.directory),
            "PROFILE": str(self.directory / profile) if profile else "",
            # The peers import the project from this tree, wherever their interpreter would take it from.
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", "")))),
        }
        variables.pop("PYTHONDONTWRITEBYTECODE", None)  # without cached bytecode each start compiles everything anew
        subprocess.run(command, env=variables, stdout=sys.stderr, check=True)


@contextmanager
def lab(directory: Path, say: Say) -> Iterator[Lab]:
    """A lab with a server of its own, empty. Logs and results stay in the directory.

    Raises BuildFailed, StartFailed.
    """
    directory.mkdir(parents=True, exist_ok=True)
    toolbox = Toolbox({"HERE": str(SOURCE), "FLEET_PYTHON": sys.executable, **compiled(say)})
    policy = directory / "audit-policy.yaml"
    policy.write_text(SILENT_AUDIT)
    flags = (*NO_LIMITS, f"--audit-policy-file={policy}")
    with (
        tempfile.TemporaryDirectory(prefix="bench-runtime-") as data,
        ControlPlane(Path(data), binary=ensure(say), apiserver_flags=flags) as plane,
    ):
        (directory / "apiserver.pid").write_text(str(plane.servers["kube-apiserver"].pid))
        found = Lab(directory, Bench(toolbox, plane.kubeconfig))
        found.bench.tool("setup")
        yield found
