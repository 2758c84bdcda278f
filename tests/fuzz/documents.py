"""Changes of JSON documents that leave them JSON, so that what stands behind a decoder sees them too."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**53 + 1,
    2**63,
    -(2**63) - 1,
    1e308,
    5e-324,
    -0.0,
    0.5,
    "",
    " ",
    "a",
    "0",
    "-1",
    "007",
    "1e3",
    "99999999999999999999",
    "ffffffffffffffff",
    "0000000000000000-ffffffffffffffff",
    "2026-01-01T00:00:00.000000Z",
    "2026-13-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "\u0000",
    "\ud7ff\uffff",
    "größe🚀",
    "\ud800",
    float("nan"),
    10**400,
    "a.b/c",
    "x" * 300,
    [],
    {},
    [None],
    [[]],
    {"": None},
    {"a": {"b": []}},
)
"""Values that readers stumble over."""

Place = tuple[Any, Any]
"""A mapping or list, and where in it."""


def rearranged(rng: random.Random, data: bytes, others: tuple[bytes, ...]) -> bytes | None:
    """The document after one to four changes; None where the input is no JSON object or list."""
    document = _read(data)
    if not isinstance(document, dict | list):
        return None
    for _ in range(rng.choice((1, 1, 2, 4))):
        _change(rng, document, others)
    return json.dumps(document).encode()


def _read(data: bytes) -> Any:
    """None where it is no JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _change(rng: random.Random, document: Any, others: tuple[bytes, ...]) -> None:
    places = list(_places(document))
    if not places:
        return
    holder, at = rng.choice(places)
    match rng.randrange(7):
        case 0 | 1:
            holder[at] = _copied(rng.choice(ODD))
        case 2:
            del holder[at]
        case 3:
            holder[at] = _near(rng, holder[at])
        case 4:
            other, there = rng.choice(places)
            holder[at] = _copied(other[there])
        case 5:
            holder[at] = _part_of(rng, rng.choice(others)) if others else None
        case _:
            _again(rng, holder, at)


def _places(node: Any) -> Iterator[Place]:
    """Every place of a value, the outermost first."""
    waiting = [node]
    while waiting:
        holder = waiting.pop()
        for at in holder if isinstance(holder, dict) else range(len(holder)):
            yield holder, at
            if isinstance(holder[at], dict | list):
                waiting.append(holder[at])


def _near(rng: random.Random, value: Any) -> Any:
    """A value of the same kind."""
    match value:
        case bool():
            return not value
        case int() | float():
            return rng.choice((-value, value + 1, value - 1, value * 1000, str(value), [value]))
        case str() if value:
            at = rng.randrange(len(value))
            other = chr(rng.choice((0, 9, 45, 48, 57, 65, 102, 0x663)))
            changed = value[:at] + other + value[at + 1 :]
            return rng.choice((changed, changed, value[:at], value[at:], value * 2, value.upper(), f" {value}"))
        case dict() | list():
            return rng.choice((list(value), [value], {"a": value}, [*value, *value]))
        case _:
            return _copied(rng.choice(ODD))


def _copied(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _part_of(rng: random.Random, other: bytes) -> Any:
    found = _read(other)
    places = list(_places(found)) if isinstance(found, dict | list) else []
    holder, at = rng.choice(places) if places else ((None,), 0)
    return holder[at]


def _again(rng: random.Random, holder: Any, at: Any) -> None:
    """Under another name, or at the end, as well."""
    if isinstance(holder, dict):
        holder[rng.choice((f"{at}s", at.upper(), at[:-1], "", "\u0000"))] = _copied(holder[at])
    else:
        holder.extend(_copied(holder[at]) for _ in range(rng.choice((1, 2, 40))))
