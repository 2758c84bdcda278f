"""From the Authorization header to a user."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fleet.devcluster.access.tokens import ISSUER, Claims, Signer
from fleet.devcluster.kinds.resources import Registry
from fleet.devcluster.storage.storage import Storage, object_key
from fleet.devcluster.wire.identity import ANONYMOUS, AUTHENTICATED, MASTERS, Identity
from shards.objects import Resource

INVALID = "invalid bearer token"
OPERATOR = Identity("admin", "admin", (MASTERS, AUTHENTICATED))
"""Who shows the server's own administrator token."""

_SCHEME = "bearer "
_CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
_POD_NAME, _POD_UID = "authentication.kubernetes.io/pod-name", "authentication.kubernetes.io/pod-uid"


class TokenError(Exception):
    """A token that nobody may use; the text says why, in the words of the real server."""


@dataclass(slots=True)
class Authentication:
    """Knows the users of one server. wall_seconds: since 1970, for the end of tokens."""

    _storage: Storage
    _registry: Registry
    _signer: Signer
    _wall_seconds: Callable[[], float]
    admin_token: str = ""
    _read: dict[str, Claims] = field(default_factory=dict)

    def user_of(self, headers: Mapping[str, str]) -> Identity:
        """ANONYMOUS where the request shows no token. Raises TokenError."""
        header = headers.get("authorization", "")
        if header[: len(_SCHEME)].lower() != _SCHEME:
            return ANONYMOUS
        token = header[len(_SCHEME) :].strip()
        return self.token_user(token, (ISSUER,))[0] if token else ANONYMOUS

    def token_user(self, token: str, audiences: Sequence[str]) -> tuple[Identity, list[str]]:
        """The user, and which of the audiences the token is for. Raises TokenError."""
        if self.admin_token and hmac.compare_digest(_bytes(token), _bytes(self.admin_token)):
            return OPERATOR, []
        claims = self._read.get(token)
        if claims is None:
            claims = self._signer.read(token)
            if claims is None:
                raise TokenError(INVALID)
            self._read[token] = claims
        meant = [each for each in audiences if each in claims.aud]
        if not meant:
            had, wanted = _quoted(claims.aud), _quoted(audiences)
            raise TokenError(f"[{INVALID}, token audiences {had} is invalid for the target audiences {wanted}]")
        self._check(claims)
        return _user(claims), meant

    def _check(self, claims: Claims) -> None:
        if self._wall_seconds() >= claims.exp:
            raise TokenError(f"[{INVALID}, service account token has expired]")
        account = claims.account
        self._check_exists(
            "serviceaccounts", account.namespace, account.serviceaccount.name, account.serviceaccount.uid
        )
        bound = account.bound()
        if bound is not None:
            plural, named = bound
            self._check_exists(plural, "" if plural == "nodes" else account.namespace, named.name, named.uid)

    def _check_exists(self, plural: str, namespace: str, name: str, uid: str) -> None:
        kind = self._registry.get(Resource("", "v1", plural))
        stored = self._storage.table(kind).objects.get(object_key(namespace, name)) if kind else None
        if stored is None or stored.meta.uid != uid:
            raise TokenError(f"[{INVALID}, service account token has been invalidated]")


def _user(claims: Claims) -> Identity:
    account = claims.account
    namespace = account.namespace
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
    extra = {_CREDENTIAL_ID: (f"JTI={claims.jti}",)}
    bound = account.bound()
    if bound is not None and bound[0] == "pods":
        extra |= {_POD_NAME: (bound[1].name,), _POD_UID: (bound[1].uid,)}
    return Identity(claims.sub, account.serviceaccount.uid, groups, extra)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _quoted(texts: Sequence[str]) -> str:
    """As Go prints a list of quoted strings."""
    return "[" + " ".join(f'"{each}"' for each in texts) + "]"
