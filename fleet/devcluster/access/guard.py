"""Access control of one server: users, rights, tokens and reviews behind one object."""

from __future__ import annotations

import random
from collections.abc import Callable

from fleet.devcluster.access.attributes import Attributes, forbidden, unauthorized
from fleet.devcluster.access.authentication import Authentication, TokenError
from fleet.devcluster.access.bootstrap import administrator_rules
from fleet.devcluster.access.rbac import Decision, Rbac
from fleet.devcluster.access.reviews import Reviews
from fleet.devcluster.access.rules import Rule
from fleet.devcluster.access.tokenrequests import TokenRequests
from fleet.devcluster.access.tokens import Signer
from fleet.devcluster.kinds.resources import Registry
from fleet.devcluster.storage.storage import Storage
from fleet.devcluster.wire.identity import ADMIN, ANONYMOUS, Identity
from fleet.devcluster.wire.requests import Request, Target

_KEY_BYTES = 32


class Guard:
    """Lets requests in. Off without an administrator token: then everybody may do everything."""

    def __init__(
        self,
        storage: Storage,
        registry: Registry,
        rng: random.Random,
        wall_seconds: Callable[[], float],
        admin_token: str,
    ) -> None:
        """rng: for the key that signs tokens, and for their identifiers. wall_seconds: since 1970."""
        own = random.Random(rng.getrandbits(64))
        signer = Signer(own.randbytes(_KEY_BYTES))
        self.enabled = bool(admin_token)
        self._authentication = Authentication(storage, registry, signer, wall_seconds, admin_token)
        self._rbac = Rbac(storage, registry)
        self.token_requests = TokenRequests(storage, registry, signer, own, wall_seconds)
        self.reviews = Reviews(self._authentication, self.rules_of, self.decide, wall_seconds)

    def admit(self, request: Request, target: Target | None) -> None:
        """Sets the request's user. Raises StatusError 401, 403."""
        if not self.enabled:
            if "authorization" in request.headers:
                self._recognise(request)
            return
        try:
            request.user = self._authentication.user_of(request.headers)
        except TokenError:
            raise unauthorized() from None
        wanted = Attributes.of(request, target)
        decision = self._rbac.decide(wanted)
        if not decision.allowed:
            raise forbidden(wanted, decision.reason)

    def decide(self, wanted: Attributes) -> Decision:
        return self._rbac.decide(wanted) if self.enabled else Decision(True)

    def rules_of(self, user: Identity, namespace: str) -> list[Rule]:
        """Everything that the user may do in a namespace."""
        return self._rbac.rules_of(user, namespace) if self.enabled else administrator_rules()

    def _recognise(self, request: Request) -> None:
        """A token of ours names its user even where nobody asks for one; any other is the administrator's."""
        try:
            user = self._authentication.user_of(request.headers)
        except TokenError:
            user = ADMIN
        request.user = ADMIN if user is ANONYMOUS else user
