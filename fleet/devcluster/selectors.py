"""Label and field selectors, and the filter that list and watch apply to metadata."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fleet.devcluster.shardselector import ShardSelector
from fleet.devcluster.storage import Stored
from shards.objects import Meta

LabelTest = Callable[[Mapping[str, str]], bool]

_TOKEN = re.compile(r"\s*(?:(==|!=|=|,|\(|\)|!|<|>)|([^\s,()=!<>]+))")
_VALUE = re.compile(r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$")
_NAME = re.compile(r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")


_NO_IDENTIFIER = ("=", "==", "!=", ",", "(", ")", "<", ">")


class SelectorError(ValueError):
    """A selector that cannot be parsed; the text is the server's message."""


class _Tokens:
    def __init__(self, text: str) -> None:
        self.text = text
        self.items = self._split(text)
        self.position = 0

    @staticmethod
    def _split(text: str) -> list[str]:
        items, position = [], 0
        stripped = text.rstrip()
        while position < len(stripped):
            match = _TOKEN.match(stripped, position)
            if match is None:
                raise SelectorError(f"unable to parse requirement: found {stripped[position:]!r}")
            items.append(match.group(1) or match.group(2))
            position = match.end()
        return items

    def peek(self) -> str:
        return self.items[self.position] if self.position < len(self.items) else ""

    def next(self) -> str:
        token = self.peek()
        self.position += 1
        return token

    def expect(self, wanted: str) -> None:
        token = self.next()
        if token != wanted:
            raise SelectorError(f"unable to parse requirement: found '{token}' expected: '{wanted}'")


def _check_key(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    if not _NAME.match(name) or (slash and not prefix):
        raise SelectorError(
            f'unable to parse requirement: <nil>: Invalid value: "{key}": name part must consist of alphanumeric '
            "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
            "'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        )
    return key


def _check_value(key: str, value: str) -> str:
    if len(value) > 63 or not _VALUE.match(value):
        raise SelectorError(
            f'unable to parse requirement: values[0][{key}]: Invalid value: "{value}": a valid label must be an empty '
            "string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        )
    return value


def _values(tokens: _Tokens, key: str) -> frozenset[str]:
    tokens.expect("(")
    values = []
    while True:
        token = tokens.next()
        if token == ")":
            values.append("")
            break
        if token == ",":
            values.append("")
            continue
        values.append(_check_value(key, token))
        token = tokens.next()
        if token == ")":
            break
        if token != ",":
            raise SelectorError(f"unable to parse requirement: found '{token}', expected: ',' or ')'")
    return frozenset(values)


def _requirement(tokens: _Tokens) -> LabelTest:
    if tokens.peek() == "!":
        tokens.next()
        absent = _check_key(tokens.next())
        return lambda labels: absent not in labels
    key = _check_key(tokens.next())
    operator = tokens.peek()
    if operator in ("", ","):
        return lambda labels: key in labels
    tokens.next()
    if operator in ("=", "==", "!="):
        value = "" if tokens.peek() in ("", ",") else _check_value(key, tokens.next())
        if operator == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if operator == "in":
        wanted = _values(tokens, key)
        return lambda labels: labels.get(key) in wanted
    if operator == "notin":
        unwanted = _values(tokens, key)
        return lambda labels: labels.get(key) not in unwanted
    if operator in ("<", ">"):
        return _compared(key, operator, tokens.next())
    raise SelectorError(f"unable to parse requirement: found '{operator}', expected: in, notin, =, ==, !=, gt, lt")


def _compared(key: str, operator: str, text: str) -> LabelTest:
    try:
        bound = int(text)
    except ValueError:
        raise SelectorError(
            f"unable to parse requirement: values[0]: Invalid value: \"{text}\": for 'Gt', 'Lt' operators, "
            "the value must be an integer"
        ) from None

    def test(labels: Mapping[str, str]) -> bool:
        value = labels.get(key, "")
        if not value.lstrip("-").isdigit():
            return False
        return int(value) < bound if operator == "<" else int(value) > bound

    return test


def parse_labels(text: str) -> tuple[LabelTest, ...]:
    """Tests that all must hold; none for an empty selector. Raises SelectorError."""
    tokens = _Tokens(text)
    tests: list[LabelTest] = []
    while tokens.peek():
        if tokens.peek() in _NO_IDENTIFIER:
            raise SelectorError(f"found '{tokens.peek()}', expected: !, identifier, or 'end of string'")
        tests.append(_requirement(tokens))
        token = tokens.next()
        if token and token != ",":
            raise SelectorError(f"found '{token}', expected: ',' or 'end of string'")
        if token and not tokens.peek():
            raise SelectorError("found '', expected: identifier after ','")
    return tuple(tests)


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """path=value, or path!=value when negated."""

    path: str
    value: str
    negated: bool = False


def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """Raises SelectorError."""
    terms = []
    for part in text.split(","):
        if not part:
            continue
        for sign in ("!=", "==", "="):
            path, found, value = part.partition(sign)
            if found:
                terms.append(FieldTerm(path, value, sign == "!="))
                break
        else:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
    return tuple(terms)


def field_value(body: Mapping[str, Any], path: str) -> str:
    """The value at a dotted path as text, "" where there is none."""
    value: Any = body
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return "" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Filter:
    """What a list or watch selects. Decided on metadata; only fields outside metadata make it decode the object."""

    namespace: str = ""
    labels: tuple[LabelTest, ...] = ()
    fields: tuple[FieldTerm, ...] = ()
    shard: ShardSelector | None = None

    @property
    def everything(self) -> bool:
        """Whether it selects by namespace at most."""
        return not (self.labels or self.fields or self.shard)

    @property
    def prefix(self) -> str:
        """How the keys of everything that it can select begin."""
        return f"{self.namespace}/" if self.namespace else ""

    def named(self, name: str) -> Filter:
        """The same for one object: the watch of a single name."""
        return replace(self, fields=(*self.fields, FieldTerm("metadata.name", name)))

    def admits(self, stored: Stored) -> bool:
        meta = stored.meta
        if self.namespace and meta.namespace != self.namespace:
            return False
        if self.shard is not None and not self.shard.admits(meta):
            return False
        if self.labels:
            labels = meta.labels or {}
            if not all(test(labels) for test in self.labels):
                return False
        return all(self._field_holds(term, stored, meta) for term in self.fields)

    @staticmethod
    def _field_holds(term: FieldTerm, stored: Stored, meta: Meta) -> bool:
        if term.path == "metadata.name":
            value = meta.name
        elif term.path == "metadata.namespace":
            value = meta.namespace
        else:
            value = field_value(stored.decode(), term.path)
        return (value == term.value) is not term.negated
