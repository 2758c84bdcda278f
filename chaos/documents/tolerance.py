"""What a probe of the hypothesis may answer. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Protocol

from chaos.documents.fields import Fields, shown
from shards.errors import ConfigError

_TYPES = ("range", "regex")
_TYPES_LATER = ("jsonpath", "probe")


class Tolerance(Protocol):
    """Its text completes the sentence "the answer must be"."""

    def met(self, answer: object) -> bool: ...


@dataclass(frozen=True, slots=True)
class Equal:
    """That value. true is not 1, and 1 is 1.0."""

    wanted: bool | int | float | str

    def met(self, answer: object) -> bool:
        return _same(answer, self.wanted)

    def __str__(self) -> str:
        return repr(self.wanted)


@dataclass(frozen=True, slots=True)
class Between:
    """A number within bounds, both allowed."""

    low: float
    high: float

    def met(self, answer: object) -> bool:
        return isinstance(answer, (int, float)) and _is_number(answer) and self.low <= answer <= self.high

    def __str__(self) -> str:
        return f"from {self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several values."""

    wanted: tuple[bool | int | float | str, ...]

    def met(self, answer: object) -> bool:
        return any(_same(answer, each) for each in self.wanted)

    def __str__(self) -> str:
        return " or ".join(repr(each) for each in self.wanted)


@dataclass(frozen=True, slots=True)
class Matches:
    """Text in which the pattern is found."""

    pattern: re.Pattern[str]

    def met(self, answer: object) -> bool:
        return isinstance(answer, str) and self.pattern.search(answer) is not None

    def __str__(self) -> str:
        return f"text that matches {self.pattern.pattern!r}"


def parse_tolerance(value: object, path: str) -> Tolerance:
    """From the file. Raises ConfigError.

    A value is that value; a list of two numbers are bounds; another list are alternatives; a mapping has a type.
    """
    if isinstance(value, (bool, int, float, str)):
        return Equal(value)
    if isinstance(value, list):
        return _from_list(value, path)
    if not isinstance(value, dict):
        raise ConfigError(
            path, f"{shown(value)} is no tolerance; write a value, [lowest, highest] or {{type: range, range: [0, 2]}}"
        )
    fields = Fields(value, path)
    if value.get("type") in _TYPES_LATER:
        raise ConfigError(fields.at("type"), f"{value['type']} is not supported yet; use {' or '.join(_TYPES)}")
    if fields.word("type", _TYPES) == "range":
        fields.known(("type", "range"), unsupported={"target": "let the probe return the number itself"})
        bounds = fields.value("range", "[lowest, highest]")
        if not isinstance(bounds, list) or len(bounds) != 2 or not all(_is_number(bound) for bound in bounds):
            raise ConfigError(fields.at("range"), f"{shown(bounds)} is not a pair of numbers; write [lowest, highest]")
        return _between(bounds[0], bounds[1], fields.at("range"))
    fields.known(("type", "pattern"), unsupported={"target": "let the probe return the text itself"})
    text = fields.text("pattern", "a regular expression")
    try:
        return Matches(re.compile(text))
    except re.error as error:
        raise ConfigError(fields.at("pattern"), f"{text!r} is no regular expression: {error}") from error


def _from_list(values: list[Any], path: str) -> Tolerance:
    if len(values) == 2 and all(_is_number(value) for value in values):
        return _between(values[0], values[1], path)
    if not values or not all(isinstance(value, (bool, int, float, str)) for value in values):
        raise ConfigError(path, f"{values!r} holds no alternatives; write [lowest, highest] or a list of values")
    return OneOf(tuple(values))


def _between(low: float, high: float, path: str) -> Between:
    if low > high:
        raise ConfigError(path, f"{low:g} is above {high:g}, so that no answer would do; write the lower number first")
    return Between(low, high)


def _same(answer: object, wanted: object) -> bool:
    return isinstance(answer, bool) == isinstance(wanted, bool) and answer == wanted


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)
