"""HTML, so that no text of anybody can be anything but text."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import msgspec

from chaos.reports.said import visible


class Markup(str):
    """HTML that was made here."""

    __slots__ = ()


def text(value: str) -> Markup:
    """Somebody's text."""
    return Markup(escape(visible(value)))


def element(name: str, *inside: str, **attributes: str | int | float | bool | None) -> Markup:
    """inside: Markup as it is, other text escaped. attributes: `class_`, `data_a` and so on; None and False are left
    out."""
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    return Markup(f"<{name}{given}>{joined(inside)}</{name}>")


def joined(parts: Iterable[str]) -> Markup:
    """Markup as it is, other text escaped."""
    return Markup("".join(each if isinstance(each, Markup) else text(each) for each in parts))


def embedded_json(value: object) -> Markup:
    """For a script element of type application/json: nothing in it can end the element."""
    found = visible(msgspec.json.encode(value).decode())
    for character in "<>&\u2028\u2029":
        found = found.replace(character, f"\\u{ord(character):04x}")
    return Markup(found)


def _attribute(key: str, value: str | int | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(str(value))}"'
