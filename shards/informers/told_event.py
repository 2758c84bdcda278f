"""An event whose owner's followers are told when it changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class ToldEvent(asyncio.Event):
    """tell: called, with the event as it is then, after every `set` and `clear` that changed it."""

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__()
        self._tell = tell

    def set(self) -> None:
        changed = not self.is_set()
        super().set()
        if changed:
            self._tell()

    def clear(self) -> None:
        changed = self.is_set()
        super().clear()
        if changed:
            self._tell()
