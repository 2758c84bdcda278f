"""The API servers that fleets of our own talk to, each with a recorder and faults in front. Context managers.

embedded    the embedded API server, in a process of its own
real        any other, behind the fault proxy: one that is there for tests, or the one of a kubeconfig
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from chaos.targets.control import Control
from chaos.targets.holds import SECOND, EmbeddedHold, Hold, NoHold, PlaneHold
from chaos.targets.planes import Planes, Say
from chaos.targets.pod import FLEET
from chaos.targets.target import TargetFailed

START_SECONDS = 30.0
_LOOK_SECONDS = 0.02
_PROXY = (sys.executable, "-m", "chaos.targets.fault_proxy")
_RELAY = (sys.executable, "-m", "chaos.targets.relay")
JOURNAL_FILE = "server.jsonl"


@dataclass
class RecordedServer:
    """What `chaos.targets.target.Server` asks. kubeconfig: leads through the recorder."""

    kubeconfig: Path
    journal: Path
    control: Control
    hold: Hold
    paused: tuple[int, ...] = ()

    def inject(self, *faults: Mapping[str, Any]) -> list[int]:
        return self.control.inject(*faults)

    def release(self, numbers: Sequence[int]) -> None:
        self.control.release(numbers)

    def struck(self) -> dict[int, int]:
        return self.control.struck()

    def heal(self) -> None:
        self.resume()
        self.hold.thaw()
        self.control.heal()

    def pause(self) -> None:
        pids = self.hold.pids()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        self.paused = pids

    def resume(self) -> None:
        for pid in self.paused:
            os.kill(pid, signal.SIGCONT)
        self.paused = ()

    def freeze_replica(self) -> str:
        return self.hold.freeze_replica()

    def compact(self) -> None:
        self.hold.compact()

    def back_up(self) -> None:
        self.hold.back_up()

    def restore(self) -> None:
        self.hold.restore()


@contextmanager
def embedded(
    directory: Path, *, front_ends: int = 1, load: Sequence[Path] = (), guarded: bool = False
) -> Iterator[RecordedServer]:
    """A new one. load: files of objects that exist from the start. guarded: who shows no credential is let
    in nowhere. Raises TargetFailed."""
    kubeconfig, journal = directory / "kubeconfig", directory / JOURNAL_FILE
    command = [*FLEET, "serve", "--write-kubeconfig", str(kubeconfig), "--front-ends", str(front_ends)]
    command += ["--journal", str(journal), "--journal-level", "deliveries"]
    command += [word for file in load for word in ("--load", str(file))]
    if guarded:
        command += ["--admin-token", secrets.token_hex(16)]
    with _process(command, directory / "serve.log", until=kubeconfig) as process:
        control = Control(_url(kubeconfig))
        yield RecordedServer(kubeconfig, journal, control, EmbeddedHold(control, process.pid))


@contextmanager
def real(
    directory: Path,
    kubeconfig: Path,
    hold: Callable[[Control], Hold] = lambda control: NoHold(),
    *,
    other: Path | None = None,
) -> Iterator[RecordedServer]:
    """kubeconfig: of a server that is there already, and may be broken. hold: what we have in our hands of it, given
    the control endpoint of the recorder in front of it. other: kubeconfig of a second API server of the same cluster.
    Raises TargetFailed."""
    through, journal = directory / "kubeconfig", directory / JOURNAL_FILE
    command = [*_PROXY, "--kubeconfig", str(kubeconfig), "--write-kubeconfig", str(through)]
    if other is not None:
        command += ["--other", f"{SECOND}={other}"]
    with _process([*command, "--journal", str(journal)], directory / "proxy.log", until=through):
        control = Control(_url(through))
        yield RecordedServer(through, journal, control, hold(control))


@contextmanager
def real_of_its_own(directory: Path, say: Say, *, front_ends: int = 1) -> Iterator[RecordedServer]:
    """Behind it a control plane that is started for this one. front_ends: 2 for a second API server, which a relay
    stands before etcd for. Raises TargetFailed."""
    with Planes(directory, say) as planes:
        if front_ends == 1:
            with of_planes(directory, planes) as server:
                yield server
            return
        plane, port = planes.plane(), directory / "relay.port"
        command = [*_RELAY, "--to", plane.etcd.removeprefix("http://"), "--write-port", str(port)]
        with _process(command, directory / "relay.log", until=port) as relay:
            etcd = f"http://127.0.0.1:{port.read_text(encoding='utf-8')}"
            other = plane.front_end("second", sharded=True, etcd=etcd)
            hold = partial(PlaneHold, plane, planes.backup, relay=relay.pid)
            with real(directory, plane.kubeconfig, hold, other=other) as server:
                yield server


@contextmanager
def of_planes(directory: Path, planes: Planes) -> Iterator[RecordedServer]:
    """Behind it one that others use too, before and after. Raises TargetFailed."""
    plane = planes.plane()
    with real(directory, plane.kubeconfig, partial(PlaneHold, plane, planes.backup)) as server:
        yield server


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
