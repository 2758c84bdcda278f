"""Real processes for tests: forked from the test, watched with deadlines, never left behind."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import pytest

PATIENCE_SECONDS = 15.0
"""Far above what anything here takes, so that a busy machine does not fail a test; only a hang reaches it."""


class Forked:
    """A child of the test that runs `main` with its stderr (and stdout) in a pipe. Killed at the end of the block."""

    def __init__(self, main: Callable[[], int]) -> None:
        self._reader, writer = os.pipe()
        self._seen = b""
        self._status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self._reader)
                for fd in (1, 2):
                    os.dup2(writer, fd)
                os.close(writer)
                import sys

                # pytest replaced the streams; a child's words belong into the pipe.
                sys.stdout = open(1, "w", closefd=False, buffering=1)  # noqa: SIM115  # as long as the process
                sys.stderr = open(2, "w", closefd=False, buffering=1)  # noqa: SIM115
                code = main()
                sys.stderr.flush()
                os._exit(code)
            except BaseException:
                import traceback

                os.write(2, traceback.format_exc().encode())
            finally:
                os._exit(99)
        os.close(writer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._reader)

    def send(self, signum: int) -> None:
        os.kill(self.pid, signum)

    def output_until(self, wanted: Callable[[str], bool]) -> str:
        """Everything written so far, as soon as `wanted` says so; at the end of file whatever there is."""
        end = time.monotonic() + PATIENCE_SECONDS
        while wanted is _never or not wanted(self._seen.decode(errors="replace")):
            if not select.select([self._reader], [], [], max(0.0, end - time.monotonic()))[0]:
                pytest.fail(f"not seen in time; the output was:\n{self._seen.decode(errors='replace')}")
            chunk = os.read(self._reader, 65536)
            if not chunk:
                break
            self._seen += chunk
        return self._seen.decode(errors="replace")

    def output(self) -> str:
        """Everything up to the end of file: until every process that shares the pipe has ended."""
        return self.output_until(_never)

    def exit_code(self) -> int:
        """Reads to the end first, so that no child waits for a full pipe."""
        output = self.output()
        if self._status is None:
            until(lambda: os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None, output)
            _, self._status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(self._status)


def _never(_: str) -> bool:
    return False


def until(condition: Callable[[], bool], explanation: object = "") -> None:
    """Waits for another process to bring the condition about."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > end:
            pytest.fail(f"not reached in {PATIENCE_SECONDS} s: {explanation}")
        select.select([], [], [], 0.005)


def gone(pid: int) -> bool:
    """Whether the process has ended; a zombie, which does nothing any more, counts as gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True
