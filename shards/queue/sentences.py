"""What people are told of an error or a wait: one line, which may go to everybody who may look at the fleet. PURE.

Never a value that a reconcile worked with. Of an author's own exception that is its type and the place where it was
raised; the log has the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath

from shards.errors import ApiError, ShardError

TEXT_LENGTH = 200

_VALUE_MARK = "value:"
"""An API server quotes the values that it refuses behind these letters."""


def sentence(error: BaseException, veil: Callable[[str], str] = str) -> str:
    """One line about an error, for people who may not see what the reconcile saw. veil: hides what it hides."""
    name = type(error).__name__
    if isinstance(error, ApiError):
        text = f"{name}: {_without_values(str(error))}"
    elif isinstance(error, ShardError):
        text = f"{name}: {error}"
    elif isinstance(error, TimeoutError) and not error.__traceback__:
        text = "took too long"
    else:
        text = f"{name}{_place(error)}"
    return clause(veil(text))


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


def clause(reason: object) -> str:
    """What an error, say, says about a wait, on one line."""
    text = " ".join(str(reason).split())
    return text if len(text) <= TEXT_LENGTH else text[: TEXT_LENGTH - 1] + "…"
