"""A part of `fleet dev` that runs in a process of its own: forked before any event loop, and gone when we are.

It says over a pipe that it is ready, or in one sentence why it is not.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

import msgspec

from fleet.dev import endings
from fleet.processes.child import begin_child
from shards.errors import ConfigError, ShardError

_POLL_SECONDS = 0.02
_WORDS_BYTES = 65_536


class Words(msgspec.Struct, frozen=True):
    """What the process says once. error: why it cannot go on; config: whether a setting is to blame."""

    ready: str = ""
    error: str = ""
    config: bool = False


Say = Callable[[str], None]
"""Called by the process's main function once it is ready."""


class PartFailed(ShardError):
    """A part of `fleet dev` ended although nobody asked it to."""


@dataclass(slots=True)
class Part:
    """The parent's side. exit_code: None while it runs."""

    name: str
    pid: int
    words_fd: int
    exit_code: int | None = None
    _heard: bytes = field(default=b"", repr=False)

    def alive(self) -> bool:
        """Reaps it when it has ended."""
        if self.exit_code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit_code = os.waitstatus_to_exitcode(status)
        return self.exit_code is None

    def words(self) -> Words | None:
        """What it has said so far; None when nothing."""
        while select.select([self.words_fd], [], [], 0)[0]:
            chunk = os.read(self.words_fd, _WORDS_BYTES)
            if not chunk:
                break
            self._heard += chunk
        lines = self._heard.splitlines()
        return msgspec.json.decode(lines[-1], type=Words) if lines else None

    def wait_ready(self, timeout_seconds: float) -> str:
        """What it said when it was ready. Raises ConfigError or PartFailed with its own sentence."""
        give_up_at = time.monotonic() + timeout_seconds
        while True:
            alive = self.alive()
            words = self.words()
            if words is not None and words.ready:
                return words.ready
            if words is not None or not alive:
                raise self.failure()
            if time.monotonic() > give_up_at:
                raise PartFailed(f"the {self.name} was not ready after {timeout_seconds:g} seconds")
            select.select([self.words_fd], [], [], _POLL_SECONDS)

    def failure(self) -> ShardError:
        """Why it ended, in its own words if it had any."""
        words = self.words()
        if words is not None and words.error:
            return ConfigError("", words.error) if words.config else PartFailed(words.error)
        return PartFailed(f"the {self.name} ended with exit code {self.exit_code}; see the log")

    def terminate(self) -> None:
        """SIGTERM; nothing when it has ended."""
        if self.alive():
            os.kill(self.pid, signal.SIGTERM)

    def end(self, grace_seconds: float = 2.0) -> None:
        """SIGTERM, and SIGKILL after the grace; returns when it is gone."""
        self.terminate()
        kill_at = time.monotonic() + grace_seconds
        while self.alive():
            if time.monotonic() > kill_at:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(_POLL_SECONDS)


def start(name: str, main: Callable[[Say], int], log_fd: int) -> Part:
    """Forks. The process has its own session (a Ctrl-C of the terminal does not reach it), dies with us, and writes
    both its streams to log_fd. Call it while this process has no event loop and no other thread."""
    reading, writing = os.pipe()
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    mask = endings.hold()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _live(parent, main, writing, log_fd, mask)
    endings.release(mask)
    os.close(writing)
    return Part(name, pid, reading)


def _live(parent: int, main: Callable[[Say], int], words_fd: int, log_fd: int, mask: set[int]) -> NoReturn:
    code = os.EX_SOFTWARE
    try:
        begin_child(parent, mask)
        os.dup2(log_fd, 1)
        os.dup2(log_fd, 2)
        code = main(lambda ready: _say(words_fd, Words(ready=ready)))
    except ShardError as error:
        _say(words_fd, Words(error=str(error), config=isinstance(error, ConfigError)))
    except BaseException as error:  # nothing may return into the parent's code
        traceback.print_exc()
        _say(words_fd, Words(error=f"unexpected {type(error).__name__}: {error}"))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _say(words_fd: int, words: Words) -> None:
    os.write(words_fd, msgspec.json.encode(words) + b"\n")
