"""The API servers that fleets of our own talk to, each with a recorder and faults in front. Context managers.

embedded    the embedded API server, in a process of its own
real        any other, behind the fault proxy: one that is there for tests, or the one of a kubeconfig
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from chaos.targets.control import Control
from chaos.targets.pod import FLEET
from chaos.targets.target import TargetFailed

START_SECONDS = 30.0
_LOOK_SECONDS = 0.02
_PROXY = (sys.executable, "-m", "chaos.targets.fault_proxy")
JOURNAL_FILE = "server.jsonl"

Say = Callable[[str], None]


@dataclass
class RecordedServer:
    """What `chaos.targets.target.Server` asks. kubeconfig: leads through the recorder. pids: of the API server, for
    signals; none where that is not ours."""

    kubeconfig: Path
    journal: Path
    control: Control
    pids: tuple[int, ...] = ()
    paused: bool = False

    def inject(self, *faults: Mapping[str, Any]) -> list[int]:
        return self.control.inject(*faults)

    def release(self, numbers: Sequence[int]) -> None:
        self.control.release(numbers)

    def struck(self) -> dict[int, int]:
        return self.control.struck()

    def heal(self) -> None:
        self.resume()
        self.control.heal()

    def pause(self) -> None:
        if not self.pids:
            raise TargetFailed("the API server of this target is not ours to pause")
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)
        self.paused = True

    def resume(self) -> None:
        if self.paused:
            for pid in self.pids:
                os.kill(pid, signal.SIGCONT)
            self.paused = False


@contextmanager
def embedded(directory: Path, *, front_ends: int = 1, load: Sequence[Path] = ()) -> Iterator[RecordedServer]:
    """A new one. load: files of objects that exist from the start. Raises TargetFailed."""
    kubeconfig, journal = directory / "kubeconfig", directory / JOURNAL_FILE
    command = [*FLEET, "serve", "--write-kubeconfig", str(kubeconfig), "--front-ends", str(front_ends)]
    command += ["--journal", str(journal), "--journal-level", "deliveries"]
    command += [word for file in load for word in ("--load", str(file))]
    with _process(command, directory / "serve.log", until=kubeconfig) as process:
        yield RecordedServer(kubeconfig, journal, Control(_url(kubeconfig)), (process.pid,))


@contextmanager
def real(directory: Path, say: Say, *, kubeconfig: Path | None = None) -> Iterator[RecordedServer]:
    """kubeconfig: of a server that is there for tests; None starts the control plane that the project's tests use,
    which needs a checkout of the sources. Raises TargetFailed."""
    through, journal = directory / "kubeconfig", directory / JOURNAL_FILE
    with contextlib.ExitStack() as stack:
        pids: tuple[int, ...] = ()
        if kubeconfig is None:
            plane = stack.enter_context(_control_plane(directory / "plane", say))
            kubeconfig, pids = plane.kubeconfig, (plane.servers["kube-apiserver"].pid,)
        command = [*_PROXY, "--kubeconfig", str(kubeconfig), "--write-kubeconfig", str(through)]
        stack.enter_context(_process([*command, "--journal", str(journal)], directory / "proxy.log", until=through))
        yield RecordedServer(through, journal, Control(_url(through)), pids)


def _control_plane(directory: Path, say: Say) -> Any:
    """Found at run time: an installed package has no tests beside it, and nothing else of it needs them."""
    try:
        build = importlib.import_module("tests.cluster.build")
        plane = importlib.import_module("tests.cluster.plane")
    except ModuleNotFoundError as error:
        raise TargetFailed(
            "the control plane for tests comes with the sources: run this in a checkout, or give --kubeconfig of a"
            " server that may be broken"
        ) from error
    return plane.ControlPlane(directory, binary=build.ensure(say), controllers=plane.GARBAGE_COLLECTION)


@contextmanager
def _process(command: Sequence[str], log: Path, *, until: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Runs it from when it has written that file on."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not until.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                lines = log.read_text(errors="replace").strip().splitlines()
                raise TargetFailed(f"the server did not start: {lines[-1] if lines else 'it said nothing'}")
            time.sleep(_LOOK_SECONDS)
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _url(kubeconfig: Path) -> str:
    document = yaml.safe_load(kubeconfig.read_text())
    wanted = next(each for each in document["contexts"] if each["name"] == document["current-context"])
    cluster = next(each for each in document["clusters"] if each["name"] == wanted["context"]["cluster"])
    return str(cluster["cluster"]["server"])
