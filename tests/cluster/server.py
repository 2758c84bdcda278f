"""One server process of the control plane: started, watched while it gets ready, stopped."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

POLL_SECONDS = 0.05
STOP_SECONDS = 3.0
"""Enough to finish requests; an API server would wait a minute for clients that keep a watch open."""
TAIL_BYTES = 4000


class StartFailed(Exception):
    """A server ended, or did not get ready in time. The message carries the end of its log."""


class Server:
    """A process of the test binary. It ends with this process, because its standard input is a pipe from here."""

    def __init__(self, name: str, arguments: Sequence[str], *, log: Path) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                arguments, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, cwd=log.parent
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait(self, seconds: float) -> int:
        """Its exit status. Raises subprocess.TimeoutExpired."""
        return self._process.wait(seconds)

    def cut_off(self) -> None:
        """Closes its standard input, which the server takes for the end of this process. Idempotent."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def wait_until(self, trouble: Callable[[], str], seconds: float) -> None:
        """Asks until `trouble` returns "". Raises StartFailed when the process ends or the time is up."""
        deadline = time.monotonic() + seconds
        while reason := trouble():
            if time.monotonic() > deadline:
                raise StartFailed(f"{self.name} is not ready after {seconds:.0f} s: {reason}\n{self.tail()}")
            try:
                status = self.wait(POLL_SECONDS)
            except subprocess.TimeoutExpired:
                continue
            raise StartFailed(f"{self.name} ended with {status}\n{self.tail()}")

    def stop(self) -> None:
        """SIGTERM, and SIGKILL when that is not obeyed in time. Idempotent."""
        self._process.terminate()
        try:
            self.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.cut_off()

    def tail(self) -> str:
        """The end of the log."""
        return self.log.read_bytes()[-TAIL_BYTES:].decode(errors="replace")
