"""Continue tokens: where the next page of a list begins, and at which version. Pure.

Form and refusals are those of apiserver pkg/storage/continue.go.
"""

from __future__ import annotations

import base64
import json
import posixpath
import re

import msgspec

from fleet.devcluster.decoding.syntax import syntax_fault
from fleet.devcluster.wire import statuses

_VERSION = "meta.k8s.io/v1"
_INVALID = "invalid continue token: continue key is not valid"
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


class Continuation(msgspec.Struct):
    """rv: the list's version, negative for a rest at the newest one. start: the first key, within the list's range."""

    rv: int = 0
    start: str = ""
    v: str = ""

    def encode(self) -> str:
        token = {"v": _VERSION, "rv": self.rv, "start": self.start}
        return base64.urlsafe_b64encode(json.dumps(token, separators=(",", ":")).encode()).rstrip(b"=").decode()

    @classmethod
    def decode(cls, text: str) -> Continuation:
        """Raises StatusError 400."""
        raw = _unpacked(text)
        try:
            token = msgspec.json.decode(raw, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise statuses.bad_request(f"{_INVALID}: {_complaint(raw, error)}") from None
        if token.v != _VERSION:
            raise statuses.bad_request(f"{_INVALID}: server does not recognize this encoded version {token.v}")
        if token.rv == 0:
            raise statuses.bad_request(f"{_INVALID}: incorrect encoded start resourceVersion (version {_VERSION})")
        if not token.start:
            raise statuses.bad_request(f"{_INVALID}: encoded start key empty (version {_VERSION})")
        key = token.start if token.start.startswith("/") else f"/{token.start}"
        if posixpath.normpath(key) != key or key.startswith("//"):
            raise statuses.bad_request(f"{_INVALID}: {token.start}")
        return cls(token.rv, key[1:], token.v)


def _unpacked(text: str) -> bytes:
    foreign = _FOREIGN.search(text)
    if foreign is not None or len(text) % 4 == 1:
        at = foreign.start() if foreign is not None else len(text) - 1
        raise statuses.bad_request(f"{_INVALID}: illegal base64 data at input byte {at}")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _complaint(raw: bytes, error: Exception) -> str:
    """What Go's JSON decoder says of the commonest cases."""
    if fault := syntax_fault(raw):
        return fault
    kinds = {"[": "array", '"': "string", "t": "bool", "f": "bool"} | dict.fromkeys("-0123456789", "number")
    kind = kinds.get(raw.decode("latin-1").lstrip(" \t\r\n")[:1])
    return f"json: cannot unmarshal {kind} into Go value of type storage.continueToken" if kind else str(error)
