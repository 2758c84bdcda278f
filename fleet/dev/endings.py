"""The signals that end `fleet dev`: Ctrl-C, SIGTERM, and SIGHUP, which a terminal sends when it is closed."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

_ALL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interrupt() -> Iterator[None]:
    """Within it, each of them raises KeyboardInterrupt, so that everything is taken down; before and after, as it was.

    Only for the main thread, and for the time in which no event loop runs; see `run`.
    """
    before = {signum: signal.getsignal(signum) for signum in _wanted()}
    try:
        _raise()
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def ignore() -> None:
    """They do nothing until `interrupt` ends."""
    for signum in _wanted():
        signal.signal(signum, signal.SIG_IGN)


def hold() -> set[int]:
    """They wait until `release`. Around a fork: what a handler raises in Python's own callbacks there would be lost.

    Returns the mask for `release`, or for `fleet.processes.child.begin_child`.
    """
    return set(signal.pthread_sigmask(signal.SIG_BLOCK, _ALL))


def release(mask: set[int]) -> None:
    """What has waited comes now."""
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def run(main: Callable[[asyncio.Event], Coroutine[Any, Any, T]]) -> T:
    """asyncio.run, in which they set the event that is given to `main`, and never raise: an exception in the midst of
    a loop's own work can leave it waiting for ever. They wait while the loop begins and ends."""
    mask = hold()

    async def whole() -> T:
        stop = asyncio.Event()
        for signum in _wanted():
            asyncio.get_running_loop().add_signal_handler(signum, stop.set)
        release(mask)
        try:
            return await main(stop)
        finally:
            hold()

    try:
        return asyncio.run(whole())
    finally:
        _raise()  # the loop has taken its handlers away
        release(mask)


def _raise() -> None:
    for signum in _wanted():
        signal.signal(signum, signal.default_int_handler)


def _wanted() -> list[signal.Signals]:
    """Not SIGHUP where it is ignored: that is how `nohup` keeps a command running."""
    hangup = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    return [signal.SIGINT, signal.SIGTERM, *hangup]
