"""JSON that a client sent, decoded with the complaints of Go's decoder. Pure."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from fleet.devcluster.decoding.syntax import syntax_fault

DEPTH_LIMIT = 200
"""Levels of nesting of a body. The real server reads 10,000; here every level costs several frames of Python's stack,
and what is stored must be read by all that follows."""

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
"""To the end of the text where it is not closed: looking at it again from the next quote on would take forever."""

_BRACKET = re.compile(rb"[\[\]{}]")


class JsonError(ValueError):
    """No JSON, or none that is taken. The text is Go's."""


def read_json(raw: bytes) -> Any:
    """The value. Raises JsonError."""
    check_depth(raw)
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise JsonError(syntax_fault(raw) or str(error)) from None


def check_depth(raw: bytes) -> None:
    """Raises JsonError for a text that is nested beyond DEPTH_LIMIT. Costs two scans where it has few brackets."""
    if raw.count(b"{") + raw.count(b"[") <= DEPTH_LIMIT:
        return
    depth = 0
    for found in _BRACKET.finditer(_STRING.sub(b"", raw)):
        bracket = found[0]
        depth += 1 if bracket in b"[{" else -1
        if depth > DEPTH_LIMIT:
            raise JsonError(f"invalid character '{bracket.decode()}' exceeded max depth")


def too_deep(value: Any) -> bool:
    """Whether a decoded value is nested beyond DEPTH_LIMIT."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEPTH_LIMIT):
        # By identity: YAML may name one value many times, and within itself.
        below = {id(each): each for container in level for each in _below(container)}
        level = list(below.values())
        if not level:
            return False
    return True


def _below(value: dict[str, Any] | list[Any]) -> list[Any]:
    items = value.values() if isinstance(value, dict) else value
    return [each for each in items if isinstance(each, dict | list)]
