"""Ending what a process, or a history, leaves behind, so that nobody notices: no warning, no step, no memory kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from chaos.simulation.lane import Lane
from chaos.simulation.trouble import Trouble, sentence

_MOST_AWAITS = 1000
"""Awaits that the cleanup of one coroutine may come by."""


def end_tasks(tasks: Iterable[asyncio.Task[Any]]) -> list[asyncio.Task[Any]]:
    """They never take another step, and nothing is said of them. Returns those that are running right now.

    Their `finally` blocks run, up to the end, here and now; those who wait for them wait for ever.
    """
    running = []
    for task in tasks:
        if task.done():
            task._log_traceback = False  # else it complains when it is collected
            continue
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        coroutine: Any = task.get_coro()
        if coroutine.cr_running:
            running.append(task)
        else:
            end_coroutine(coroutine)
    return running


def end_coroutine(coroutine: Any) -> None:
    """Closes it, however often its cleanup awaits something. Raises RuntimeError where that has no end."""
    for _ in range(_MOST_AWAITS):
        try:
            coroutine.close()
        except RuntimeError as error:
            if "ignored GeneratorExit" not in str(error):
                return
        except BaseException:  # its cleanup failed: nobody is there to hear of it
            return
        else:
            return
    raise RuntimeError(f"the cleanup of {coroutine.__qualname__} awaits for ever")


def unretrieved(lane: Lane, now: float) -> Iterator[Trouble]:
    """Of the tasks that ended with an error for which nobody has asked."""
    for each in lane.tasks:
        task = each()
        if task is None or not task.done() or not getattr(task, "_log_traceback", False):
            continue
        error = task.exception()  # is retrieved by it
        yield Trouble(now, lane.label, sentence(f"task {task.get_name()}", lane.label, error), error)
