"""The failure answers of faults: what a real server says when it refuses, and a list that ends early. Pure."""

from __future__ import annotations

import msgspec

from fleet.devcluster.faults.match import Asked, version_in
from fleet.devcluster.faults.words import Refuse, TooLarge
from fleet.devcluster.wire import statuses
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import UNREADABLE
from fleet.devcluster.wire.statuses import StatusError

_PLAIN = "text/plain; charset=utf-8"
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_MESSAGES = {
    401: "Unauthorized",
    410: "The resourceVersion for the provided list is too old.",
    429: "Too many requests, please try again later.",
    500: "Internal error occurred: etcdserver: request timed out",
    503: "the server is currently unable to handle the request",
    504: "Timeout: request did not complete within the allotted timeout",
}
_EXPIRED_CONTINUE = "The provided continue parameter is too old to display a consistent list result."


def refusal(fault: Refuse, asked: Asked) -> Answer:
    """What the client is told."""
    seconds = fault.retry_after_seconds
    if fault.text:
        return Answer(fault.status, fault.text.encode(), _PLAIN, "" if seconds is None else str(seconds))
    details = _details(asked)
    if seconds is not None:
        details["retryAfterSeconds"] = seconds
    message = fault.message or _message(fault.status, asked)
    error = StatusError(fault.status, _REASONS.get(fault.status, ""), message, details=details or None)
    answer = Answer.failed(error)
    answer.retry_after = "" if seconds is None else str(seconds)
    return answer


def too_large(fault: TooLarge, asked: Asked) -> Answer:
    """504 for the version that the request names."""
    version = version_in(asked.request.option("resourceVersion"))
    error = statuses.too_large(version, max(version - 1000, 1))
    if not fault.cause:
        error = StatusError(error.code, error.reason, error.message, details={"retryAfterSeconds": 1})
    return Answer.failed(error)


def expired_line(asked: Asked) -> bytes:
    """The ERROR event of a watch whose version has left the history."""
    number = version_in(asked.request.option("resourceVersion"))
    return b'{"type":"ERROR","object":' + statuses.too_old(number, number + 1000).body() + b"}\n"


def truncated(body: bytes, keep: int) -> bytes | None:
    """The list, or the Table of one, with its first items only, as if there were no more.

    None for a body that is no list, or none that is longer.
    """
    try:
        found = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        field = "rows" if "rows" in found else "items"
        items = msgspec.json.decode(found.get(field, b""), type=list[msgspec.Raw])
        metadata = msgspec.json.decode(found.get("metadata", b"{}"), type=dict[str, msgspec.Raw])
    except UNREADABLE:
        return None
    if len(items) <= keep and "continue" not in metadata:
        return None
    kept = {name: value for name, value in metadata.items() if name not in ("continue", "remainingItemCount")}
    return msgspec.json.encode({**found, "metadata": kept, field: items[:keep]})


def _details(asked: Asked) -> dict[str, object]:
    target = asked.target
    if target is None:
        return {}
    details = {"name": asked.name, "group": target.resource.group, "kind": target.resource.plural}
    return {name: value for name, value in details.items() if value}


def _message(status: int, asked: Asked) -> str:
    target = asked.target
    if status == 409 and target is not None:
        what = f"{target.resource.plural}.{target.resource.group}".rstrip(".")
        return f'Operation cannot be fulfilled on {what} "{asked.name}": {statuses.OPTIMISTIC_LOCK}'
    if status == 410 and asked.request.option("continue"):
        return _EXPIRED_CONTINUE
    if status == 410 and asked.verb == "watch":
        return f"too old resource version: {asked.request.option('resourceVersion') or '0'} (1)"
    return _MESSAGES.get(status, "the fault says so")
