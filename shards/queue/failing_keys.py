"""Which keys of one controller in one shard keep failing, since when, how often and why. PURE.

What is kept of an error goes to everybody who may look at the fleet: never a value that a reconcile worked with. Of an
author's own exception that is its type and the place where it was raised; the log has the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath

from shards.errors import ApiError, ShardError
from shards.objects import Key

PATIENCE = 5
"""Failures in a row after which a key counts as failing. Fewer are a server that was away for a moment."""

TEXT_LENGTH = 200
TEXTS_LIMIT = 1000
"""Keys of which the error is kept. Of more it is known that they fail, since when and how often."""

_VALUE_MARK = "value:"
"""An API server quotes the values that it refuses behind these letters."""


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

    def failed(self, key: Key, error: BaseException, now: float, *, terminal: bool = False) -> None:
        """The key failed once more."""
        failure = self._failures.get(key)
        if failure is None:
            failure = self._failures[key] = Failure(now)
        failure.count += 1
        failure.terminal = terminal
        if failure.error or self._texts < TEXTS_LIMIT:
            self._texts += not failure.error
            failure.error = sentence(error)
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


def sentence(error: BaseException) -> str:
    """One line about an error, for people who may not see what the reconcile saw."""
    name = type(error).__name__
    if isinstance(error, ApiError):
        text = f"{name}: {_without_values(str(error))}"
    elif isinstance(error, ShardError):
        text = f"{name}: {error}"
    elif isinstance(error, TimeoutError) and not error.__traceback__:
        text = "took too long"
    else:
        text = f"{name}{_place(error)}"
    text = " ".join(text.split())
    return text if len(text) <= TEXT_LENGTH else text[: TEXT_LENGTH - 1] + "…"


def _without_values(text: str) -> str:
    """What an API server says, up to the first value that it quotes; nothing but the status where it is of a Secret."""
    if "secret" in text.lower():
        return text.partition(":")[0]
    before, mark, _ = text.partition(_VALUE_MARK)
    return before + mark.rstrip(":")


def _place(error: BaseException) -> str:
    """Where it was raised: the innermost frame, by file and line. No file is read for it: this is the event loop."""
    frame = error.__traceback__
    if frame is None:
        return ""
    while frame.tb_next is not None:
        frame = frame.tb_next
    return f" at {PurePath(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}"
