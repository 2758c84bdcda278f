"""A history as text: the same bytes for the same plan, on every machine and in every process."""

from __future__ import annotations

import hashlib

from chaos.simulation.outcome import Say


def line(at: float, sentence: str) -> str:
    """at: seconds since the start of the history."""
    return f"{at:9.3f}  {sentence}"


class Trace:
    """Hands on what is said, and digests it. Is a Say."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._sha = hashlib.sha256()

    def __call__(self, at: float, sentence: str) -> None:
        self._sha.update(f"{line(at, sentence)}\n".encode())
        self._say(at, sentence)

    @property
    def digest(self) -> str:
        """SHA-256 of all lines so far, each with its end."""
        return self._sha.hexdigest()
