"""The RBAC authorizer over the stored roles and bindings.

Decoded rules are kept until one of the four tables changes. A ClusterRole with an aggregation rule has the rules of
the roles that it selects, at once: the real server leaves that to a controller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from fleet.devcluster.access.attributes import Attributes
from fleet.devcluster.access.rules import Rule
from fleet.devcluster.kinds.resources import Registry
from fleet.devcluster.storage.storage import Commit, Storage, Table
from fleet.devcluster.wire.identity import MASTERS, Identity
from shards.objects import Resource

GROUP = "rbac.authorization.k8s.io"
_PREFIX = "system:serviceaccount:"


class _Name(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None


class _Selector(msgspec.Struct, frozen=True, rename="camel"):
    match_labels: dict[str, str] | None = None


class _Aggregation(msgspec.Struct, frozen=True, rename="camel"):
    cluster_role_selectors: tuple[_Selector, ...] | None = ()


class _Role(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _Name
    rules: tuple[Rule, ...] | None = ()
    aggregation_rule: _Aggregation | None = None


class _Subject(msgspec.Struct, frozen=True):
    kind: str
    name: str
    namespace: str = ""

    def is_user(self, user: Identity, binding_namespace: str) -> bool:
        if self.kind == "User":
            return user.name == self.name
        if self.kind == "Group":
            return self.name in user.groups
        namespace = self.namespace or binding_namespace
        return self.kind == "ServiceAccount" and user.name == f"{_PREFIX}{namespace}:{self.name}"

    def __str__(self) -> str:
        return f'{self.kind} "{self.name}/{self.namespace}"' if self.namespace else f'{self.kind} "{self.name}"'


class _Reference(msgspec.Struct, frozen=True):
    kind: str
    name: str


class _Binding(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _Name
    role_ref: _Reference
    subjects: tuple[_Subject, ...] | None = ()

    def subject_of(self, user: Identity) -> _Subject | None:
        namespace = self.metadata.namespace
        return next((each for each in self.subjects or () if each.is_user(user, namespace)), None)

    def described(self, subject: _Subject) -> str:
        """As the reason of a decision."""
        kind, name = "ClusterRoleBinding", self.metadata.name
        if self.metadata.namespace:
            kind, name = "RoleBinding", f"{name}/{self.metadata.namespace}"
        return f'RBAC: allowed by {kind} "{name}" of {self.role_ref.kind} "{self.role_ref.name}" to {subject}'


@dataclass(frozen=True, slots=True)
class Decision:
    """reason: for people; "" where there is nothing to say."""

    allowed: bool
    reason: str = ""


class Rbac:
    """Decides what users may do."""

    def __init__(self, storage: Storage, registry: Registry) -> None:
        self._storage = storage
        self._registry = registry
        self._roles: dict[str, _Role] | None = None
        self._bindings: list[_Binding] = []
        storage.listeners.append(self._changed)

    def decide(self, wanted: Attributes) -> Decision:
        if MASTERS in wanted.user.groups:
            return Decision(True)
        missing: list[str] = []
        for binding, subject, rules in self._rules_of(wanted.user, wanted.namespace, missing):
            if any(rule.allows(wanted) for rule in rules):
                return Decision(True, binding.described(subject))
        texts = list(dict.fromkeys(missing))
        together = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        return Decision(False, f"RBAC: {together}" if texts else "")

    def rules_of(self, user: Identity, namespace: str) -> list[Rule]:
        """Everything that the user may do in a namespace."""
        return [rule for _, _, rules in self._rules_of(user, namespace, []) for rule in rules]

    def _rules_of(
        self, user: Identity, namespace: str, missing: list[str]
    ) -> Iterator[tuple[_Binding, _Subject, tuple[Rule, ...]]]:
        """missing: gets a sentence for every role that a binding names and nobody has written."""
        roles = self._loaded()
        for binding in self._bindings:
            where = binding.metadata.namespace
            if where and where != namespace:
                continue
            subject = binding.subject_of(user)
            if subject is None:
                continue
            reference = binding.role_ref
            role = roles.get(f"{where}/{reference.name}" if reference.kind == "Role" else f"/{reference.name}")
            if role is None:
                missing.append(f'{reference.kind.lower()}.{GROUP} "{reference.name}" not found')
            else:
                yield binding, subject, self._rules_in(role, roles)

    @staticmethod
    def _rules_in(role: _Role, roles: dict[str, _Role], above: frozenset[str] = frozenset()) -> tuple[Rule, ...]:
        """above: roles whose rules these become part of; roles that select each other end there."""
        above |= {role.metadata.name}
        selectors = role.aggregation_rule.cluster_role_selectors if role.aggregation_rule else None
        if not selectors:
            return role.rules or ()
        found: tuple[Rule, ...] = ()
        for other in roles.values():
            labels = other.metadata.labels or {}
            if other.metadata.namespace or other.metadata.name in above:
                continue
            if any((each.match_labels or {}).items() <= labels.items() for each in selectors):
                found += Rbac._rules_in(other, roles, above)
        return found

    def _loaded(self) -> dict[str, _Role]:
        if self._roles is None:
            self._roles = {}
            for table in self._tables("clusterroles", "roles"):
                for stored in table.scan():
                    role = msgspec.json.decode(stored.raw, type=_Role)
                    self._roles[f"{role.metadata.namespace}/{role.metadata.name}"] = role
            found = [each.raw for table in self._tables("clusterrolebindings", "rolebindings") for each in table.scan()]
            self._bindings = [msgspec.json.decode(raw, type=_Binding) for raw in found]
        return self._roles

    def _tables(self, *plurals: str) -> Iterator[Table]:
        for plural in plurals:
            kind = self._registry.get(Resource(GROUP, "v1", plural))
            if kind is not None:
                yield self._storage.table(kind)

    def _changed(self, commit: Commit) -> None:
        if commit.kind.resource.group == GROUP:
            self._roles = None
