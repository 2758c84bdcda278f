"""The `shardSelector` parameter of KEP-5866: grammar, errors and evaluation.

    selector := call ( "||" call )*       with parentheses anywhere around either
    call     := shardRange( FIELD , 'START' , 'END' )

FIELD is object.metadata.uid or object.metadata.namespace. START and END are 0x and sixteen lower-case hex digits;
only 2^64 has seventeen. The range is half open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from shards.keyrange import fnv1a64
from shards.objects import Meta

FIELDS = ("object.metadata.uid", "object.metadata.namespace")

_hash = lru_cache(maxsize=65_536)(fnv1a64)
_TOKEN = re.compile(r"\s*(\|\||&&|[()!,<>=+\-*/]|[A-Za-z_][\w.]*|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\d\w*)")


class ShardSelectorError(ValueError):
    """A selector that the server refuses; the text is its message."""


@dataclass(frozen=True, slots=True)
class ShardSelector:
    """Ranges of hashes of one field; an object is admitted when one of them holds it."""

    field: str
    ranges: tuple[tuple[int, int], ...]

    def admits(self, meta: Meta) -> bool:
        value = _hash(meta.uid if self.field == FIELDS[0] else meta.namespace)
        return any(first <= value < end for first, end in self.ranges)

    def __str__(self) -> str:
        """The canonical form, as `metadata.shardInfo` echoes it."""
        return " || ".join(f"shardRange({self.field}, '0x{first:016x}', '0x{end:016x}')" for first, end in self.ranges)


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise ShardSelectorError(
                    f"CEL parse error: Syntax error: token recognition error at: '{text[position:]}'"
                )
            self.tokens.append(match.group(1))
            position = match.end()
        self.position = 0

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.position += 1
        return token

    def expect(self, wanted: str) -> None:
        token = self.take()
        if token != wanted:
            shown = token or "<EOF>"
            raise ShardSelectorError(f"CEL parse error: Syntax error: mismatched input '{shown}' expecting '{wanted}'")

    def disjunction(self) -> list[tuple[str, int, int]]:
        found = self.operand()
        while self.peek() == "||":
            self.take()
            found += self.operand()
        if self.peek() == "&&":
            raise ShardSelectorError('unsupported function "_&&_"; only shardRange() and || are allowed')
        return found

    def operand(self) -> list[tuple[str, int, int]]:
        if self.peek() == "(":
            self.take()
            found = self.disjunction()
            self.expect(")")
            return found
        if self.peek() == "!":
            raise ShardSelectorError('unsupported function "!_"; only shardRange() and || are allowed')
        name = self.take()
        if self.peek() != "(":
            raise ShardSelectorError(
                f"unexpected expression kind {_expression_kind(name)}; expected shardRange() call or || operator"
            )
        if name != "shardRange":
            raise ShardSelectorError(f'unsupported function "{name}"; only shardRange() and || are allowed')
        return [_range_call(self.arguments())]

    def arguments(self) -> list[str]:
        self.expect("(")
        found: list[str] = []
        while self.peek() not in (")", ""):
            found.append(self.take())
            if self.peek() == ",":
                self.take()
            elif self.peek() != ")":
                break
        self.expect(")")
        return found


def _expression_kind(token: str) -> int:
    """The number by which cel-go prints the kind of a lone expression."""
    if token[:1] in "'\"0123456789" or token in ("true", "false", "null"):
        return 5
    return 7 if "." in token else 3


def _range_call(arguments: list[str]) -> tuple[str, int, int]:
    if len(arguments) != 3:
        raise ShardSelectorError(f"shardRange() requires exactly 3 arguments, got {len(arguments)}")
    field, first, end = arguments
    if field[:1] in "'\"0123456789":
        raise ShardSelectorError(
            "shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind "
            f"{_expression_kind(field)}"
        )
    if field not in FIELDS:
        raise ShardSelectorError(
            f'unsupported field path "{field}"; supported: object.metadata.uid, object.metadata.namespace'
        )
    low, high = _bound(first, "hexStart"), _bound(end, "hexEnd")
    if low >= high:
        raise ShardSelectorError(f"shard range start 0x{low:016x} must be less than end 0x{high:016x}")
    return field, low, high


def _bound(token: str, name: str) -> int:
    if token[:1] not in "'\"":
        if token[:1].isdigit():
            raise ShardSelectorError(f"{name} must be a string literal, got int64")
        kind = _expression_kind(token)
        raise ShardSelectorError(f"{name} must be a string literal (e.g. '0xff'), got expression kind {kind}")
    text = token[1:-1]
    if not text.startswith("0x"):
        raise ShardSelectorError(f"{name} must have '0x' prefix, got \"{text}\"")
    digits = text[2:]
    if not digits:
        raise ShardSelectorError(f"{name}: hex value is required after '0x'")
    if len(digits) > 17:
        raise ShardSelectorError(f'{name}: hex value too long ({len(digits)} chars, max 17): "{digits}"')
    for digit in digits:
        if digit not in "0123456789abcdef":
            raise ShardSelectorError(f'{name}: invalid hex character "{digit}" in "{text}"')
    if len(digits) == 17 and text != "0x10000000000000000":
        raise ShardSelectorError(f"{name}: 17-digit hex value must be '0x10000000000000000' (2^64), got \"{text}\"")
    if len(digits) < 16:
        raise ShardSelectorError(
            f'{name} must be a 0x-prefixed 16-digit hex value, got "{text}" (did you mean "0x{digits.zfill(16)}"?)'
        )
    return int(digits, 16)


def parse_shard_selector(text: str) -> ShardSelector:
    """Raises ShardSelectorError."""
    stripped = text.strip()
    if not stripped:
        raise ShardSelectorError("empty shard selector is not allowed; omit the parameter for unfiltered lists")
    parser = _Parser(stripped)
    found = parser.disjunction()
    if parser.peek():
        raise ShardSelectorError(f"CEL parse error: Syntax error: extraneous input '{parser.peek()}' expecting <EOF>")
    for field, _, _ in found[1:]:
        if field != found[0][0]:
            raise ShardSelectorError(f'all shard ranges must use the same field, got "{found[0][0]}" and "{field}"')
    return ShardSelector(found[0][0], tuple((low, high) for _, low, high in found))
