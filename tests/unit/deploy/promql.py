"""As much of PromQL as the alerts use, over samples that a test makes up: whether and when an alert fires.

Selectors with `=` and `!=`, `rate`, `increase` and `deriv` over a window, `sum`, `max` and `min` by labels, division
and comparison with a number or, label by label, with another vector. Anything else is refused. What a window's samples
say is taken for the whole window: Prometheus extrapolates too, with more care for counters that have just begun.
"""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]

STEP_SECONDS = 15
"""Between two scrapes, and between two looks at a rule."""

STALE_SECONDS = 300
"""How long a series counts after its last sample."""

_TOKEN = re.compile(r"\s*(\d+(?:\.\d+)?[smh]?|[A-Za-z_]\w*|==|!=|>=|<=|\"[^\"]*\"|[-+*/(){}\[\],=<>])")
_UNITS = {"s": 1, "m": 60, "h": 3600}
_COMPARISONS = {">": operator.gt, "<": operator.lt, "==": operator.eq, "!=": operator.ne, ">=": operator.ge}
_AGGREGATIONS: dict[str, Callable[[list[float]], float]] = {"sum": sum, "max": max, "min": min}


@dataclass
class Samples:
    """What was scraped. at: by series, time in seconds and value, oldest first."""

    at: dict[Labels, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, seconds: float, name: str, value: float, /, **labels: str) -> None:
        self.at[frozenset({"__name__": name, **labels}.items())].append((seconds, value))


def seconds(text: str) -> int:
    return int(text[:-1]) * _UNITS[text[-1]]


def fires(expression: str, lasting: str, samples: Samples, until: float) -> dict[Labels, float]:
    """The alerts that fire at the end, by their labels, with the value. lasting: the rule's `for`, such as "10m"."""
    since: dict[Labels, float] = {}
    found: Vector = {}
    for now in range(0, int(until) + 1, STEP_SECONDS):
        found = evaluate(expression, samples, now)
        since = {labels: since.get(labels, now) for labels in found}
    return {labels: value for labels, value in found.items() if until - since[labels] >= seconds(lasting)}


def evaluate(expression: str, samples: Samples, now: float) -> Vector:
    """Raises ValueError for what is not understood."""
    parser = _Parser(expression, samples, now)
    found = parser.comparison()
    if parser.tokens or isinstance(found, float):
        raise ValueError(f"not understood: {expression}")
    return found


class _Parser:
    def __init__(self, expression: str, samples: Samples, now: float) -> None:
        self.tokens = _TOKEN.findall(expression)
        if "".join(self.tokens) != re.sub(r"\s", "", expression):
            raise ValueError(f"not understood: {expression}")
        self._samples = samples
        self._now = now

    def comparison(self) -> Vector | float:
        left = self._quotient()
        while self.tokens and self.tokens[0] in _COMPARISONS:
            holds, right = _COMPARISONS[self._next()], self._quotient()
            left = {key: a for key, (a, b) in _matched(left, right).items() if holds(a, b)}
        return left

    def _quotient(self) -> Vector | float:
        left = self._term()
        while self.tokens and self.tokens[0] == "/":
            self._next()
            pairs = _matched(left, self._term())
            left = {key: a / b if b else float("nan") for key, (a, b) in pairs.items()}
        return left

    def _term(self) -> Vector | float:
        token = self._next()
        if re.fullmatch(r"\d+(\.\d+)?", token):
            return float(token)
        if token in _AGGREGATIONS:
            return self._aggregated(_AGGREGATIONS[token])
        if self.tokens and self.tokens[0] == "(":
            return self._over_window(token)
        return {_without_name(key): held[-1][1] for key, held in self._selected(token, STALE_SECONDS).items()}

    def _aggregated(self, combine: Callable[[list[float]], float]) -> Vector:
        by: set[str] = set()
        if self.tokens[0] == "by":
            self._expect("by", "(")
            while (token := self._next()) != ")":
                by |= {token} - {","}
        self._expect("(")
        inner = self.comparison()
        self._expect(")")
        if isinstance(inner, float):
            raise ValueError("an aggregation of a number")
        groups: dict[Labels, list[float]] = defaultdict(list)
        for key, value in inner.items():
            groups[frozenset(pair for pair in key if pair[0] in by)].append(value)
        return {key: combine(values) for key, values in groups.items()}

    def _over_window(self, function: str) -> Vector:
        self._expect("(")
        name, at = self._next(), self.tokens.index("[")
        window = seconds(self.tokens[at + 1])
        held = self._selected(name, window)
        self._expect("[", self._next_of_window(), "]", ")")
        compute = {"rate": _rate, "increase": _increase, "deriv": _slope}[function]
        return {_without_name(key): compute(points, window) for key, points in held.items() if len(points) > 1}

    def _next_of_window(self) -> str:
        text: str = self.tokens[1]
        return text

    def _selected(self, name: str, window: float) -> dict[Labels, list[tuple[float, float]]]:
        wanted: list[tuple[str, str, str]] = []
        if self.tokens and self.tokens[0] == "{":
            self._next()
            while (token := self._next()) != "}":
                if token != ",":
                    wanted.append((token, self._next(), self._next().strip('"')))
        found = {}
        for key, points in self._samples.at.items():
            labels = dict(key)
            recent = [point for point in points if self._now - window <= point[0] <= self._now]
            if labels["__name__"] == name and recent and all(_agrees(labels, *each) for each in wanted):
                found[key] = recent
        return found

    def _next(self) -> str:
        token: str = self.tokens.pop(0)
        return token

    def _expect(self, *tokens: str) -> None:
        for token in tokens:
            if self._next() != token:
                raise ValueError(f"expected {token}")


def _agrees(labels: Mapping[str, str], name: str, how: str, value: str) -> bool:
    return (labels.get(name, "") == value) == {"=": True, "!=": False}[how]


def _without_name(key: Labels) -> Labels:
    return frozenset(pair for pair in key if pair[0] != "__name__")


def _matched(left: Vector | float, right: Vector | float) -> dict[Labels, tuple[float, float]]:
    if isinstance(left, float):
        raise ValueError("a number on the left")
    if isinstance(right, float):
        return {key: (value, right) for key, value in left.items()}
    return {key: (value, right[key]) for key, value in left.items() if key in right}


def _increase(points: list[tuple[float, float]], window: float) -> float:
    """A counter that goes down began again at zero."""
    grown = sum(b - a if b >= a else b for (_, a), (_, b) in pairwise(points))
    return float(grown * window / (points[-1][0] - points[0][0]))


def _rate(points: list[tuple[float, float]], window: float) -> float:
    return _increase(points, window) / window


def _slope(points: list[tuple[float, float]], window: float) -> float:
    """By least squares, a second."""
    middle, mean = (sum(column) / len(points) for column in zip(*points, strict=True))
    spread = sum((at - middle) ** 2 for at, _ in points)
    return float(sum((at - middle) * (value - mean) for at, value in points) / spread)
