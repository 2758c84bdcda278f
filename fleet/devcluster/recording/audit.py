"""The audit log: one JSON line of audit.k8s.io/v1 for each finished request that names an object or a collection."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from io import FileIO
from random import Random
from typing import Any

import msgspec

from fleet.devcluster.recording.asked import confidential
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import Request, Target, name_in, verb_of
from shards.errors import ConfigError

_READS = ("get", "list", "watch")


class AuditLevel(Enum):
    """What a line holds besides who did what to which object."""

    METADATA = "Metadata"
    REQUEST = "Request"
    REQUEST_RESPONSE = "RequestResponse"


@dataclass(slots=True)
class Audit:
    """Writes the lines, each whole and at once. rng: for the IDs of requests that bring none.

    Bodies of reads, of Secrets and of tokens are left out at every level, as a sensible policy would have it.
    """

    _file: FileIO
    level: AuditLevel
    _rng: Random
    _wall_seconds: Callable[[], float]

    def now(self) -> float:
        """Seconds since 1970."""
        return self._wall_seconds()

    def finished(self, request: Request, target: Target, answer: Answer, received_seconds: float) -> None:
        """received_seconds: when the request came, since 1970."""
        verb = verb_of(request, target)
        event: dict[str, Any] = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": self.level.value,
            "auditID": request.headers.get("audit-id") or str(uuid.UUID(int=self._rng.getrandbits(128), version=4)),
            "stage": "ResponseStarted" if answer.stream is not None else "ResponseComplete",
            "requestURI": _uri(request),
            "verb": verb,
            "user": request.user.info(),
            "userAgent": request.user_agent,
            "objectRef": _reference(target, request, verb),
            "responseStatus": {"metadata": {}, "code": answer.status},
            "requestReceivedTimestamp": _timestamp(received_seconds),
            "stageTimestamp": _timestamp(self._wall_seconds()),
        }
        if verb not in _READS and self.level is not AuditLevel.METADATA and not confidential(target):
            if _is_json(request.body):
                event["requestObject"] = msgspec.Raw(request.body or b"")
            if self.level is AuditLevel.REQUEST_RESPONSE and _is_json(answer.body):
                event["responseObject"] = msgspec.Raw(answer.body)
        self._file.write(msgspec.json.encode(event) + b"\n")

    def close(self) -> None:
        self._file.close()


def audit_for(settings: ServerSettings, rng: Random, wall_seconds: Callable[[], float]) -> Audit | None:
    """None where the settings want none. Raises ConfigError."""
    if not settings.audit_path:
        return None
    try:
        level, file = AuditLevel(settings.audit_level), FileIO(settings.audit_path, "ab")
    except ValueError:
        levels = ", ".join(each.value for each in AuditLevel)
        raise ConfigError("audit_level", f"{settings.audit_level!r} is none of {levels}") from None
    except OSError as error:
        raise ConfigError("audit_path", f"cannot write {settings.audit_path}: {error.strerror}") from error
    return Audit(file, level, rng, wall_seconds)


def _reference(target: Target, request: Request, verb: str) -> dict[str, str]:
    """A create has no name in its path; its body tells it, unless the server is to make one up."""
    resource, name = target.resource, target.name
    if verb == "create" and not name:
        name = name_in(request.body)
    reference = {
        "resource": resource.plural,
        "namespace": target.namespace,
        "name": name,
        "apiGroup": resource.group,
        "apiVersion": resource.version,
        "subresource": target.subresource,
    }
    return {key: value for key, value in reference.items() if value}


def _uri(request: Request) -> str:
    query = "&".join(f"{name}={value}" for name, value in request.query)
    return f"{request.path}?{query}" if query else request.path


def _is_json(body: bytes | None) -> bool:
    return bool(body) and (body or b"")[:1] in b"{["


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
