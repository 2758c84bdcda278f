"""The rules of a whole schema, and their walk over a value. Pure.

After apiextensions-apiserver pkg/apiserver/schema/cel/validation.go. Limits of cost are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from fleet.devcluster.causes import Cause
from fleet.devcluster.celrules.declarations import declared
from fleet.devcluster.celrules.language import Checker
from fleet.devcluster.celrules.messages import Messages
from fleet.devcluster.celrules.rule import Rule

_RULES: Final = "x-kubernetes-validations"
_MISSING: Final[Any] = object()


class _Pair(NamedTuple):
    """A value and the one that it replaces."""

    new: Any
    old: Any


class _Correlation(NamedTuple):
    """Of a value with its old one. here: None where there is none; parent: the nearest above that has one."""

    here: _Pair | None = None
    parent: _Pair | None = None

    def key(self, name: str) -> _Correlation:
        if self.here is None:
            return self
        if self.parent is None and name in ("apiVersion", "kind"):
            return _Correlation()
        old = self.here.old.get(name, _MISSING) if isinstance(self.here.old, dict) else _MISSING
        return _Correlation(None if old is _MISSING else _Pair(self.here.new[name], old), self.here)

    def item(self, new: Any, old: Any) -> _Correlation:
        if self.here is None:
            return self
        return _Correlation(None if old is None else _Pair(new, old), self.here)

    @property
    def unchanged(self) -> bool:
        pair = self.parent if self.here is None else self.here
        return pair is not None and bool(pair.new == pair.old)


class Findings(NamedTuple):
    """causes: what is wrong. forgiven: what is wrong, and was before the update."""

    causes: list[Cause]
    forgiven: list[Cause]


class RuleTree:
    """One node of a schema with rules, or one that leads there."""

    def __init__(self, schema: Mapping[str, Any], *, resource: bool) -> None:
        rules: list[Rule] = []
        self._declared: Final = declared(schema, resource=resource)
        entries = schema.get(_RULES) or ()
        if entries and self._declared is not None:
            checker = Checker(Messages(self._declared))
            rules += [Rule(each, schema, checker) for each in entries]
        self.rules: Final = rules
        parts = {name: _tree(each) for name, each in (schema.get("properties") or {}).items()}
        self.properties: Final = {name: each for name, each in parts.items() if each is not None}
        self.additional: Final = _tree(schema.get("additionalProperties"))
        self.items: Final = _tree(schema.get("items"))
        listed = schema.get("x-kubernetes-list-type") == "map"
        self._keys: Final[tuple[str, ...]] = tuple(schema.get("x-kubernetes-list-map-keys") or ()) if listed else ()

    def findings(self, value: Any, old: Any = None) -> Findings:
        """Of a whole object. old: what an update replaces."""
        found = Findings([], [])
        correlation = _Correlation() if old is None else _Correlation(_Pair(value, old))
        self._walk(value, old, "", correlation, found)
        return found

    def _walk(self, value: Any, old: Any, path: str, correlation: _Correlation, into: Findings) -> None:
        if value is None:
            return
        if self.rules:
            self._judge(value, old, path, correlation, into)
        if isinstance(value, dict):
            before = old if isinstance(old, dict) else {}
            for name, item in value.items():
                inner = self.properties.get(name)
                if inner is not None:
                    below = f"{path}.{name}" if path else name
                elif self.additional is not None:
                    inner, below = self.additional, f"{path}[{name}]"
                else:
                    continue
                inner._walk(item, before.get(name), below, correlation.key(name), into)
        elif isinstance(value, list) and self.items is not None:
            known = self._by_key(old)
            for index, item in enumerate(value):
                counterpart = known.get(self._key(item)) if known else None
                self.items._walk(item, counterpart, f"{path}[{index}]", correlation.item(item, counterpart), into)

    def _judge(self, value: Any, old: Any, path: str, correlation: _Correlation, into: Findings) -> None:
        assert self._declared is not None
        seen, has_old = self._declared.value(value), old is not None
        seen_old = self._declared.value(old) if has_old else None
        for rule in self.rules:
            if rule.uses_old and not has_old and not rule.optional:
                continue
            found = rule.fault(value, seen, seen_old, path, has_old=has_old)
            if found is None:
                continue
            cause, said = found
            forgiven = said and not rule.uses_old and correlation.unchanged
            (into.forgiven if forgiven else into.causes).append(cause)

    def _by_key(self, old: Any) -> dict[str, Any]:
        if not self._keys or not isinstance(old, list):
            return {}
        return {self._key(each): each for each in old}

    def _key(self, item: Any) -> str:
        return repr([item.get(name) for name in self._keys]) if isinstance(item, dict) else ""


def rule_tree(root: Mapping[str, Any]) -> RuleTree:
    """Of the schema of a whole object."""
    return RuleTree(root, resource=True)


def _tree(schema: Any) -> RuleTree | None:
    if not isinstance(schema, Mapping):
        return None
    found = RuleTree(schema, resource=bool(schema.get("x-kubernetes-embedded-resource")))
    return found if found.rules or found.properties or found.additional or found.items else None
