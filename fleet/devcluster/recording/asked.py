"""What a request asked for, as a journal keeps it. Pure."""

from __future__ import annotations

import hashlib

import msgspec

from fleet.devcluster.recording.journal import READS, Level, Sent
from fleet.devcluster.wire.requests import UNREADABLE, Request, Target

FLEET = "fleet/"
"""How the User-Agent of a fleet begins: only a fleet's preconditions are judged, and finding them costs a decode."""

_DIGITS = 19
"""Of numbers beyond what a limit can be; a client may send any text."""

_BODY_LIMIT = 64 * 1024
"""Bytes of a longer body are left out; its digest is kept."""


_CONFIDENTIAL = {("", "secrets"), ("authentication.k8s.io", "tokenreviews")}
"""Groups and plurals."""


class _Metadata(msgspec.Struct, rename="camel", frozen=True):
    uid: str | None = ""
    resource_version: str | None = ""


class _Body(msgspec.Struct):
    """The part of an object, a merge patch or a delete's options that says what must be there."""

    metadata: _Metadata = _Metadata()
    preconditions: _Metadata = _Metadata()


class _Dry(msgspec.Struct, rename="camel"):
    dry_run: list[str] | None = None


_DRY = msgspec.json.Decoder(_Dry)
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
    if not whole or confidential(Target.parse(request.path)):
        return Sent(uid=uid, version=version)
    body = request.body.decode(errors="replace") if len(request.body) <= _BODY_LIMIT else ""
    return Sent(uid=uid, version=version, digest=digest(request.body), body=body)


def dry_run(request: Request) -> bool:
    """Whether the request, which is no read, is to write nothing: it is none of the writes of a journal then."""
    if request.query and request.option("dryRun"):
        return True
    if request.method != "DELETE" or not request.body:
        return False
    try:
        return bool(_DRY.decode(request.body).dry_run)
    except UNREADABLE:
        return False


def confidential(target: Target | None) -> bool:
    """Whether bodies of such requests and answers hold what nobody else may read: Secrets, and tokens of accounts.

    Not even a digest of them is kept: what is short can be guessed from it.
    """
    if target is None:
        return False
    resource = target.resource
    return (resource.group, resource.plural) in _CONFIDENTIAL or target.subresource == "token"


def _read(request: Request) -> Sent:
    query = dict(request.query)
    limit = query.get("limit", "")
    return Sent(
        resource_version=query.get("resourceVersion"),
        match=query.get("resourceVersionMatch", ""),
        limit=int(limit) if limit.isascii() and limit.isdecimal() and len(limit) < _DIGITS else 0,
        continues=bool(query.get("continue")),
        watch=request.flag("watch"),
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
        shards=query.get("shardSelector", ""),
        initial_events=request.flag("sendInitialEvents"),
    )


def preconditions(verb: str, body: bytes) -> tuple[str, str]:
    """UID and resourceVersion, "" where the write does not ask for one; a JSON patch asks in tests, not in these."""
    try:
        found = _BODIES.decode(body)
    except UNREADABLE:
        return "", ""
    given = found.preconditions if verb in ("delete", "deletecollection") else found.metadata
    return given.uid or "", given.resource_version or ""


def digest(data: bytes) -> str:
    """128 bits as 32 hex digits."""
    return hashlib.sha256(data).hexdigest()[:32]
