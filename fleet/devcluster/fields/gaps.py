"""Nulls that an apply leaves where it took the last field away.

The real server does not read the result of an apply as it reads a request, so these nulls reach the validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def gaps_of(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of null fields of objects; items of lists are not looked into."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if inner is None:
                yield (*path, name)
            elif isinstance(inner, dict):
                yield from gaps_of(inner, (*path, name))


def reopen(body: dict[str, Any], gaps: list[tuple[str, ...]]) -> None:
    """Puts the nulls back that reading has dropped, in place."""
    for *path, name in gaps:
        place: Any = body
        for each in path:
            place = place.get(each) if isinstance(place, dict) else None
        if isinstance(place, dict):
            place.setdefault(name, None)
