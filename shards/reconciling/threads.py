"""Runs of plain functions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from shards.authoring.context import Context, Request
from shards.authoring.plain_context import PlainContext


async def in_thread(
    threads: Executor, call: Callable[[Any, Request], Any], context: Context, request: Request, seconds: float
) -> Any:
    """Calls a plain function. A thread cannot be cancelled: the task lives as long as it does, whatever is asked.

    What can be taken from it is the right to write. Raises TimeoutError, CancelledError, and what the function raises.
    """
    loop = asyncio.get_running_loop()
    work = loop.run_in_executor(threads, call, PlainContext(context, loop), request)
    cancelled = timed_out = False
    until = loop.time() + seconds
    while not work.done():
        try:
            await asyncio.wait((work,), timeout=None if timed_out else max(until - loop.time(), 0.0))
        except asyncio.CancelledError:
            cancelled = True
            context.revoke("the reconcile was cancelled")
        if not work.done() and loop.time() >= until and not timed_out:
            timed_out = True
            context.revoke(f"the reconcile took longer than {seconds:g} s")
            context.log.warning("takes longer than %g s, in a thread that cannot be cancelled", seconds)
    if cancelled:
        raise asyncio.CancelledError
    if timed_out:
        raise TimeoutError
    return work.result()
