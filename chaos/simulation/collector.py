"""The garbage collector, kept out of histories: what it finds, and when, is no part of the seed.

A coroutine, a generator or a failed task in a reference cycle runs code as it is collected; that has to happen at the
same point of a history every time, which is after it.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_off() -> Iterator[None]:
    """Around one history. May be nested; what there is to collect waits."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Sweeper:
    """Around many histories: the collector runs between them, and does not look at what was there before the first.

    histories: so many between two collections; memory grows by their garbage and no further. 1 is the cheapest: what
    is freed is taken again while it is still in the processor's caches, and what was there before is not looked at.
    """

    def __init__(self, histories: int = 1) -> None:
        self._histories = histories
        self._since = 0

    @contextmanager
    def sweeping(self) -> Iterator[None]:
        gc.collect()
        gc.freeze()
        try:
            with collector_off():
                yield
        finally:
            gc.unfreeze()

    def history_over(self) -> None:
        self._since += 1
        if self._since >= self._histories:
            self._since = 0
            gc.collect()
            gc.freeze()  # what is still there is no history's: modules that the first one loaded, caches
