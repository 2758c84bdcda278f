"""Service account tokens: JSON web tokens that one server signs and reads.

Signed with HMAC-SHA256 and a key of this process, where the real server uses a key pair: clients only carry them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass

import msgspec

ISSUER = "https://kubernetes.default.svc"
"""Issuer, and the audience that this server accepts."""


class Named(msgspec.Struct, frozen=True):
    name: str
    uid: str


class _Account(msgspec.Struct, frozen=True):
    namespace: str
    serviceaccount: Named
    pod: Named | msgspec.UnsetType = msgspec.UNSET
    secret: Named | msgspec.UnsetType = msgspec.UNSET
    node: Named | msgspec.UnsetType = msgspec.UNSET

    def bound(self) -> tuple[str, Named] | None:
        """Plural and reference of the object that the token ends with."""
        for plural, named in (("pods", self.pod), ("secrets", self.secret), ("nodes", self.node)):
            if isinstance(named, Named):
                return plural, named
        return None


class Claims(msgspec.Struct, frozen=True, rename={"account": "kubernetes.io"}):
    """exp, iat, nbf: seconds since 1970."""

    aud: tuple[str, ...]
    exp: int
    iat: int
    iss: str
    jti: str
    account: _Account
    nbf: int
    sub: str


_HEADER = msgspec.json.encode({"alg": "HS256", "kid": "in-memory"})
_claims = msgspec.json.Decoder(Claims)


@dataclass(frozen=True, slots=True)
class Signer:
    """key: secret bytes."""

    key: bytes

    def sign(self, claims: Claims) -> str:
        signed = _base64(_HEADER) + b"." + _base64(msgspec.json.encode(claims))
        return (signed + b"." + _base64(self._signature(signed))).decode()

    def read(self, token: str) -> Claims | None:
        """The claims of a token of this server, expired or not; None for anything else."""
        signed, _, signature = token.encode(errors="replace").rpartition(b".")
        try:
            if not hmac.compare_digest(self._signature(signed), _unbase64(signature)):
                return None
            return _claims.decode(_unbase64(signed.partition(b".")[2]))
        except (binascii.Error, ValueError, msgspec.DecodeError):
            return None

    def _signature(self, signed: bytes) -> bytes:
        return hmac.digest(self.key, signed, hashlib.sha256)


def claims_of(
    *,
    namespace: str,
    account: Named,
    bound: dict[str, Named],
    audiences: tuple[str, ...],
    now: int,
    seconds: int,
    jti: str,
) -> Claims:
    """bound: pod, secret or node by that word; none, or one. now: seconds since 1970."""
    subject = f"system:serviceaccount:{namespace}:{account.name}"
    return Claims(audiences, now + seconds, now, ISSUER, jti, _Account(namespace, account, **bound), now, subject)


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _unbase64(data: bytes) -> bytes:
    return base64.urlsafe_b64decode(data + b"=" * (-len(data) % 4))
