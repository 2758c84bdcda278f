"""Every error this package raises on purpose, as one tree.

ShardError
  ConfigError                 a setting is wrong; names the field and says what would be right
  NotReadyYet                 a gate holds the key; parked, not failed
    ConflictingOwner          the object belongs to another primary; waited for, not failed
  NotOwner                    the deadline has passed or the shard was given up: nothing was sent
  BreakerOpen                 destructive acts are paused
  Undrained                   something could not be cancelled in time: the process must exit
  TerminalError               raised by a reconcile: do not retry this key
  ApiError                    the server answered with a failure status
    Unauthorized 401  Forbidden 403  NotFound 404  Conflict 409 (AlreadyExists)
    Expired 410       Invalid 422    TooManyRequests 429  ServerTimeout 504
  Unreachable                 no answer: the request may or may not have been carried out
    Untrusted                 the server's certificate is not signed by the configured authority
"""

from __future__ import annotations

import re

_TEXT_VALUE = re.compile(r'value: "(?:[^"\\]|\\.)*"')
_OTHER_VALUE = re.compile(r"value: (?!…)")
"""An API server quotes what it refuses so. Where a text ends is known; of anything else, nobody knows."""


def without_values(message: str) -> str:
    """What an API server says, without the texts that it quotes, and up to the first other value."""
    told = _TEXT_VALUE.sub("value: …", message)
    other = _OTHER_VALUE.search(told)
    return told if other is None else f"{told[: other.end()]}…"


class ShardError(Exception):
    """Root of the tree."""


class ConfigError(ShardError):
    """A setting is wrong.

    path: dotted path of the field, "" for the file as a whole. The message says what would be right.
    """

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path


class NotReadyYet(ShardError):
    """A gate holds the key back. Never counts as a failure of the key.

    after_seconds: when it is worth while to run the key again; None: soon, and less often the longer it takes.
    """

    def __init__(self, message: str = "", *, after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.after_seconds = after_seconds


class ConflictingOwner(NotReadyYet):
    """The object exists and is controlled by somebody else: often the predecessor of a primary that was recreated."""


class NotOwner(ShardError):
    """This process may not act on the key any more. Nothing was sent."""


class BreakerOpen(ShardError):
    """Destructive acts of this controller are paused; ordinary writes go on."""


class Undrained(ShardError):
    """A reconcile neither ended nor could be cancelled in time. The process must exit; the shard is not released."""


class TerminalError(ShardError):
    """Raised by a reconcile whose key cannot succeed until the object changes: logged, counted, not retried."""


class ApiError(ShardError):
    """The server answered with a failure.

    Its text, which logs have, is without the values that the server quotes: they may be a Secret's. message: all that
    the server said. status: HTTP status. reason: `Status.reason` of the API, "" where the body was no Status.
    cause: first `details.causes[].reason`, such as ResourceVersionTooLarge.
    retry_after_seconds: what the server asked for.
    """

    status = 0

    def __init__(
        self,
        status: int,
        reason: str = "",
        message: str = "",
        *,
        cause: str = "",
        retry_after_seconds: float | None = None,
    ) -> None:
        told = without_values(message)
        super().__init__(f"{status} {reason}: {told}" if reason else f"{status}: {told}")
        self.status = status
        self.reason = reason
        self.message = message
        self.cause = cause
        self.retry_after_seconds = retry_after_seconds


class Unauthorized(ApiError):
    """401: the credentials are missing, wrong or expired."""


class Forbidden(ApiError):
    """403: the credentials are good, the permission is missing."""


class NotFound(ApiError):
    """404: no such object, or no such resource (a CRD that is not installed)."""


class Conflict(ApiError):
    """409: the object has moved on since it was read. Read it live, not from a cache."""


class AlreadyExists(Conflict):
    """409 on a create: an object of that name is there."""


class Expired(ApiError):
    """410: that resource version or continue token is too old."""


class Invalid(ApiError):
    """422: the object does not satisfy its schema."""


class TooManyRequests(ApiError):
    """429: retry the same request after `retry_after_seconds`."""


class ServerTimeout(ApiError):
    """504, among others for a resource version that this server has not reached yet (cause ResourceVersionTooLarge)."""


class Unreachable(ShardError):
    """No answer arrived.

    maybe_applied: whether the request could have reached the server; a write with True is in doubt until a live read.
    """

    def __init__(self, message: str, *, maybe_applied: bool = True) -> None:
        super().__init__(message)
        self.maybe_applied = maybe_applied


class Untrusted(Unreachable):
    """The server's certificate does not verify against the configured authority."""

    def __init__(self, message: str) -> None:
        super().__init__(message, maybe_applied=False)


_BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
    504: ServerTimeout,
}


def api_error(
    status: int,
    reason: str = "",
    message: str = "",
    *,
    cause: str = "",
    retry_after_seconds: float | None = None,
) -> ApiError:
    """The most specific error for an answer of the API server."""
    kind = AlreadyExists if status == 409 and reason == "AlreadyExists" else _BY_STATUS.get(status, ApiError)
    return kind(status, reason, message, cause=cause, retry_after_seconds=retry_after_seconds)


def asked_seconds(error: BaseException) -> float:
    """For how long a server asked to be left alone, in this error or in one that led to it; 0.0 for not at all.

    An author may catch a refusal and raise something else, and a task group wraps it.
    """
    found, queue, seen = 0.0, [error], set[int]()
    while queue:
        each = queue.pop()
        seen.add(id(each))
        if isinstance(each, ApiError):
            found = max(found, each.retry_after_seconds or 0.0)
        inner = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        queue += [more for more in (each.__cause__, each.__context__, *inner) if more and id(more) not in seen]
    return found
