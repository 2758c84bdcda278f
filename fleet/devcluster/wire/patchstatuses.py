"""Failure answers to patches and applies: see `statuses`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fleet.devcluster.causes import Cause
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.wire.statuses import StatusError, cause_list


def unsupported_patch(accepted: Sequence[str]) -> StatusError:
    """415. accepted: what custom resources say that they take; empty for built-in ones, which do not say."""
    if not accepted:
        return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return StatusError(415, "UnsupportedMediaType", message)


def bad_patch_result(text: str, why: str) -> StatusError:
    """422 of a patch whose result is no such object. text: the result."""
    cause = Cause("FieldValueInvalid", f"Invalid value: {msgspec.json.encode(text).decode()}: {why}", "patch")
    return StatusError(422, "Invalid", f' "" is invalid: {cause.text()}', details={"causes": cause_list([cause])})


def refused_patch() -> StatusError:
    """422 of a patch that does not apply; the real server does not say why."""
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request", details={})


def unconverted(kind: ResourceType, metadata: Mapping[str, Any], why: str) -> StatusError:
    """500 of an apply whose result is no object of the kind."""
    into = f"{kind.resource.group}/{kind.resource.version}, Kind={kind.kind}"
    return _unconverted(
        metadata, into, f"unable to convert unstructured object to {into}: error decoding from json: {why}"
    )


def unconverted_scale(metadata: Mapping[str, Any]) -> StatusError:
    """500 of an apply that would change the scale of a custom resource: the real server cannot do it either."""
    why = "request to convert CR to an invalid group/version: autoscaling/v1"
    return _unconverted(metadata, "autoscaling/v1, Kind=Scale", why)


def _unconverted(metadata: Mapping[str, Any], into: str, why: str) -> StatusError:
    what = f"({metadata.get('namespace', '')}/{metadata.get('name', '')}; {into})"
    return StatusError(500, "", f"failed to convert new object {what} to proper version: {why}")


def apply_conflict(conflicts: Sequence[tuple[str, str]]) -> StatusError:
    """409 of a server-side apply. conflicts: who owns the field, and the field as a path."""
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {holder}", "field": path}
        for holder, path in conflicts
    ]
    if len(conflicts) == 1:
        holder, path = conflicts[0]
        message = f"Apply failed with 1 conflict: conflict with {holder}: {path}"
    else:
        lines: list[str] = []
        for holder in dict.fromkeys(holder for holder, _ in conflicts):
            lines.append(f"conflicts with {holder}:")
            lines += [f"- {path}" for owner, path in conflicts if owner == holder]
        message = f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", message, details={"causes": causes})
