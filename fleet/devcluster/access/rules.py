"""Policy rules of RBAC: whether one of them allows a request. Pure. Source: RuleAllows of the RBAC authorizer."""

from __future__ import annotations

import msgspec

from fleet.devcluster.access.attributes import Attributes

ALL = "*"


class Rule(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A PolicyRule."""

    verbs: tuple[str, ...] | None = ()
    api_groups: tuple[str, ...] | None = ()
    resources: tuple[str, ...] | None = ()
    resource_names: tuple[str, ...] | None = ()
    non_resource_urls: tuple[str, ...] | None = msgspec.field(name="nonResourceURLs", default=())

    def allows(self, wanted: Attributes) -> bool:
        verbs = self.verbs or ()
        if wanted.verb not in verbs and ALL not in verbs:
            return False
        if not wanted.resource:
            return any(_covers(url, wanted.path) for url in self.non_resource_urls or ())
        groups, names = self.api_groups or (), self.resource_names or ()
        if wanted.group not in groups and ALL not in groups:
            return False
        return self._has_resource(wanted) and (not names or wanted.name in names)

    def _has_resource(self, wanted: Attributes) -> bool:
        for each in self.resources or ():
            if each in (ALL, wanted.combined):
                return True
            if wanted.subresource and each == f"*/{wanted.subresource}":
                return True
        return False


def _covers(url: str, path: str) -> bool:
    return url in (ALL, path) or (url.endswith("*") and path.startswith(url.rstrip("*")))
