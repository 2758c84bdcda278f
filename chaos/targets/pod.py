"""A pod without a kubelet: `fleet run` as a process, with the environment that the downward API would give it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from fleet.processes.children import ChildRecord, read_children

TIED = (
    "import signal; from fleet.processes.prctl import set_parent_death_signal;set_parent_death_signal(signal.SIGKILL);"
)
"""Ends a process with the one that started it, also while it is stopped: SIGTERM would wait until it goes on."""
FLEET = (sys.executable, "-c", f"{TIED} import sys; from fleet.cli import main; sys.exit(main())")
"""The command `fleet`, which ends with the process that starts it."""
RUN = (*FLEET, "run")
"""That of a pod, up to its options."""

END_SECONDS = 30.0
"""After which a kubelet kills what was told to end."""

JOURNALS = "journals"
"""Directory with what the workers noted."""


@dataclass
class Pod:
    """Runs while the context is open. log: everything that its processes wrote to standard error.

    revision: of the pod template, where one is told. uid: "" for one that follows from the name. environment: beside
    what the downward API gives. command: that runs it, up to its options. working_directory: None for ours.
    """

    name: str
    config: Path
    kubeconfig: Path
    directory: Path
    namespace: str = "default"
    revision: str = ""
    uid: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] = RUN
    working_directory: Path | None = None
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

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def children(self) -> dict[str, ChildRecord]:
        return read_children(self.run_dir)

    def kill(self, child: str) -> int:
        """SIGKILL to one child of this pod. Returns the pid that it had."""
        pid = self.children()[child].pid
        os.kill(pid, signal.SIGKILL)
        return pid

    def power_off(self) -> None:
        """What a node does that loses its power: supervisor, agent and workers end at once."""
        assert self.process is not None
        self.process.kill()  # its children follow at once: PR_SET_PDEATHSIG
        self.process.wait()

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
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=self.working_directory,
                start_new_session=True,  # a Ctrl-C in our terminal is for us, who put things back first
            )
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
