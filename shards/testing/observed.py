"""What the functions under test raise, kept for the test: the framework itself only logs it and tries again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from shards.authoring.controller import Context, Controller, PlainContext, Request, Result
from shards.errors import BreakerOpen, Conflict, NotOwner, NotReadyYet, TerminalError
from shards.objects import Key

_NO_FAULTS = (Conflict, NotReadyYet, NotOwner, BreakerOpen)
"""What the framework causes, or answers with a fresh read: a right function lets it pass."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One run that raised. key: of its object."""

    controller: str
    key: Key
    error: BaseException

    def __str__(self) -> str:
        return f"{self.controller} {self.key}: {self.error!r}"


@dataclass(slots=True)
class Failures:
    """all: in order. last: of the keys whose latest run failed, by `controller namespace/name`.

    outcome: what ends the test, such as that of `pytest.fail()`: no Exception, so that the framework does not know it.
    """

    all: list[Failure] = field(default_factory=list)
    last: dict[str, Failure] = field(default_factory=dict)
    outcome: BaseException | None = None

    def failed(self, controller: str, key: Key, error: BaseException) -> None:
        if not isinstance(error, _NO_FAULTS):
            failure = Failure(controller, key, error)
            self.all.append(failure)
            self.last[f"{controller} {key}"] = failure

    def succeeded(self, controller: str, key: Key) -> None:
        self.last.pop(f"{controller} {key}", None)

    def raise_outcome(self) -> None:
        """Once. Raises what ends the test."""
        outcome, self.outcome = self.outcome, None
        if outcome is not None:
            raise outcome

    @contextmanager
    def watching(self, controller: str, key: Key) -> Iterator[None]:
        """One run."""
        try:
            yield
        except (Exception, SystemExit) as error:
            self.failed(controller, key, error)
            raise
        except (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            self.failed(controller, key, error)
            self.outcome = self.outcome or error
            raise TerminalError(f"the test ends: {error!r}") from error
        self.succeeded(controller, key)


class ObservedController(Controller):
    """A controller in every respect, except that what its function raises is noted on its way."""

    def __init__(self, controller: Controller, failures: Failures) -> None:
        # The declaration was checked when it was made; this one shares all of it.
        vars(self).update(vars(controller))
        self._failures = failures

    def call(self, ctx: Context | PlainContext, request: Request) -> Awaitable[Result | None] | Result | None:
        if not self.plain:
            return self._awaited(ctx, request)
        with self._failures.watching(self.name, request.key):
            return super().call(ctx, request)

    async def _awaited(self, ctx: Context | PlainContext, request: Request) -> Result | None:
        with self._failures.watching(self.name, request.key):
            outcome = super().call(ctx, request)
            return await outcome if isinstance(outcome, Awaitable) else outcome
