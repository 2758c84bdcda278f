"""Whole numbers in texts, as Go's strconv reads them. Pure.

Python's own int() takes more (spaces, underscores, digits of other scripts) and refuses texts of thousands of digits.
"""

from __future__ import annotations

import re

_SIGNED = re.compile(r"[+-]?[0-9]+")
_UNSIGNED = re.compile(r"[0-9]+")
_LONGEST = 20
"""Digits of the largest number of 64 bits."""

_INTEGER_LIMIT = 1 << 63
_UNSIGNED_LIMIT = 1 << 64
_NAMED = {'"': '\\"', "\\": "\\\\", **dict(zip("\a\b\f\n\r\t\v", (f"\\{each}" for each in "abfnrtv"), strict=True))}


class NumberError(ValueError):
    """The text is that of a strconv.NumError."""


def parse_int(text: str) -> int:
    """ParseInt(text, 10, 64). Raises NumberError."""
    value = _value(text, "ParseInt", _SIGNED)
    if value is None or not -_INTEGER_LIMIT <= value < _INTEGER_LIMIT:
        raise _fault("ParseInt", text, "value out of range")
    return value


def parse_uint(text: str) -> int:
    """ParseUint(text, 10, 64). Raises NumberError."""
    value = _value(text, "ParseUint", _UNSIGNED)
    if value is None or value >= _UNSIGNED_LIMIT:
        raise _fault("ParseUint", text, "value out of range")
    return value


def go_quoted(text: str) -> str:
    """strconv.Quote."""
    return '"' + "".join(_NAMED.get(each) or _printable(each) for each in text) + '"'


def _value(text: str, function: str, wanted: re.Pattern[str]) -> int | None:
    """None where the number is longer than any of 64 bits."""
    if not wanted.fullmatch(text):
        raise _fault(function, text, "invalid syntax")
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > _LONGEST:
        return None
    value = int(digits or "0")
    return -value if text.startswith("-") else value


def _fault(function: str, text: str, why: str) -> NumberError:
    return NumberError(f"strconv.{function}: parsing {go_quoted(text)}: {why}")


def _printable(sign: str) -> str:
    code = ord(sign)
    if sign.isprintable():
        return sign
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
