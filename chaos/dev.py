"""The target `dev`: a `fleet dev` of our own, with its own run directory, on the embedded API server.

Only loopback is talked to, in plain HTTP and by the standard library: the server knows no credentials.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from chaos.oracle import owned_ranges
from chaos.target import Kill, TargetFailed, TargetSettings
from fleet import __version__
from fleet.configuration.controllers import load_controller
from fleet.dev.demo import find_demo
from fleet.dev.options import POD
from fleet.devcluster.evidence.verdict import Verdict
from fleet.processes.children import read_children
from fleet.processes.rundir import DevState
from shards.clock import boot_seconds
from shards.errors import ApiError, Unreachable
from shards.objects import Object

_CREATORS = 8
_LOOK_SECONDS = 0.1
_REQUEST_SECONDS = 20.0
_END_SECONDS = 20.0
_WORKER = "worker-"
_USER_AGENT = f"fleet-chaos/{__version__}"
"""No member's: the recorder must not take our requests for the fleet's."""
_COMMAND = "import sys; from fleet.cli import main; sys.exit(main())"


class DevTarget:
    """A context manager: started and settled inside, ended afterwards whatever happened.

    log_file: where the fleet's processes log; kept. None: the log goes with the run directory.
    """

    def __init__(self, settings: TargetSettings, *, say: Callable[[str], None], log_file: Path | None = None) -> None:
        """say: is told in sentences how far it is. Raises ConfigError for a controller that cannot be loaded, or that
        has no demo objects."""
        loaded = load_controller(settings.controller, base=Path.cwd(), path="extensions.target.controller")
        self._demo = find_demo(loaded.module, loaded.controller.primary)
        self._demo.objects(settings.objects)
        self._primary = loaded.controller.primary
        self._settings = settings
        self._say = say
        self._expected = settings.objects
        self._kills: list[Kill] = []
        self._directory = Path(tempfile.mkdtemp(prefix="chaos-"))
        self._log_file = (log_file or self._directory / "fleet.log").absolute()
        self._said_file = self._directory / "said.txt"
        self._process: subprocess.Popen[bytes] | None = None
        self._state: DevState | None = None
        # No proxy of the environment stands between us and loopback.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def __enter__(self) -> DevTarget:
        """Returns once every range is owned and every object settled. Raises TargetFailed."""
        try:
            self._start()
            self._wait_until_settled()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    # What actions and probes use

    @property
    def kills(self) -> Sequence[Kill]:
        return tuple(self._kills)

    @property
    def ranges(self) -> int:
        return self._settings.shards

    def now(self) -> float:
        return boot_seconds()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def verdict(self) -> Verdict:
        return msgspec.json.decode(self._request("GET", "/-/verdict"), type=Verdict)

    def members(self) -> Mapping[str, str]:
        children = read_children(self._run_dir())
        return {name: f"{POD}-{name.removeprefix(_WORKER)}" for name in children if name.startswith(_WORKER)}

    def kill(self, child: str) -> Kill:
        record = read_children(self._run_dir()).get(child)
        if record is None:
            raise TargetFailed(f"there is no child {child} that is alive")
        try:
            process = os.pidfd_open(record.pid)
        except ProcessLookupError as error:
            raise TargetFailed(f"{child} ended by itself before it was killed") from error
        try:
            # The descriptor names one process for good. That it is the one that was meant, the list says once more:
            # the supervisor takes a dead child off it before the number can be another's.
            if read_children(self._run_dir()).get(child) != record:
                raise TargetFailed(f"{child} was replaced before it was killed")
            kill = Kill(child, self.members()[child], record.pid, self.now())
            signal.pidfd_send_signal(process, signal.SIGKILL)
        finally:
            os.close(process)
        self._kills.append(kill)
        return kill

    def unsettled(self) -> int:
        objects = msgspec.json.decode(self._request("GET", self._primary.path()))["items"]
        settled = sum(1 for obj in objects if self._demo.settled(obj))
        return max(len(objects), self._expected) - settled

    def add_objects(self, count: int) -> None:
        new = self._demo.objects(self._expected + count)[self._expected :]
        self._expected += count
        # Several at once, so that they come faster than the fleet is done with them.
        with ThreadPoolExecutor(_CREATORS) as pool:
            for _ in pool.map(self._create, new):
                pass

    def _create(self, obj: Object) -> None:
        self._request("POST", self._primary.path(obj["metadata"].get("namespace", "")), obj)

    # Beginning and end

    def _start(self) -> None:
        wanted = self._settings
        arguments: list[str] = ["dev", wanted.controller, "--log-file", str(self._log_file)]
        arguments += ["--workers", str(wanted.workers), "--shards", str(wanted.shards)]
        arguments += ["--objects", str(wanted.objects), "--for", f"{wanted.seconds:g}"]
        with self._said_file.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _COMMAND, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                env={**os.environ, "XDG_RUNTIME_DIR": str(self._directory), "COLUMNS": "200"},
                start_new_session=True,  # a Ctrl-C is for us: we end it after the rollbacks
            )
        self._say(f"started fleet dev, pid {self._process.pid}")

    def _wait_until_settled(self) -> None:
        give_up_at = self.now() + self._settings.settle_seconds
        began = self.now()
        while self.now() < give_up_at:
            if self._is_settled():
                self._say(f"settled after {self.now() - began:.1f} s")
                return
            self.sleep(_LOOK_SECONDS)
        state = "it has not begun to serve"
        if self._state is not None:
            owned = owned_ranges(self.verdict(), ()).total()
            state = f"{owned} of {self._settings.shards} ranges are owned, {self.unsettled()} objects are not settled"
        raise TargetFailed(f"the fleet is not settled after {self._settings.settle_seconds:g} seconds: {state}")

    def _is_settled(self) -> bool:
        self._check_running()
        if self._state is None:
            self._state = self._find()
        if self._state is None or self.unsettled():
            return False
        return owned_ranges(self.verdict(), ()).total() == self._settings.shards

    def _find(self) -> DevState | None:
        for file in self._directory.glob("*/dev-*/dev.json"):
            return msgspec.json.decode(file.read_bytes(), type=DevState)
        return None

    def _check_running(self) -> None:
        if self._process is not None and (code := self._process.poll()) is not None:
            lines = self._said_file.read_text(errors="replace").strip().splitlines()
            last = f": {lines[-1]}" if lines else ""
            raise TargetFailed(f"fleet dev ended with exit code {code}{last}")

    def _end(self) -> None:
        process = self._process
        try:
            if process is not None and process.poll() is None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_END_SECONDS)
        finally:  # a second Ctrl-C comes through here too
            if process is not None and process.poll() is None:
                process.kill()  # its parts ask the kernel to die with it
                process.wait()
            shutil.rmtree(self._directory, ignore_errors=True)

    def _serving(self) -> DevState:
        if self._state is None:
            raise TargetFailed("the fleet does not serve")
        return self._state

    def _run_dir(self) -> Path:
        """Of the pod: beside the kubeconfig."""
        return Path(self._serving().kubeconfig).parent / "pod"

    def _request(self, method: str, path: str, body: Object | None = None) -> bytes:
        self._check_running()
        request = urllib.request.Request(
            f"{self._serving().server}{path}",
            method=method,
            data=None if body is None else msgspec.json.encode(body),
            headers={"Content-Type": "application/json", "User-Agent": _USER_AGENT},
        )
        try:
            with self._opener.open(request, timeout=_REQUEST_SECONDS) as answer:
                data: Any = answer.read()
                return bytes(data)
        except urllib.error.HTTPError as error:
            with error:
                raise ApiError(error.code, error.reason, f"{method} {path}") from error
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{method} {path}: {error}") from error
