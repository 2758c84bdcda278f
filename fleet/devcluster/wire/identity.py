"""Who makes a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"


@dataclass(frozen=True, slots=True)
class Identity:
    """A user, as in `UserInfo` of authentication.k8s.io. extra: values by key."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def info(self) -> dict[str, object]:
        """As the JSON of a `UserInfo`."""
        info: dict[str, object] = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


ADMIN = Identity("system:admin", groups=(MASTERS, AUTHENTICATED))
"""Everybody, on a server without access control."""

ANONYMOUS = Identity("system:anonymous", groups=("system:unauthenticated",))
"""Somebody who shows no token, on a server with access control."""
