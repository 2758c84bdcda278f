"""An index: from a value to the keys of the objects that have it."""

from __future__ import annotations


class Postings:
    """Most values have one object (an owner its child): that one is kept without a dict, which would be 232 bytes."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[str, str | dict[str, None]] = {}

    def __len__(self) -> int:
        """Values that somebody has."""
        return len(self._found)

    def add(self, value: str, key: str) -> None:
        held = self._found.get(value)
        if held is None:
            self._found[value] = key
        elif isinstance(held, dict):
            held[key] = None
        elif held != key:
            self._found[value] = {held: None, key: None}

    def discard(self, value: str, key: str) -> None:
        held = self._found.get(value)
        if isinstance(held, dict):
            held.pop(key, None)
            if not held:
                del self._found[value]
        elif held == key:
            del self._found[value]

    def get(self, value: str) -> tuple[str, ...]:
        """In the order in which they came."""
        held = self._found.get(value)
        if held is None:
            return ()
        return tuple(held) if isinstance(held, dict) else (held,)
