"""Acts on single records, each of which may fail without keeping the others from being tried."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fleet.records.coordination import CasConflict, CoordinationUnavailable, ProtocolMismatch
from shards.clock import Clock

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 4.0
"""Half a lease at most: when a server answers again, whatever waits is soon tried."""

FORGET_SECONDS = 60.0


class Attempts:
    """What has failed without an answer is left alone for a pause that doubles. A conflict is tried again at once; one
    that comes again is no coincidence, and pauses as well."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pauses: dict[str, tuple[float, float]] = {}
        self._errors: list[CasConflict | CoordinationUnavailable] = []

    async def make(self, what: str, act: Callable[[], Awaitable[None]]) -> bool:
        """Whether it was carried out. what: the act and its record."""
        until, pause = self._pauses.get(what, (float("-inf"), 0.0))
        if self._clock() < until:
            return False
        try:
            await act()
        except CoordinationUnavailable as error:
            self._failed(what, max(2 * pause, FIRST_PAUSE_SECONDS), error)
            return False
        except CasConflict as error:
            self._failed(what, max(2 * pause, FIRST_PAUSE_SECONDS) if what in self._pauses else 0.0, error)
            return False
        except ProtocolMismatch as error:  # of this record, and of no other
            self._failed(what, max(2 * pause, FIRST_PAUSE_SECONDS), CoordinationUnavailable(str(error)))
            return False
        self._pauses.pop(what, None)
        return True

    def is_again(self, what: str) -> bool:
        """Whether it has failed, and is due now: what happens on its behalf should pause with it."""
        until, _ = self._pauses.get(what, (float("inf"), 0.0))
        return self._clock() >= until

    def _failed(self, what: str, pause: float, error: CasConflict | CoordinationUnavailable) -> None:
        pause = min(pause, LONGEST_PAUSE_SECONDS)
        self._pauses[what] = (self._clock() + pause, pause)
        self._errors.append(error)

    def settle(self) -> None:
        """Raises the first error since it was last called. What was not tried again for long is not wanted any more."""
        long_ago = self._clock() - FORGET_SECONDS
        self._pauses = {what: (until, pause) for what, (until, pause) in self._pauses.items() if until > long_ago}
        errors, self._errors = self._errors, []
        if errors:
            raise errors[0]
