"""What a simulation loop has to call.

Lists, because the interpreter makes those fastest: `asyncio.Handle` takes three times as long to make,
`asyncio.TimerHandle` five times, and a history makes thousands.
"""

from __future__ import annotations

from typing import Any


class Ready(list[Any]):
    """What asyncio calls a Handle: [callback, arguments, context]. The callback of a cancelled one is None."""

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]  # lists cannot be hashed, handles can

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def cancel(self) -> None:
        self[0], self[1] = None, ()

    def cancelled(self) -> bool:
        return self[0] is None
