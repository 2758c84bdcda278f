"""An author's function that runs for every object: what it raises, and how long it takes, stays its own affair."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

Clock = Callable[[], float]
"""Seconds, from anywhere: only differences count."""

log = logging.getLogger(__name__)

SLOW_SECONDS = 0.005
"""A call that takes longer is reported: it holds up every other key of the worker."""

FAILED: Final = object()
"""What `Hook.run` returns where there is no result."""


class HookMeters:
    """Told of hooks, and of their calls that failed or took longer than SLOW_SECONDS. This one counts nothing."""

    def made(self, hook: str) -> None: ...

    def failed(self, hook: str) -> None: ...

    def slow(self, hook: str) -> None: ...


NO_HOOK_METERS: Final = HookMeters()


class Hook:
    """One function, run with its exceptions caught. They are logged the first time, the second, the fourth and so on.

    failures, slow: how many calls raised, and took longer than SLOW_SECONDS. clock: None where time is not looked at.
    """

    __slots__ = ("_clock", "_function", "_meters", "failures", "name", "slow")

    def __init__(
        self, name: str, function: Callable[..., Any], clock: Clock | None = None, meters: HookMeters = NO_HOOK_METERS
    ) -> None:
        self.name = name
        self.failures = 0
        self.slow = 0
        self._function = function
        self._clock = clock
        self._meters = meters
        meters.made(name)

    def run(self, argument: object, of: object) -> Any:
        """What the function returns, or FAILED. of: what the object is called in the log."""
        began = self._clock() if self._clock is not None else 0.0
        try:
            return self._function(argument)
        except Exception as error:
            self.failed(of, error)
            return FAILED
        finally:
            if self._clock is not None and self._clock() - began > SLOW_SECONDS:
                self.slow += 1
                self._meters.slow(self.name)
                if _worth_telling(self.slow):
                    log.warning("%s took %.3f s for %s (%d times)", self.name, self._clock() - began, of, self.slow)

    def failed(self, of: object, error: Exception) -> None:
        """Counts and reports a failure, also of a result that is of no use."""
        self.failures += 1
        self._meters.failed(self.name)
        if _worth_telling(self.failures):
            log.error("%s failed for %s (%d times)", self.name, of, self.failures, exc_info=error)


def _worth_telling(count: int) -> bool:
    return count & (count - 1) == 0
