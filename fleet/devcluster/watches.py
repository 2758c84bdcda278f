"""One watch: its selection, its buffer, its bookmarks and its end."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

import msgspec

from fleet.devcluster.resources import ResourceType
from fleet.devcluster.selectors import Filter
from fleet.devcluster.storage import Commit, event_line

BUFFER_LIMIT = 100_000
"""Events that a client may lag behind before its watch is ended; the real server does the same."""

_FINAL_BOOKMARK_SECONDS = 2.0
_EARLY_SECONDS = 1e-6


def bookmark_line(kind: ResourceType, version: int, *, initial_events_end: bool = False) -> bytes:
    metadata: dict[str, object] = {"resourceVersion": str(version)}
    if initial_events_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return event_line("BOOKMARK", kind.head + b'"metadata":' + msgspec.json.encode(metadata) + b"}")


class WatchStream:
    """Lines for one watcher, in commit order.

    `offer` is called for every commit of the table, on the loop; `read` waits for the next bytes. A hold (see
    `Faults`) keeps lines back without changing their order.
    """

    def __init__(
        self,
        kind: ResourceType,
        wanted: Filter,
        after: int,
        *,
        user_agent: str,
        delay: Callable[[], float],
        on_close: Callable[[WatchStream], None],
    ) -> None:
        """after: commits up to this version are not shown. delay: seconds by which a line is held back, now."""
        self.kind = kind
        self.wanted = wanted
        self.user_agent = user_agent
        self.closed = False
        self._after = after
        self._ready: list[bytes] = []
        self._held: deque[tuple[float, bytes]] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._delay = delay
        self._on_close = on_close
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def offer(self, commit: Commit) -> None:
        """Shows a commit to the watcher where it selects the object, before or after."""
        if commit.version <= self._after or self.closed:
            return
        wanted = self.wanted
        shown = commit.new is not None and wanted.admits(commit.new)
        before = commit.old is not None and (wanted.admits(commit.old))
        if shown:
            self.emit(commit.modified if before else commit.added)
        elif before:
            self.emit(commit.deleted)

    def emit(self, line: bytes) -> None:
        """Appends a line; ends the watch when the client is too slow."""
        seconds = self._delay()
        if seconds > 0 or self._held:
            self._held.append((asyncio.get_running_loop().time() + seconds, line))
            self._arm()
        else:
            self._ready.append(line)
            self._wake()
        if len(self._ready) > BUFFER_LIMIT:
            self.close()

    def reconsider(self) -> None:
        """A hold ended: what is held back comes at once, or with the lag of the holds that are left."""
        seconds = self._delay()
        if seconds > 0:
            due = asyncio.get_running_loop().time() + seconds
            self._held = deque((min(each, due), line) for each, line in self._held)
        else:
            self._ready.extend(line for _, line in self._held)
            self._held.clear()
        self._cancel("held")
        if self._held:
            self._arm()
        self._wake()

    def start_bookmarks(self, interval_seconds: float, version: Callable[[], int]) -> None:
        """A bookmark every interval, at the version that everything shown so far adds up to."""

        def tick() -> None:
            self.emit(bookmark_line(self.kind, version()))
            self._later("bookmark", interval_seconds, tick)

        self._later("bookmark", interval_seconds, tick)

    def end_after(self, seconds: float, last_bookmark: Callable[[], int] | None) -> None:
        """Ends the stream at a deadline, with one more bookmark two seconds before where the client asked for them."""
        self._later("deadline", seconds, self.close)
        if last_bookmark is not None and seconds > _FINAL_BOOKMARK_SECONDS:
            version = last_bookmark

            def final() -> None:
                self.emit(bookmark_line(self.kind, version()))

            self._later("final", seconds - _FINAL_BOOKMARK_SECONDS, final)

    async def read(self) -> bytes:
        """Everything that is ready, at least one line; b"" at the end of the stream."""
        while not self._ready:
            if self.closed:
                return b""
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        chunk = b"".join(self._ready)
        self._ready.clear()
        return chunk

    def close(self) -> None:
        """Ends the stream after what is ready; idempotent."""
        if self.closed:
            return
        self.closed = True
        for name in tuple(self._timers):
            self._cancel(name)
        self._on_close(self)
        self._wake()

    def _arm(self) -> None:
        due = self._held[0][0]
        if due != float("inf") and "held" not in self._timers:
            loop = asyncio.get_running_loop()
            self._timers["held"] = loop.call_at(due, self._let_go)

    def _let_go(self) -> None:
        self._timers.pop("held", None)
        # A timer may fire a rounding error early; looking again for that would spin on a virtual clock.
        now = asyncio.get_running_loop().time() + _EARLY_SECONDS
        while self._held and self._held[0][0] <= now:
            self._ready.append(self._held.popleft()[1])
        if self._held:
            self._arm()
        self._wake()

    def _later(self, name: str, seconds: float, act: Callable[[], None]) -> None:
        self._timers[name] = asyncio.get_running_loop().call_later(seconds, act)

    def _cancel(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
