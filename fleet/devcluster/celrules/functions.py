"""Functions that Kubernetes adds to the language: lists and regular expressions. Pure.

After apiserver pkg/cel/library. Those that are missing here are named in `MISSING`: a rule that calls one is accepted,
as by the real server, but not evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from cel_expr_python import cel  # type: ignore[import-untyped]

from fleet.devcluster.schemas.patterns import compiled

_COMPARABLE: Final = ("INT", "UINT", "DOUBLE", "BOOL", "DURATION", "TIMESTAMP", "STRING", "BYTES")
_SUMMABLE: Final = ("INT", "UINT", "DOUBLE", "DURATION")
MISSING: Final = frozenset(
    (
        *("quantity", "isQuantity", "isLessThan", "isGreaterThan", "compareTo", "asInteger", "asApproximateFloat"),
        *("ip", "isIP", "cidr", "isCIDR", "containsIP", "containsCIDR", "prefixLength", "masked", "family"),
        *("url", "isURL", "getScheme", "getHost", "getHostname", "getPort", "getEscapedPath", "getQuery"),
        *("sets", "format", "semver", "isSemver", "major", "minor", "patch"),
        *("flatten", "slice", "distinct", "first", "last", "range", "lists", "sort", "sortBy", "reverse"),
        *("indexOf", "lastIndexOf"),
    )
)
_TWO_VARIABLES = re.compile(
    r"\.\s*(all|exists|existsOne|exists_one|transformList|transformMap|transformMapEntry)\(\s*\w+\s*,\s*\w+\s*,"
)
_UNDECLARED = re.compile(r"undeclared reference to '(\w+)'")
_NO_OVERLOAD = re.compile(r"found no matching overload for '(indexOf|lastIndexOf|reverse|format)' applied to '\(list\(")
_NUMBERS = re.compile(
    r"found no matching overload for '_[<>]=?_' applied to '\((int|uint|double), (int|uint|double)\)'"
)


def missing_function(rule: str, error: str) -> str:
    """The function that a rule needs and the real server has; "" when the rule is just wrong. error: of compiling."""
    two = _TWO_VARIABLES.search(rule)
    if two:
        return f"{two[1]} with two variables"
    undeclared = _UNDECLARED.findall(error)
    named = next((name for name in undeclared if name in MISSING), "")
    if named:
        return named
    lists = _NO_OVERLOAD.search(error)
    return lists[1] if lists else ""


def is_about_numbers(error: str) -> bool:
    """Whether all that is wrong is that numbers of several types are compared, which Kubernetes allows."""
    faults = [line for line in error.splitlines() if "ERROR: <" in line]
    return bool(faults) and all(_NUMBERS.search(line) for line in faults)


def checked_functions() -> list[cel.FunctionDecl]:
    """The declarations, with all their types."""
    string, integer, boolean = cel.Type.STRING, cel.Type.INT, cel.Type.BOOL
    return [
        _of_lists("isSorted", _COMPARABLE, boolean),
        _of_lists("sum", _SUMMABLE, None),
        _of_lists("min", _COMPARABLE, None),
        _of_lists("max", _COMPARABLE, None),
        _member("find", [string, string], string, _find),
        cel.FunctionDecl(
            "findAll",
            [
                cel.Overload("findAll_2", cel.Type.List(string), [string, string], is_member=True),
                cel.Overload("findAll_3", cel.Type.List(string), [string, string, integer], is_member=True),
            ],
        ),
    ]


def evaluated_functions() -> list[cel.FunctionDecl]:
    """The same without types, which have been checked, and with what they do."""
    anything, items, string = cel.Type.DYN, cel.Type.LIST, cel.Type.STRING
    return [
        _member("isSorted", [items], cel.Type.BOOL, _is_sorted),
        _member("sum", [items], anything, _sum),
        _member("min", [items], anything, lambda values: _extreme("min", values)),
        _member("max", [items], anything, lambda values: _extreme("max", values)),
        _member("find", [string, string], string, _find),
        cel.FunctionDecl(
            "findAll",
            [
                cel.Overload("findAll_2", items, [string, string], is_member=True, impl=_find_all),
                cel.Overload("findAll_3", items, [string, string, cel.Type.INT], is_member=True, impl=_find_all),
            ],
        ),
    ]


def _member(
    name: str, parameters: Sequence[cel.Type], answer: cel.Type, impl: Callable[..., Any] | None
) -> cel.FunctionDecl:
    return cel.FunctionDecl(name, [cel.Overload(f"{name}_own", answer, parameters, is_member=True, impl=impl)])


def _of_lists(name: str, kinds: Sequence[str], answer: cel.Type | None) -> cel.FunctionDecl:
    """answer: None for that of the elements."""
    overloads: list[cel.Overload] = []
    for kind in kinds:
        element: cel.Type = getattr(cel.Type, kind)
        identity = f"{name}_{kind.lower()}"
        overloads.append(cel.Overload(identity, answer or element, [cel.Type.List(element)], is_member=True))
    return cel.FunctionDecl(name, overloads)


def _is_sorted(values: Sequence[Any]) -> bool:
    return all(values[index] <= values[index + 1] for index in range(len(values) - 1))


def _sum(values: Sequence[Any]) -> Any:
    if not values:
        return 0
    total = values[0]
    for each in values[1:]:
        total = total + each
    return total


def _extreme(name: str, values: Sequence[Any]) -> Any:
    if not values:
        raise ValueError(f"{name} called on empty list")
    return (min if name == "min" else max)(values)


def _find(text: str, pattern: str) -> str:
    found = compiled(pattern).search(text)
    return str(found[0]) if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [str(each[0]) for each in compiled(pattern).finditer(text)]
    return found if limit < 0 else found[:limit]
