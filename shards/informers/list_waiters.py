"""Who waits for a list that begins after they asked."""

from __future__ import annotations

import asyncio


class ListWaiters:
    """asked: since the last list began. Those before ride on that list, or on the one that takes its place."""

    __slots__ = ("_asked", "_riding", "_stopped")

    def __init__(self) -> None:
        self._asked: list[asyncio.Future[str]] = []
        self._riding: list[asyncio.Future[str]] = []
        self._stopped = False

    @property
    def asked(self) -> bool:
        return bool(self._asked)

    @property
    def awaited(self) -> bool:
        """Whether any of those who asked still waits."""
        return any(not each.done() for each in self._asked)

    def ask(self) -> asyncio.Future[str]:
        """Resolves with the version of a list. Cancelled when nothing is listed any more."""
        asked: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if self._stopped:
            asked.cancel()
        else:
            self._asked.append(asked)
        return asked

    def list_began(self) -> None:
        """One that shows all that is there now."""
        self._riding += self._asked
        self._asked = []

    def list_given_up(self) -> None:
        """What takes its place may have begun before they asked."""
        self._asked = [*self._riding, *self._asked]
        self._riding = []

    def listed(self, version: str) -> None:
        riding, self._riding = self._riding, []
        for future in riding:
            if not future.done():
                future.set_result(version)

    def give_up(self) -> None:
        """Nothing is listed for those who wait now."""
        for future in (*self._asked, *self._riding):
            future.cancel()

    def stop(self) -> None:
        self._stopped = True
        self.give_up()
