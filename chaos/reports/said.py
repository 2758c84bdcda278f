"""Values in words: numbers, times, and what actions and probes answered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

LONGEST = 300
"""Characters of one answer. A journal has all of it."""


def said(value: Any) -> str:
    """JSON's values, for people."""
    if isinstance(value, dict):
        return shortened(", ".join(f"{_named(name)} {_said(each)}" for name, each in value.items()))
    return shortened(_said(value))


def shortened(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return f"({', '.join(f'{_named(name)}: {_said(each)}' for name, each in value.items())})" if value else "none"
    if isinstance(value, (list, tuple)):
        return listed(_said(each) for each in value) or "none"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "nothing"}[value]
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _named(name: object) -> str:
    return str(name).replace("_", " ")


def seconds(value: float | None) -> str:
    """As short as it can be and still be told from its neighbours: 0.4 ms, 52 ms, 1.24 s, 12.3 s, 3 min 20 s."""
    if value is None:
        return "\N{EN DASH}"
    size = abs(value)
    if size < 0.9995:
        thousandths = value * 1000
        return f"{thousandths:.1f} ms" if 0 < size < 0.00995 else f"{thousandths:.0f} ms"
    if size < 120:
        return f"{value:.2f} s" if size < 9.995 else f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


LONG_SECONDS = 600.0
"""From then on times are told in minutes."""


def at(value: float) -> str:
    """A place on the axis: `12.34 s`, `10:43.2`."""
    if abs(value) < LONG_SECONDS:
        return f"{value:.2f} s"
    minutes, rest = divmod(round(abs(value), 1), 60)
    return f"{'-' if value < 0 else ''}{minutes:.0f}:{rest:04.1f}"


def counted(number: int, one: str, many: str = "") -> str:
    """`1 key`, `2 keys`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def listed(parts: Iterable[str]) -> str:
    """`a, b and c`."""
    every = list(parts)
    return " and ".join(filter(None, [", ".join(every[:-1]), *every[-1:]]))


def times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def visible(text: str) -> str:
    """Characters that no page may show, and those that turn the order of a line around, as a mark."""
    return "".join("\N{REPLACEMENT CHARACTER}" if _hidden(each) else each for each in text)


def _hidden(character: str) -> bool:
    code = ord(character)
    control = (code < 0x20 and character not in "\t\n\r") or 0x7F <= code <= 0x9F
    turning = 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 or character in "\u200e\u200f"
    return control or turning or code in (0xFFFE, 0xFFFF) or 0xD800 <= code <= 0xDFFF
