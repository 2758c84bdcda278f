"""Pods without a kubelet: `fleet run` as a process, with the environment that the downward API would give it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import yaml

from fleet.processes.children import ChildRecord, read_children
from shards.journal import Note, decode_notes, on_wall_clock

ROOT = Path(__file__).parents[2]
WEBSITES_FILE = ROOT / "docs" / "examples" / "websites.py"
FLEET = str(Path(sys.executable).with_name("fleet"))
END_SECONDS = 30.0
JOURNALS = "journals"
"""Directory with what the workers noted."""


def fleet_config(directory: Path, **changes: object) -> Path:
    """A config file that suits a test: the defaults, but moves at once and no fixed port."""
    config = {
        "fleet": "web",
        "controller": f"{WEBSITES_FILE}:websites",
        "shards": {"count": 16},
        "workers": {"perPod": 2},
        "rebalance": {"churnPerRound": 1.0, "cooldownSeconds": 1.0},
        "agent": {"metricsPort": 0, "address": "127.0.0.1"},
    } | changes
    file = directory / "fleet.yaml"
    file.write_text(yaml.safe_dump(config))
    return file


@dataclass
class Pod:
    """Runs while the context is open. log: everything that its processes wrote to standard error.

    revision: of the pod template, where one is told. uid: "" for one that follows from the name. environment: beside
    what the downward API gives. command: that runs it, up to its options.
    """

    name: str
    config: Path
    kubeconfig: Path
    directory: Path
    namespace: str = "default"
    revision: str = ""
    uid: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] = (FLEET, "run")
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def log(self) -> Path:
        return self.directory / f"{self.name}.log"

    @property
    def run_dir(self) -> Path:
        return self.directory / self.name

    @property
    def journals(self) -> Path:
        """Where its workers note what they do."""
        return self.directory / JOURNALS

    def children(self) -> dict[str, ChildRecord]:
        return read_children(self.run_dir)

    def kill(self, child: str) -> int:
        """SIGKILL to one child of this pod. Returns the pid that it had."""
        pid = self.children()[child].pid
        os.kill(pid, signal.SIGKILL)
        return pid

    def terminate(self) -> int:
        """What a kubelet does: SIGTERM, and waits. Returns the exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(END_SECONDS)

    def __enter__(self) -> Self:
        environment = os.environ | {
            "POD_NAME": self.name,
            "POD_UID": self.uid or f"uid-of-{self.name}",
            "POD_NAMESPACE": self.namespace,
            "POD_REVISION": self.revision,
            **self.environment,
        }
        command = [*self.command, "--config", str(self.config)]
        command += ["--kubeconfig", str(self.kubeconfig), "--run-dir", str(self.run_dir)]
        command += ["--journal", str(self.journals)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=ROOT)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@dataclass
class PodStart(Pod):
    """One start of a pod whose name comes back, with a log and a run directory of its own. start: which of the name.

    rooms: where run directories are; a path to a socket in one must be short.
    """

    start: int = 1
    rooms: Path = Path()

    @property
    def log(self) -> Path:
        return self.directory / f"{self.name}.{self.start}.log"

    @property
    def run_dir(self) -> Path:
        return self.rooms / f"{self.name}.{self.start}"


def notes(directory: Path) -> list[Note]:
    """What all workers of pods in that directory have noted so far, with times since 1970."""
    files = sorted((directory / JOURNALS).rglob("*.jsonl"))
    return list(on_wall_clock(note for file in files for note in decode_notes(file.read_bytes())))


def fleet_status(kubeconfig: Path) -> dict[str, Any]:
    """What `fleet status -o json` says."""
    command = [FLEET, "status", "--kubeconfig", str(kubeconfig), "-n", "default", "-o", "json"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=END_SECONDS)
    answer: dict[str, Any] = msgspec.json.decode(done.stdout)
    return answer
