"""What is wrong with one field of an object: an entry of `details.causes`."""

from __future__ import annotations

from typing import NamedTuple


class Cause(NamedTuple):
    """message: as in the Status, without the field. field: dotted path, "" for the object as a whole."""

    reason: str
    message: str
    field: str

    def text(self) -> str:
        """As in the Status message."""
        return f"{self.field}: {self.message}" if self.field else self.message
