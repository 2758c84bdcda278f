"""Whether the rules of a definition compile, and which of them this server cannot evaluate. Pure.

After apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fleet.devcluster.causes import Cause
from fleet.devcluster.celrules.tree import RuleTree, rule_tree
from fleet.devcluster.schemas.values import json_text, shown

_RULES: Final = "x-kubernetes-validations"


def rule_causes(root: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """What is wrong with the rules of a schema that is otherwise valid."""
    yield from _causes(rule_tree(root), root, path, "")


def unevaluated(root: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """Where an expression is that this server does not evaluate, and the function that it lacks."""
    for place, each in _places(rule_tree(root), path):
        for index, rule in enumerate(each.rules):
            here = f"{place}.{_RULES}[{index}]"
            for part, missing in (("rule", rule.missing), ("messageExpression", rule.missing_wording)):
                if missing:
                    yield f"{here}.{part}", missing


def _causes(tree: RuleTree, schema: Mapping[str, Any], path: str, uncorrelated: str) -> Iterator[Cause]:
    """uncorrelated: the path of the first list above whose items have no old ones; "" where there is none."""
    if tree.additional is not None:
        below = f"{path}.additionalProperties"
        yield from _causes(tree.additional, schema["additionalProperties"], below, uncorrelated)
    for name, inner in tree.properties.items():
        yield from _causes(inner, schema["properties"][name], f"{path}.properties[{name}]", uncorrelated)
    if tree.items is not None:
        lost = uncorrelated if schema.get("x-kubernetes-list-type") == "map" else path
        yield from _causes(tree.items, schema["items"], f"{path}.items", lost)
    for index, rule in enumerate(tree.rules):
        entry, here = schema[_RULES][index], f"{path}.{_RULES}[{index}]"
        if rule.error:
            yield _invalid(f"{here}.rule", json_text(entry), rule.error)
        if rule.message_error:
            yield _invalid(f"{here}.messageExpression", json_text(entry), rule.message_error)
        if rule.uses_old and uncorrelated:
            why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
            yield _invalid(f"{here}.rule", shown(rule.text), why)
        elif not rule.uses_old and not rule.missing and entry.get("optionalOldSelf") is not None:
            why = "may not be set if oldSelf is not used in rule"
            yield _invalid(f"{here}.optionalOldSelf", shown(entry["optionalOldSelf"]), why)


def _invalid(field: str, value: str, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {value}: {why}", field)


def _places(tree: RuleTree, path: str) -> Iterator[tuple[str, RuleTree]]:
    yield path, tree
    for name, inner in tree.properties.items():
        yield from _places(inner, f"{path}.properties[{name}]")
    if tree.additional is not None:
        yield from _places(tree.additional, f"{path}.additionalProperties")
    if tree.items is not None:
        yield from _places(tree.items, f"{path}.items")
