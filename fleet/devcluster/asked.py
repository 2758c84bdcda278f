"""What a request asked for, as a journal keeps it. Pure."""

from __future__ import annotations

import hashlib

import msgspec

from fleet.devcluster.journal import READS, Level, Sent
from fleet.devcluster.requests import Request

FLEET = "fleet/"
"""How the User-Agent of a fleet begins: only a fleet's preconditions are judged, and finding them costs a decode."""

_DIGITS = 19
"""Of numbers beyond what a limit can be; a client may send any text."""

_BODY_LIMIT = 64 * 1024
"""Bytes of a longer body are left out; its digest is kept."""


class _Metadata(msgspec.Struct, rename="camel", frozen=True):
    uid: str | None = ""
    resource_version: str | None = ""


class _Body(msgspec.Struct):
    """The part of an object, a merge patch or a delete's options that says what must be there."""

    metadata: _Metadata = _Metadata()
    preconditions: _Metadata = _Metadata()


_BODIES = msgspec.json.Decoder(_Body)


def sent_of(verb: str, request: Request, level: Level) -> Sent | None:
    """None where there is nothing to tell at that level."""
    if verb in READS:
        return _read(request) if request.query else None
    whole = level >= Level.BODIES
    conditional = verb != "create" and request.user_agent.startswith(FLEET)
    if not (whole or conditional) or not request.body:
        # A fleet's write without a body has no preconditions, and that is worth a line.
        return Sent() if conditional else None
    uid, version = preconditions(verb, request.body)
    if not whole:
        return Sent(uid=uid, version=version)
    body = request.body.decode(errors="replace") if len(request.body) <= _BODY_LIMIT else ""
    return Sent(uid=uid, version=version, digest=digest(request.body), body=body)


def _read(request: Request) -> Sent:
    query = dict(request.query)
    limit = query.get("limit", "")
    return Sent(
        resource_version=query.get("resourceVersion"),
        match=query.get("resourceVersionMatch", ""),
        limit=int(limit) if limit.isascii() and limit.isdecimal() and len(limit) < _DIGITS else 0,
        continues=bool(query.get("continue")),
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
        shards=query.get("shardSelector", ""),
        initial_events=request.flag("sendInitialEvents"),
    )


def preconditions(verb: str, body: bytes) -> tuple[str, str]:
    """UID and resourceVersion, "" where the write does not ask for one; a JSON patch asks in tests, not in these."""
    try:
        found = _BODIES.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return "", ""
    given = found.preconditions if verb in ("delete", "deletecollection") else found.metadata
    return given.uid or "", given.resource_version or ""


def digest(data: bytes) -> str:
    """128 bits as 32 hex digits."""
    return hashlib.sha256(data).hexdigest()[:32]
