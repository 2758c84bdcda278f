"""An act outside the API (a failover, the deletion of a cloud resource): confirmed by live reads, done by its author.

What the fleet can promise of it is a bound in time, and that the world was, a moment ago, as it was decided on. It has
no preconditions that a server would check: make it idempotent, and put a UID into what it names.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from types import TracebackType

from shards.errors import ConfigError, NotReadyYet
from shards.ownership.acts import Acts, Basis, result_of

_REASON = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")

FRESH_SECONDS = 5.0
"""Between the first live read and the act. What took longer, because the budget was short, is asked again."""


class Confirmed:
    """`async with ctx.confirmed(...) as act`, of one reconcile; used once.

    Inside, the author may act until `remaining_seconds` have passed: give that to clients as their timeout. Past it an
    async reconcile is cancelled, and another worker may act. An exception, a cancellation included, passes through: the
    act may have happened, and the next run decides anew. The breaker counts the block as one act, whatever comes of it.
    """

    __slots__ = ("_acts", "_bases", "_deadline", "_reason")

    def __init__(self, acts: Acts, bases: Sequence[Basis], reason: str) -> None:
        """Raises ConfigError for a reason that is no constant word."""
        if not _REASON.fullmatch(reason):
            raise ConfigError("confirmed.reason", f"{reason!r} is no word of lower-case letters, digits and dashes")
        self._acts = acts
        self._bases = bases
        self._reason = reason
        self._deadline = float("-inf")

    @property
    def remaining_seconds(self) -> float:
        """For how long the author may act, as things are now; 0.0 when it is over. May be asked from any thread."""
        return self._acts.remaining_seconds()

    async def __aenter__(self) -> Confirmed:
        """Raises NotOwner, BreakerOpen, NotReadyYet, Conflict, ApiError, Unreachable: nothing may be done then."""
        try:
            self._acts.begin()
            begun = self._acts.clock()
            await self._acts.confirm(self._bases, "confirmed")
            if self._acts.clock() - begun > FRESH_SECONDS:
                raise NotReadyYet(f"the live reads before {self._reason} took longer than {FRESH_SECONDS:g} s")
            self._acts.admit()
        except BaseException as error:
            self._tell(result_of(error))
            raise
        self._acts.log(f"{self._reason}: confirmed")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            result = "cancelled" if isinstance(error, asyncio.CancelledError) else "failed"
        else:
            result = "ok" if self.remaining_seconds > 0 else "late"
        if result != "ok":
            self._acts.log(f"{self._reason}: {result}")
        self._tell(result)
        if error is None:
            self._acts.settled(*self._bases)

    def _tell(self, result: str) -> None:
        self._acts.tell("confirmed", self._bases[0], result, self._reason)
