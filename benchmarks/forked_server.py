"""A server in a process of its own, so that what it costs is not counted as its client's."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import uvloop

Announce = Callable[[str], None]
"""Told once, with the server's URL, as soon as it listens."""


@contextmanager
def forked_server(serve: Callable[[Announce], Coroutine[Any, Any, None]]) -> Iterator[str]:
    """Its URL. To be started before this process has a loop or a thread."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            uvloop.run(serve(lambda url: _tell(writing, url)))
        finally:
            os._exit(0)
    try:
        yield os.read(reading, 256).decode()
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reading)
        os.close(writing)


def _tell(pipe: int, url: str) -> None:
    os.write(pipe, url.encode())
