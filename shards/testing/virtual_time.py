"""Hours in seconds: an event loop whose clock jumps to the next timer as soon as nothing is left to do."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import looptime

Result = TypeVar("Result")

_NOOP_CYCLES = 1
"""Empty passes of the loop before its clock moves: one lets what is ready run, more only cost time."""


def run_virtually(main: Coroutine[Any, Any, Result], *, debug: bool = False) -> Result:
    """`asyncio.run` on virtual time, which begins at 0.

    The same code gives the same order of steps every time, as long as it takes time from the loop, randomness from a
    seed, and uses no threads and no sockets. Raises whatever `main` raises.
    """
    with asyncio.Runner(debug=debug, loop_factory=_virtual_loop) as runner:
        return runner.run(main)


def _virtual_loop() -> asyncio.AbstractEventLoop:
    loop: asyncio.AbstractEventLoop = looptime.new_event_loop(noop_cycles=_NOOP_CYCLES)
    return loop


def loop_seconds() -> float:
    """The running loop's clock, 0 before one runs. Injected where the product takes a `Clock`."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return 0.0
