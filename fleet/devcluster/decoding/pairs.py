"""Duplicate fields of a JSON text. Pure.

A decoder drops them without a word, so a second look is taken where the text has more quotes than what was decoded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

_QUOTE: Final = rb"\u0022"
"""A quote inside a text whose own quotes it does not add to."""


class Pairs(dict[str, Any]):
    """An object that names a field twice; as a dict it has the last values. entries: all of them, in order."""

    __slots__ = ("entries",)

    def __init__(self, entries: list[tuple[str, Any]]) -> None:
        super().__init__(entries)
        self.entries = entries


def is_whole(raw: bytes, decoded: Any) -> bool:
    """Whether no field of the text got lost in decoding. False also where that is hard to tell."""
    return _QUOTE not in raw and raw.count(b'"') == msgspec.json.encode(decoded).count(b'"')


def with_pairs(raw: bytes, decoded: Any) -> Any:
    """The decoded text again, with Pairs where a field is named twice; `decoded` itself where none is."""
    if is_whole(raw, decoded):
        return decoded
    repeats = False

    def hook(entries: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeats
        plain = dict(entries)
        if len(plain) == len(entries):
            return plain
        repeats = True
        return Pairs(entries)

    again = json.loads(raw, object_pairs_hook=hook)
    return again if repeats else decoded


def duplicate_paths(value: Any, path: str = "") -> Iterator[str]:
    """Of a value without a type: the paths of repeated fields, in the order of the text."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from duplicate_paths(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        seen: set[str] = set()
        for name, item in value.entries if isinstance(value, Pairs) else value.items():
            below = f"{path}.{name}" if path else name
            if name in seen:
                yield below
            seen.add(name)
            yield from duplicate_paths(item, below)
