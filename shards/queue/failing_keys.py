"""Which keys of one controller in one shard keep failing, since when, how often and why. PURE.

What is kept of an error goes to everybody who may look at the fleet (`shards.queue.sentences`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from shards.objects import Key
from shards.queue.sentences import sentence

PATIENCE = 5
"""Failures in a row after which a key counts as failing. Fewer are a server that was away for a moment."""

TEXTS_LIMIT = 1000
"""Keys of which the error is kept. Of more it is known that they fail, since when and how often."""


@dataclass(slots=True)
class Failure:
    """since: boot-clock reading at the first failure of the row. terminal: not tried again until the object changes."""

    since: float
    count: int = 0
    error: str = ""
    terminal: bool = False


@dataclass(frozen=True, slots=True)
class FailingKey:
    """One key that keeps failing, as it is told to others. key: namespace/name. The rest as of Failure."""

    controller: str
    key: str
    uid: str
    since: float
    count: int
    error: str
    terminal: bool


class FailingKeys:
    """Failures in a row, by key. Memory: one small record for each key that failed and has not succeeded since.

    Invariant: `_lasting` holds those of `_failures` that keep failing, in the order in which they began to.
    """

    def __init__(self) -> None:
        self._failures: dict[Key, Failure] = {}
        self._lasting: dict[Key, Failure] = {}
        self._texts = 0

    def failed(
        self,
        key: Key,
        error: BaseException,
        now: float,
        *,
        terminal: bool = False,
        veil: Callable[[str], str] = str,
    ) -> None:
        """The key failed once more. veil: hides what may not be told of the error."""
        failure = self._failures.get(key)
        if failure is None:
            failure = self._failures[key] = Failure(now)
        failure.count += 1
        failure.terminal = terminal
        if failure.error or self._texts < TEXTS_LIMIT:
            self._texts += not failure.error
            failure.error = sentence(error, veil)
        if terminal or failure.count >= PATIENCE:
            self._lasting.setdefault(key, failure)

    def succeeded(self, key: Key) -> None:
        """The key succeeded, or is gone."""
        if self._failures and (failure := self._failures.pop(key, None)) is not None:
            self._texts -= bool(failure.error)
            self._lasting.pop(key, None)

    def lasts(self, key: Key) -> bool:
        """Whether the key keeps failing."""
        return key in self._lasting

    def lasting(self, most: int) -> list[tuple[Key, Failure]]:
        """Those that keep failing, at most so many, the longest first."""
        return list(islice(self._lasting.items(), most))

    def told(self, controller: str, most: int) -> list[FailingKey]:
        """The same, as they are told to others."""
        return [
            FailingKey(controller, str(key), key.uid, each.since, each.count, each.error, each.terminal)
            for key, each in self.lasting(most)
        ]

    def count(self) -> int:
        """How many keep failing."""
        return len(self._lasting)
