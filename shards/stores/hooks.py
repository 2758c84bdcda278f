"""An author's function that runs for many objects: what it raises, and how long it takes, stays its own affair.

Transforms, index functions, mapping functions, and what a view hands its changes to are all reported in the one way
that is here: a line in the log, the metrics, and a line in the worker's journal.
"""

from __future__ import annotations

import logging
import traceback
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
    """Told of hooks, and of their calls that failed or took longer than SLOW_SECONDS. This one counts nothing.

    of: the object, where the call is one that the log has too; else "". tells_values: whether the log may quote what is
    in the objects.
    """

    tells_values = True

    def made(self, hook: str) -> None: ...

    def failed(self, hook: str, of: str = "") -> None: ...

    def slow(self, hook: str, of: str = "") -> None: ...


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

    def run(self, argument: object, of: str, take: Callable[[Any], Any] | None = None) -> Any:
        """What the function returns, or FAILED. of: what the object is called in the log.

        take: makes of the result what is wanted; its failures are the function's, which may have returned a generator,
        or anything else.
        """
        began = self._clock() if self._clock is not None else 0.0
        try:
            result = self._function(argument)
            return result if take is None else take(result)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # to the loop, a SystemExit or CancelledError would be one of its own
            self.failed(of, error)
            return FAILED
        finally:
            if self._clock is not None and self._clock() - began > SLOW_SECONDS:
                self._took(self._clock() - began, of)

    def failed(self, of: str, error: BaseException) -> None:
        """Counts and reports a failure."""
        self.failures += 1
        told = _worth_telling(self.failures)
        self._meters.failed(self.name, of if told else "")
        if told:
            # Of a Secret, what the function raises may quote a value: where it was raised has to do.
            where = None if self._meters.tells_values else "".join(traceback.format_tb(error.__traceback__)).rstrip()
            what = "" if where is None else f": {type(error).__name__}\n{where}"
            log.error(
                "%s failed for %s (%d times)%s",
                self.name,
                of,
                self.failures,
                what,
                exc_info=error if where is None else None,
            )

    def _took(self, seconds: float, of: str) -> None:
        self.slow += 1
        told = _worth_telling(self.slow)
        self._meters.slow(self.name, of if told else "")
        if told:
            log.warning("%s took %.3f s for %s (%d times)", self.name, seconds, of, self.slow)


def _worth_telling(count: int) -> bool:
    return count & (count - 1) == 0
