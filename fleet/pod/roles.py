"""What a forked child does: the entry points of worker and agent, and the only place that knows uvloop.

Both build everything after the fork (loop, connections, threads) and end when SIGTERM arrives.
"""

from __future__ import annotations

import asyncio
import faulthandler
import signal
from collections.abc import Awaitable, Callable

import uvloop

from fleet.pod.agent_role import serve
from fleet.pod.plan import RunPlan
from fleet.pod.worker_role import work
from fleet.processes.child import ChildStart
from fleet.processes.exitcodes import EX_OK, EX_RECYCLED
from fleet.processes.recycling import RECYCLE_SIGNAL
from shards.process_memory import look_after_memory


def run_worker(start: ChildStart, plan: RunPlan) -> int:
    """A worker process, from fork to exit. Returns its exit code."""

    def recycled() -> None:
        start.heartbeat.say("it left because memory was short")
        if start.flights is not None:
            start.flights.keep_cancelled = True

    return _live(lambda stop: work(start, plan, stop), recycled)


def run_agent(start: ChildStart, plan: RunPlan) -> int:
    """The pod's agent: HTTP for metrics and health, and a candidate for the coordinator's office."""
    return _live(lambda stop: serve(start, plan, stop))


def _live(main: Callable[[asyncio.Event], Awaitable[None]], recycled: Callable[[], None] = lambda: None) -> int:
    """recycled: told when the process is asked to leave and come again, before it begins to leave."""
    look_after_memory()
    # A crash in C says in which line of Python it was; like the watchdog, it writes past the logging machinery.
    faulthandler.enable(file=2)
    code = EX_OK

    async def until_stopped() -> None:
        stop = asyncio.Event()

        def recycle() -> None:
            nonlocal code
            if not stop.is_set():
                code = EX_RECYCLED
                recycled()
                stop.set()

        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        loop.add_signal_handler(RECYCLE_SIGNAL, recycle)
        await main(stop)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(until_stopped())
    return code
