"""Scalars as Go's decoder takes them: strings, numbers, times, quantities and bytes, each with its complaint. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, Protocol


class Refused(ValueError):
    """The decoder stops at once. The text is that of the real server."""


class Complaints(Protocol):
    def wrong(self, value: Any, struct: str, wanted: str, shown: str = "") -> None:
        """Remembers a value of the wrong type."""


Scalar = Callable[[Any, Complaints, str, str], None]

_QUANTITY = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[EPTGMkmun]|[EPTGMK]i|[eE][+-]?\d+)?", re.ASCII)
_QUANTITY_FAULT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)
_ZONE = re.compile(r"Z|[+-]\d\d:\d\d", re.ASCII)
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_TIME_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
_STEPS = (
    (re.compile(r"\d{4}"), "2006"),
    (re.compile("-"), "-"),
    (re.compile(r"\d\d"), "01"),
    (re.compile("-"), "-"),
    (re.compile(r"\d\d"), "02"),
    (re.compile("T"), "T"),
    (re.compile(r"\d\d"), "15"),
    (re.compile(":"), ":"),
    (re.compile(r"\d\d"), "04"),
    (re.compile(":"), ":"),
    (re.compile(r"\d\d"), "05"),
)


def go_kind(value: Any) -> str:
    """How Go's decoder calls a JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else "null"


def _string(value: Any, found: Complaints, struct: str, text: str) -> None:
    if not isinstance(value, str):
        found.wrong(value, struct, text or "string")


def _boolean(value: Any, found: Complaints, struct: str, text: str) -> None:
    if not isinstance(value, bool):
        found.wrong(value, struct, "bool")


def _number(value: Any, found: Complaints, struct: str, text: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        found.wrong(value, struct, "float64")


def _integer(bits: int) -> Scalar:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def check(value: Any, found: Complaints, struct: str, text: str) -> None:
        if value.__class__ is int:
            if not low <= value <= high:
                found.wrong(value, struct, f"int{bits}", f"number {value}")
        elif isinstance(value, float):
            found.wrong(value, struct, f"int{bits}", f"number {value!r}")
        else:
            found.wrong(value, struct, f"int{bits}")

    return check


def _int_or_string(value: Any, found: Complaints, struct: str, text: str) -> None:
    if not isinstance(value, str):
        _integer(32)(value, found, struct, text)


def _quantity(value: Any, found: Complaints, struct: str, text: str) -> None:
    shown = value if isinstance(value, str) else "" if isinstance(value, bool | list | dict) else repr(value)
    if not _QUANTITY.fullmatch(shown.strip()):
        raise Refused(_QUANTITY_FAULT)


def _bytes(value: Any, found: Complaints, struct: str, text: str) -> None:
    if not isinstance(value, str):
        found.wrong(value, struct, "[]uint8")
        return
    at = _base64_fault(value.replace("\n", "").replace("\r", ""))
    if at is not None:
        raise Refused(f"illegal base64 data at input byte {at}")


def _base64_fault(text: str) -> int | None:
    """The byte at which Go's decoder gives up."""
    for index, char in enumerate(text):
        if char in _BASE64:
            continue
        place = index % 4
        if char != "=" or place < 2:
            return index
        if place == 3:
            return index + 1 if len(text) > index + 1 else None
        if len(text) == index + 1:
            return len(text)
        if text[index + 1] != "=":
            return index + 1
        return index + 2 if len(text) > index + 2 else None
    return len(text) - len(text) % 4 if len(text) % 4 else None


def _time(value: Any, found: Complaints, struct: str, text: str) -> None:
    _check_time(value, found, struct, micro=False)


def _micro_time(value: Any, found: Complaints, struct: str, text: str) -> None:
    _check_time(value, found, struct, micro=True)


def _check_time(value: Any, found: Complaints, struct: str, *, micro: bool) -> None:
    if not isinstance(value, str):
        found.wrong(value, struct, "string")
        return
    head = _SECONDS.match(value)
    if head and micro:
        rest = value[head.end() :]
        if not re.match(r"\.\d{6}(?!\d)", rest, re.ASCII):
            raise Refused(_time_fault(value, _MICRO_LAYOUT, rest, ".000000"))
        zone = rest[7:]
    elif head:
        zone = re.sub(r"^[.,]\d+", "", value[head.end() :], flags=re.ASCII)
    else:
        layout = _MICRO_LAYOUT if micro else _TIME_LAYOUT
        rest, step = _first_fault(value)
        raise Refused(_time_fault(value, layout, rest, step))
    if not _ZONE.fullmatch(zone):
        raise Refused(_time_fault(value, _MICRO_LAYOUT if micro else _TIME_LAYOUT, zone, "Z07:00"))


def _first_fault(value: str) -> tuple[str, str]:
    """Where Go's parser gives up, and the part of the layout that it wants there."""
    at = 0
    for pattern, step in _STEPS:
        found = pattern.match(value, at)
        if not found:
            return value[at:], step
        at = found.end()
    return value[at:], "Z07:00"


def _time_fault(value: str, layout: str, rest: str, step: str) -> str:
    return f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "{step}"'


SCALARS: Final[dict[str, Scalar]] = {
    "string": _string,
    "bool": _boolean,
    "float64": _number,
    "int32": _integer(32),
    "int64": _integer(64),
    "intorstring": _int_or_string,
    "quantity": _quantity,
    "bytes": _bytes,
    "time": _time,
    "microtime": _micro_time,
}
