"""The thread in a worker that watches its event loop, and ends the process before its lease could be taken (R2).

A blocked loop can neither renew nor stop what it is doing. The thread sees that the loop's heartbeat stands still,
writes what the loop is doing to stderr, and ends the process shortly before the deadline. It writes past the logging
machinery, whose locks the blocked loop may hold, and never waits for a full stderr. A C extension that keeps the
interpreter lock stops this thread too; then the supervisor acts (`fleet.processes.heartbeat`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import select
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from fleet.processes.exitcodes import EX_WATCHDOG
from fleet.processes.heartbeat import Heartbeat
from shards.clock import Clock, boot_seconds

log = logging.getLogger(__name__)

BEAT_SECONDS = 0.1
_STANDSTILL_SECONDS = 3 * BEAT_SECONDS
"""No heartbeat for this long is a standstill: enough to act on when the deadline is near."""
_PIPE_BYTES = 4096
"""PIPE_BUF: what a pipe that polls writable takes without blocking."""


@dataclass(frozen=True, slots=True)
class WatchdogSettings:
    warn_seconds: float = 1.0
    """After this long the stack is dumped, once per block. Longer than any single step of a healthy loop."""
    margin_seconds: float = 0.5
    """The process ends this long before the deadline: the time it needs to die, and its sockets to be reset."""
    limit_seconds: float = 6.8
    """A block this long ends the process whatever the deadline says: 0.85 of the default lease of 8 s, after which
    a loop that was alive would have lost its lease as well."""


class Verdict(StrEnum):
    ALIVE = "alive"
    WARN = "warn"
    EXIT = "exit"


def judge(now: float, last_beat: float, last_look: float, deadline: float, settings: WatchdogSettings) -> Verdict:
    """What to do about a loop. All times are boot-clock seconds; `last_look` is when this was last asked.

    An infinite deadline (either sign) means that the process holds nothing. A loop that was alive after its deadline
    has already had its chance to stop, so it is not ended for a mere standstill, only for a block. When the asker
    itself has not run for a while (the whole process or machine was paused) the loop may be perfectly well: it is only
    ended when the pause has carried it over its deadline.
    """
    blocked = now - last_beat
    if blocked < _STANDSTILL_SECONDS:
        return Verdict.ALIVE
    near = math.isfinite(deadline) and now > deadline - settings.margin_seconds
    if near and (last_beat < deadline or blocked >= settings.warn_seconds):
        return Verdict.EXIT
    if now - last_look >= _STANDSTILL_SECONDS:
        return Verdict.ALIVE
    if blocked >= settings.limit_seconds:
        return Verdict.EXIT
    return Verdict.WARN if blocked >= settings.warn_seconds else Verdict.ALIVE


class Watchdog:
    """Start it on the loop, after the fork.

    blocks, blocked_seconds: how often and how long the loop stood still for `warn_seconds` or more since the last
    `take_blocks`.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        deadline: Callable[[], float],
        heartbeat: Heartbeat | None = None,
        settings: WatchdogSettings | None = None,
        clock: Clock = boot_seconds,
    ) -> None:
        """deadline: boot-clock reading up to which this process may act, infinite when it holds nothing. It is called
        from the loop and from the watchdog's thread, and must neither block nor raise.
        """
        self._loop = loop
        self._deadline = deadline
        self._heartbeat = heartbeat
        self._settings = settings or WatchdogSettings()
        self._clock = clock
        self._last_beat = clock()
        self._loop_thread = 0
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = threading.Event()
        self._warned_at: float | None = None  # last_beat of the block that was reported; the thread's alone
        self.blocks = 0
        self.blocked_seconds = 0.0

    def start(self) -> None:
        """Call it from the loop's thread, in the loop or before it runs."""
        self._loop_thread = threading.get_ident()
        self._beat()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """The supervisor no longer expects a heartbeat either."""
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._heartbeat is not None:
            self._heartbeat.beat(self._clock(), math.inf)

    def take_blocks(self) -> tuple[int, float]:
        """How often and how long the loop stood still since the last call; call it from the loop."""
        taken = self.blocks, self.blocked_seconds
        self.blocks, self.blocked_seconds = 0, 0.0
        return taken

    @property
    def beat_age_seconds(self) -> float:
        return self._clock() - self._last_beat

    def _beat(self) -> None:
        now = self._clock()
        if (stood := now - self._last_beat) >= self._settings.warn_seconds:
            self.blocks += 1
            self.blocked_seconds += stood
            log.warning("the event loop stood still for %.1f s", stood)
        self._last_beat = now
        if self._heartbeat is not None:
            self._heartbeat.beat(now, self._deadline())
        self._timer = self._loop.call_later(BEAT_SECONDS, self._beat)

    def _watch(self) -> None:
        try:
            last_look = self._clock()
            while not self._stopped.wait(BEAT_SECONDS):
                now = self._clock()
                self._act(judge(now, self._last_beat, last_look, self._deadline(), self._settings), now)
                last_look = now
        except BaseException:
            # Without its watchdog a worker may outlive its lease: better none than an unwatched one.
            write_without_waiting(2, f"the watchdog failed\n{traceback.format_exc()}")
            os._exit(EX_WATCHDOG)

    def _act(self, verdict: Verdict, now: float) -> None:
        if verdict is Verdict.ALIVE:
            return
        task = self._running_task()
        stood = now - self._last_beat
        if self._warned_at != self._last_beat:
            self._warned_at = self._last_beat
            write_without_waiting(2, f"the event loop stands still for {stood:.1f} s in {task}:\n{self._stack()}")
        if verdict is Verdict.EXIT:
            left = self._deadline() - now
            due = left < self._settings.margin_seconds
            why = f"{left:.1f} s before its deadline" if due else f"its limit is {self._settings.limit_seconds:g} s"
            sentence = f"{task} has blocked the event loop for {stood:.1f} s, {why}: this process ends"
            if self._heartbeat is not None:
                self._heartbeat.say(sentence)
            write_without_waiting(2, f"{sentence}\n")
            os._exit(EX_WATCHDOG)

    def _running_task(self) -> str:
        """Name of the task that the loop is in; tasks of reconciles are named after controller and key."""
        task = asyncio.current_task(self._loop)
        return f"task {task.get_name()!r}" if task is not None else "a callback outside any task"

    def _stack(self) -> str:
        frame = sys._current_frames().get(self._loop_thread)
        return "".join(traceback.format_stack(frame)) if frame is not None else "  (the loop's thread has ended)\n"


def write_without_waiting(fd: int, text: str) -> None:
    """Writes as much as the descriptor takes at once; the rest, and every error, is given up."""
    rest = text.encode("utf-8", "replace")
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    with contextlib.suppress(OSError):
        while rest and poll.poll(0) == [(fd, select.POLLOUT)]:
            rest = rest[os.write(fd, rest[:_PIPE_BYTES]) :]
