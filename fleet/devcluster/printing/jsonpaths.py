"""The part of Kubernetes JSONPath that printer columns use. Pure.

Fields, quoted fields, indices, `*` and filters that compare one field with a constant:
`.status.conditions[?(@.type=="Ready")].status`. Recursion, slices and unions are left out: they parse to None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Step = Callable[[Any], Iterator[Any]]

_PART = re.compile(
    r"""\.(?P<field>(?:\\.|[^.\[\]\\])+)
      | \[(?P<index>-?\d+)\]
      | \[(?P<all>\*)\]
      | \['(?P<quoted>(?:\\.|[^'])+)'\]
      | \[\?\(@\.(?P<path>[\w.\-/]+)\s*(?P<sign>==|!=)\s*(?P<value>"[^"]*"|'[^']*'|true|false|-?[\d.]+)\)\]""",
    re.VERBOSE,
)


def compiled_path(text: str) -> tuple[Step, ...] | None:
    """The steps of a path that begins with a dot; None where it is not understood."""
    steps, position = [], 0
    while position < len(text):
        match = _PART.match(text, position)
        if match is None:
            return None
        steps.append(_step(match))
        position = match.end()
    return tuple(steps)


def first_result(steps: Iterable[Step], value: Any) -> tuple[Any, ...]:
    """(value,) of the first thing that a path finds, () for nothing."""
    found: Iterable[Any] = (value,)
    for step in steps:
        found = [result for each in found for result in step(each)]
    return tuple(found)[:1]


def _step(match: re.Match[str]) -> Step:
    if match["all"]:
        return _everything
    if match["index"]:
        return _indexed(int(match["index"]))
    if match["path"]:
        return _filtered(match["path"].split("."), match["value"].strip("\"'"), equal=match["sign"] == "==")
    return _field(re.sub(r"\\(.)", r"\1", match["field"] or match["quoted"]))


def _field(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return _everything if name == "*" else step


def _indexed(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _everything(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()


def _filtered(path: list[str], constant: str, *, equal: bool) -> Step:
    def step(value: Any) -> Iterator[Any]:
        for each in value if isinstance(value, list) else ():
            found = each
            for name in path:
                found = found.get(name) if isinstance(found, dict) else None
            if found is not None and (_plain(found) == constant) is equal:
                yield each

    return step


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
