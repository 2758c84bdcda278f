"""Tells every consumer of a view that it moved, merging what a slow one has not taken yet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from weakref import ref

from fleet.records.coordination import Change
from shards.bell import Bell


class ChangeStream(AsyncIterator[Change]):
    """One consumer's changes. Holds at most one per kind and name, so a slow consumer costs bounded memory."""

    def __init__(self) -> None:
        self._pending: dict[tuple[str, str], Change] = {}
        self._woken = Bell()
        self._closed = False

    def put(self, change: Change) -> None:
        self._pending[change.kind, change.name] = change
        self._woken.set()

    def close(self) -> None:
        self._closed = True
        self._woken.set()

    async def __anext__(self) -> Change:
        while not self._pending:
            if self._closed:
                raise StopAsyncIteration
            self._woken.clear()
            await self._woken.wait(None)
        return self._pending.pop(next(iter(self._pending)))


class Changes:
    """All consumers of one view. One that was dropped without an end is forgotten."""

    def __init__(self) -> None:
        self._streams: list[ref[ChangeStream]] = []
        self._closed = False

    def publish(self, change: Change) -> None:
        for stream in self._live():
            stream.put(change)

    def subscribe(self, first: Change) -> AsyncIterator[Change]:
        """Every change from now on, after `first`, so that a consumer's loop runs once on what is there already."""
        stream = ChangeStream()
        stream.put(first)
        if self._closed:
            stream.close()
        self._streams.append(ref(stream))
        return stream

    def close(self) -> None:
        """Ends every iteration once what is pending was taken."""
        self._closed = True
        for stream in self._live():
            stream.close()

    def _live(self) -> list[ChangeStream]:
        """In the order in which they came, so that a simulation wakes them in the same order every time."""
        live = [stream for stream in (each() for each in self._streams) if stream is not None]
        if len(live) < len(self._streams):
            self._streams = [ref(stream) for stream in live]
        return live
