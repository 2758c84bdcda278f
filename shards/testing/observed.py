"""What the functions under test raise, kept for the test: the framework itself only logs it and tries again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field

from shards.controller import Context, Controller, PlainContext, Request, Result
from shards.errors import BreakerOpen, Conflict, NotOwner, NotReadyYet
from shards.objects import Key

_NO_FAULTS = (Conflict, NotReadyYet, NotOwner, BreakerOpen, asyncio.CancelledError)
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
    """all: in order. last: of the keys whose latest run failed, by `controller namespace/name`."""

    all: list[Failure] = field(default_factory=list)
    last: dict[str, Failure] = field(default_factory=dict)

    def failed(self, controller: str, key: Key, error: BaseException) -> None:
        if not isinstance(error, _NO_FAULTS):
            failure = Failure(controller, key, error)
            self.all.append(failure)
            self.last[f"{controller} {key}"] = failure

    def succeeded(self, controller: str, key: Key) -> None:
        self.last.pop(f"{controller} {key}", None)


class ObservedController(Controller):
    """A controller in every respect, except that what its function raises is noted on its way."""

    def __init__(self, controller: Controller, failures: Failures) -> None:
        # The declaration was checked when it was made; this one shares all of it.
        vars(self).update(vars(controller))
        self._failures = failures

    def call(self, ctx: Context | PlainContext, request: Request) -> Awaitable[Result | None] | Result | None:
        if not self.plain:
            return self._awaited(ctx, request)
        try:
            result = super().call(ctx, request)
        except BaseException as error:
            self._failures.failed(self.name, request.key, error)
            raise
        self._failures.succeeded(self.name, request.key)
        return result

    async def _awaited(self, ctx: Context | PlainContext, request: Request) -> Result | None:
        try:
            outcome = super().call(ctx, request)
            result = await outcome if isinstance(outcome, Awaitable) else outcome
        except BaseException as error:
            self._failures.failed(self.name, request.key, error)
            raise
        self._failures.succeeded(self.name, request.key)
        return result
