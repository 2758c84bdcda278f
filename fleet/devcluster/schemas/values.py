"""JSON values in the words of Go: how the real server names their types and prints them in its messages. Pure."""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec

UNKNOWN: Final[Any] = object()
"""Of an old value that does not correlate with the new one."""

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_JSON_MOST, _EPSILON = float(2**53 - 1), 1e-9
_NAMES = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def type_name(value: Any) -> str:
    """The OpenAPI type: null, boolean, integer, number, string, array or object."""
    found = _NAMES.get(value.__class__, "object")
    return "number" if found == "integer" and not INT64_MIN <= value <= INT64_MAX else found


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON. For Python, 1 is true and 1.0."""
    if left is right:
        return True
    return bool(left == right) and (
        msgspec.json.encode(left, order="deterministic") == msgspec.json.encode(right, order="deterministic")
    )


def is_json_integer(value: float) -> bool:
    """Whether a float counts as a whole number: within the range that floats hold exactly, and as good as whole."""
    if not abs(value) <= _JSON_MOST:
        return False
    whole = float(int(value))
    distance = abs(value - whole)
    return not distance or (bool(whole) and distance / (value + whole) < _EPSILON)


def quoted(text: str) -> str:
    """Go's %q."""
    return '"' + "".join(_ESCAPES.get(each) or _printable(each) for each in text) + '"'


def _printable(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number_text(value: float) -> str:
    """Go's %v of an int64 or a float64."""
    if isinstance(value, int) and INT64_MIN <= value <= INT64_MAX:
        return str(value)
    value = float(value)
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    exponent = math.floor(math.log10(abs(value))) if value else 0
    if -4 <= exponent < 21:
        return str(int(value)) if value.is_integer() else repr(value) if "e" not in repr(value) else f"{value:f}"
    mantissa, _, power = repr(value).partition("e")
    if not power:
        mantissa, _, power = f"{value:e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
    sign, digits = power[0] if power[0] in "+-" else "+", power.lstrip("+-")
    return f"{mantissa.removesuffix('.0')}e{sign}{int(digits):02d}"


def json_text(value: Any) -> str:
    """Go's json.Marshal: keys in order, and the characters of HTML escaped."""
    text = msgspec.json.encode(value, order="deterministic").decode()
    return "".join(_HTML.get(each, each) for each in text) if any(each in text for each in _HTML) else text


def shown(value: Any) -> str:
    """A value as Go's field errors print it."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(value)
    return json_text(value)
