"""A pod on a machine whose clock is wrong: what its processes see of time is made up, and nothing else is.

    python -m chaos.targets.false_clock RATE FILE -m MODULE ARGUMENT...
    python -m chaos.targets.false_clock RATE FILE -c CODE ARGUMENT...

All clocks run at RATE from the start of the pod on; FILE holds two steps that others may make meanwhile. Timeouts of
event loops follow the clock, as those of a kernel with that clock would; waits of threads do not. Journals of workers
are written with true times, so that they can be read beside those of others.

libfaketime would do it from outside, but Python waits in ways that it does not know (0.9.10: `sem_clockwait`,
absolute `clock_nanosleep`), and hangs. Time namespaces know no rate, and no step after the start.
"""

from __future__ import annotations

import asyncio
import importlib
import mmap
import runpy
import selectors
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fleet.workers.worker_journal import FileJournal
from shards.journal import Note

MODULE = "chaos.targets.false_clock"
_BOOT, _WALL = 0, 1
_BYTES = 16
_MONOTONIC = frozenset({time.CLOCK_BOOTTIME, time.CLOCK_MONOTONIC, time.CLOCK_MONOTONIC_RAW})


class Steps:
    """Two numbers of seconds in a file that processes share: how far the boot clock and the wall clock were set."""

    def __init__(self, file: Path) -> None:
        """Made where it is not there."""
        if not file.exists():
            file.write_bytes(bytes(_BYTES))
        with file.open("r+b") as opened:
            self._numbers = memoryview(mmap.mmap(opened.fileno(), _BYTES)).cast("d")

    @property
    def boot(self) -> float:
        return self._numbers[_BOOT]

    @property
    def wall(self) -> float:
        return self._numbers[_WALL]

    def add(self, *, boot: float = 0.0, wall: float = 0.0) -> None:
        self._numbers[_BOOT] += boot
        self._numbers[_WALL] += wall


class FalseClock:
    """rate: seconds that pass on it in a true one. true: the kernel's clocks, by their numbers.

    A step of the boot clock is what processes see of a machine that slept: the monotonic clock does not show it.
    """

    def __init__(self, rate: float, steps: Steps, true: Callable[[int], float] = time.clock_gettime) -> None:
        self._rate = rate
        self._steps = steps
        self._true = true
        self._bases = {clock: true(clock) for clock in (*_MONOTONIC, time.CLOCK_REALTIME)}
        self._from = [0.0]
        """Readings of the boot clock from which on it was set as far as `_set_by` says."""
        self._set_by = [0.0]

    def read(self, clock: int) -> float:
        """What a process is told; clocks of processes and threads are left alone."""
        base = self._bases.get(clock)
        if base is None:
            return self._true(clock)
        shown = base + (self._true(clock) - base) * self._rate
        if clock == time.CLOCK_REALTIME:
            return shown + self._steps.wall
        if clock != time.CLOCK_BOOTTIME:
            return shown
        step = self._steps.boot
        if step != self._set_by[-1]:
            self._from.append(shown + step)
            self._set_by.append(step)
        return shown + step

    def true_boot(self, reading: float) -> float:
        """The true time at which the boot clock showed that."""
        step = self._set_by[bisect_right(self._from, reading) - 1]
        base = self._bases[time.CLOCK_BOOTTIME]
        return base + (reading - step - base) / self._rate


class ScaledSelector(selectors.EpollSelector):
    """Waits as long as its clock says, not as the kernel's does."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self._rate = rate

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(None if timeout is None else timeout / self._rate)


def install(clock: FalseClock, rate: float) -> None:
    """For this process and those that it forks. `shards.clock.boot_seconds` asks the module `time` at each call."""
    sleep, write = time.sleep, FileJournal.write
    time.clock_gettime = clock.read
    time.time = lambda: clock.read(time.CLOCK_REALTIME)
    time.monotonic = lambda: clock.read(time.CLOCK_MONOTONIC)
    time.sleep = lambda seconds: sleep(float(seconds) / rate)

    def write_true(self: FileJournal, note: Note) -> None:
        note.time = clock.true_boot(note.time)
        write(self, note)

    # Through a variable: mypy takes modules and classes for what nobody patches.
    libuv: Any = importlib.import_module("uvloop")  # it asks the kernel for the time
    libuv.new_event_loop = lambda: asyncio.SelectorEventLoop(ScaledSelector(rate))
    journal: Any = FileJournal
    journal.write = write_true


def command_with(rate: float, file: Path, command: Sequence[str]) -> tuple[str, ...]:
    """The command of a pod, as `chaos.targets.pod` has it, with that clock."""
    return (command[0], "-m", MODULE, repr(rate), str(file), *command[1:])


def main(arguments: Sequence[str]) -> None:
    rate, file, how, what, *rest = arguments
    install(FalseClock(float(rate), Steps(Path(file))), float(rate))
    if how == "-c":
        sys.argv = ["-c", *rest]
        exec(compile(what, "<command>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = [what, *rest]
        runpy.run_module(what, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
