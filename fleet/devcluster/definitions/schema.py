"""The schema of a custom resource in one version: pruning, defaults, validation and structure.

Compiled once; its parts live in the `schemas` package. Messages are those of the real server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from fleet.devcluster.causes import Cause
from fleet.devcluster.definitions.rules import has_rules, rules_of
from fleet.devcluster.schemas.checks import Check
from fleet.devcluster.schemas.embedded import Embedded, embedded_of
from fleet.devcluster.schemas.failures import causes_of
from fleet.devcluster.schemas.listtypes import Uniqueness, uniqueness_of
from fleet.devcluster.schemas.shape import Shape
from fleet.devcluster.schemas.values import UNKNOWN

if TYPE_CHECKING:
    from fleet.devcluster.celrules.tree import RuleTree

_INCOMPLETE = (
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
)
_RULES_SKIPPED = Cause(
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation",
    "<nil>",
)


class Schema:
    """One `openAPIV3Schema`."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root: Final = root

    @cached_property
    def _shape(self) -> Shape:
        return Shape({**self.root, "x-kubernetes-embedded-resource": True})

    @cached_property
    def _check(self) -> Check:
        return Check(self.root)

    @cached_property
    def _status_check(self) -> Check:
        return Check(self.root.get("properties", {}).get("status", {}))

    @cached_property
    def _unique(self) -> Uniqueness | None:
        return uniqueness_of(self.root)

    @cached_property
    def _embedded(self) -> Embedded | None:
        return embedded_of(self.root)

    @cached_property
    def has_rules(self) -> bool:
        return has_rules(self.root)

    @cached_property
    def _rules(self) -> RuleTree | None:
        return rules_of(self.root)

    def read(self, body: dict[str, Any]) -> tuple[list[str], Cause | None]:
        """Drops unknown fields in place. Answers their paths, and what makes an embedded object unreadable.

        kind, apiVersion and metadata of the object itself are left.
        """
        unknown: list[str] = []
        self._shape.prune(body, "", unknown)
        if len(unknown) > 1:
            unknown.sort()
        if self._embedded is None:
            return unknown, None
        inside: list[str] = []
        fault = self._embedded.coerce(body, inside)
        return unknown + sorted(inside), fault

    def complete(self, body: dict[str, Any]) -> None:
        """Drops unknown fields and nulls that are not allowed, and fills in defaults, all in place."""
        self.read(body)
        self.default(body)

    def default(self, body: dict[str, Any]) -> None:
        """Drops nulls that are not allowed and fills in defaults, in place. metadata is left."""
        metadata = body.pop("metadata", None)
        self._shape.complete(body)
        if metadata is not None:
            body["metadata"] = metadata

    def causes(self, body: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> list[Cause]:
        """What is wrong with the object; empty when it is valid. old: what an update replaces: its faults may stay."""
        before = UNKNOWN if old is None else old
        failures = self._check.failures(body, "", before)
        found = list(causes_of(failures)) if failures else []
        if self._embedded is not None:
            found += self._embedded.causes(body)
        found += self._repeated(body, old)
        return found + self._rule_causes(body, old, found) if self.has_rules else found

    def status_causes(self, body: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> list[Cause]:
        """What is wrong with the status. The server words these relative to the status."""
        found: list[Cause] = []
        if "status" in body:
            before = UNKNOWN if old is None else old.get("status", UNKNOWN)
            found += causes_of(self._status_check.failures(body["status"], "", before), "status")
        found += self._repeated(body, old)
        return found + self._rule_causes(body, old, found) if self.has_rules else found

    def forgiven(self, body: Mapping[str, Any], old: Mapping[str, Any] | None) -> Iterator[str]:
        """Failures of rules by values that an update left as they were; the server only warns of them."""
        if self.has_rules and self._rules is not None and old is not None:
            yield from (each.text() for each in self._rules.findings(body, old).forgiven)

    def _rule_causes(self, body: Mapping[str, Any], old: Mapping[str, Any] | None, found: list[Cause]) -> list[Cause]:
        """found: what is wrong already; some of that keeps rules from being looked at."""
        if any(each.reason in _INCOMPLETE for each in found):
            return [_RULES_SKIPPED]
        return self._rules.findings(body, old).causes if self._rules is not None else []

    def _repeated(self, body: Mapping[str, Any], old: Mapping[str, Any] | None) -> list[Cause]:
        if self._unique is None:
            return []
        found = list(self._unique.causes(body))
        if found and old is not None and any(True for _ in self._unique.causes(old)):
            return []
        return found
