"""The door to validation rules: what they need is loaded only for a definition that has some.

The library (cel-expr-python) is optional: without it rules are accepted and not evaluated, and definitions say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from fleet.devcluster.causes import Cause

if TYPE_CHECKING:
    from fleet.devcluster.celrules.tree import RuleTree

RULES: Final = "x-kubernetes-validations"
_VALUES: Final = ("default", "enum", "example")


def has_rules(schema: Any) -> bool:
    """Whether a schema has rules anywhere."""
    if isinstance(schema, Mapping):
        return bool(schema.get(RULES)) or any(has_rules(each) for name, each in schema.items() if name not in _VALUES)
    return isinstance(schema, list) and any(has_rules(each) for each in schema)


def rules_of(root: Mapping[str, Any]) -> RuleTree | None:
    """The rules of a whole object's schema; None where there are none, or no library to evaluate them."""
    if not has_rules(root):
        return None
    try:
        from fleet.devcluster.celrules.tree import rule_tree
    except ImportError:
        return None
    return rule_tree(root)


def rule_causes(root: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """What is wrong with the rules of a schema that is otherwise valid. path: of the schema."""
    if has_rules(root):
        try:
            from fleet.devcluster.celrules import definitions
        except ImportError:
            return
        yield from definitions.rule_causes(root, path)


def rule_warnings(root: Mapping[str, Any], path: str) -> Iterator[str]:
    """Which rules are accepted, as by the real server, and not evaluated."""
    if not has_rules(root):
        return
    try:
        from fleet.devcluster.celrules.definitions import unevaluated
    except ImportError:
        yield f"{path}: validation rules are not evaluated by this server: cel-expr-python is not installed"
        return
    for place, missing in unevaluated(root, path):
        yield f"{place}: not evaluated by this server, which lacks {missing}"
