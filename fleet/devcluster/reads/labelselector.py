"""Label selectors: the grammar and the refusals of the real server (apimachinery pkg/labels/selector.go).

selector    := requirement ( "," requirement )*
requirement := [ "!" ] KEY | KEY ( "=" | "==" | "!=" | "<" | ">" ) VALUE | KEY ( "in" | "notin" ) "(" VALUES ")"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from fleet.devcluster.schemas.names import subdomain_faults
from fleet.devcluster.wire.gonumbers import NumberError, go_quoted, parse_int

LabelTest = Callable[[Mapping[str, str]], bool]

_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=,()!<>])|([^ \t\r\n,()=!<>]+))")
_SPECIAL = frozenset(("==", "!=", "=", ",", "(", ")", "!", "<", ">", ""))
_OPERATORS = ("in", "notin", "=", "==", "!=", "<", ">")
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LENGTH_LIMIT = 63
_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_PREFIX_RULE = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


class SelectorError(ValueError):
    """A selector that cannot be parsed; the text is the server's message."""


def parse_labels(text: str) -> tuple[LabelTest, ...]:
    """Tests that all must hold; none for an empty selector. Raises SelectorError."""
    return tuple(_Parser(text).requirements()) if text else ()


class _Parser:
    """tokens: those of the text, then "" for its end."""

    def __init__(self, text: str) -> None:
        self._tokens = [special or word for special, word in _TOKEN.findall(text)]
        self._position = 0

    def requirements(self) -> Iterator[LabelTest]:
        while self._peek():
            if not _begins_requirement(self._peek()):
                raise SelectorError(f"found '{self._peek()}', expected: !, identifier, or 'end of string'")
            try:
                yield self._requirement()
            except _RequirementError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            token = self._next()
            if token == "," and not _begins_requirement(self._peek()):
                raise SelectorError(f"found '{self._peek()}', expected: identifier after ','")
            if token not in ("", ","):
                raise SelectorError(f"found '{token}', expected: ',' or 'end of string'")

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._position += 1
        return token

    def _requirement(self) -> LabelTest:
        token = self._next()
        negated = token == "!"
        key = self._next() if negated else token
        if key in _SPECIAL:
            raise _RequirementError(f"found '{key}', expected: identifier")
        _check_key(key)
        if negated:
            return lambda labels: key not in labels
        if self._peek() in ("", ","):
            return lambda labels: key in labels
        operator = self._next()
        if operator not in _OPERATORS:
            raise _RequirementError(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")
        if operator in ("in", "notin"):
            return _contained(key, operator, self._values())
        value = self._value()
        return _compared(key, operator, value) if operator in ("<", ">") else _equal(key, operator, value)

    def _value(self) -> str:
        if self._peek() in ("", ","):
            return ""
        token = self._next()
        if token in _SPECIAL:
            raise _RequirementError(f"found '{token}', expected: identifier")
        return token

    def _values(self) -> frozenset[str]:
        token = self._next()
        if token != "(":
            raise _RequirementError(f"found '{token}' expected: '('")
        token = self._peek()
        if token == ")":
            self._next()
            return frozenset(("",))
        if token in _SPECIAL and token != ",":
            raise _RequirementError(f"found '{token}', expected: ',', ')' or identifier")
        return self._listed()

    def _listed(self) -> frozenset[str]:
        """Values with commas between them, any of which may be missing, and the closing parenthesis."""
        found: set[str] = set()
        while True:
            token = self._next()
            if token not in _SPECIAL:
                found.add(token)
                if self._peek() not in (",", ")"):
                    raise _RequirementError(f"found '{self._peek()}', expected: ',' or ')'")
            elif token == ",":
                if not found or self._peek() in (",", ")"):
                    found.add("")
            else:
                raise _RequirementError(f"found '{token}', expected: ',', or identifier")
            if self._peek() == ")":
                self._next()
                return frozenset(found)


class _RequirementError(ValueError):
    """One requirement is wrong."""


def _begins_requirement(token: str) -> bool:
    return token == "!" or token not in _SPECIAL


def _check_key(key: str) -> None:
    parts = key.split("/")
    if len(parts) > 2:
        hint = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        raise _invalid("<nil>", key, [f"a valid label key {_NAME_RULE}{hint}"])
    wrong = []
    if len(parts) == 2 and not parts[0]:
        wrong.append("prefix part must be non-empty")
    elif len(parts) == 2:
        if len(parts[0]) > 253:
            wrong.append("prefix part must be no more than 253 bytes")
        if subdomain_faults(parts[0][:253]):
            wrong.append(_PREFIX_RULE)
    name = parts[-1]
    if not name:
        wrong.append("name part must be non-empty")
    elif len(name.encode()) > _LENGTH_LIMIT:
        wrong.append(f"name part must be no more than {_LENGTH_LIMIT} bytes")
    if not _NAME.fullmatch(name):
        wrong.append(f"name part {_NAME_RULE}")
    if wrong:
        raise _invalid("<nil>", key, wrong)


def _value_faults(key: str, values: frozenset[str]) -> Iterator[_RequirementError]:
    for index, value in enumerate(sorted(values)):
        wrong = []
        if len(value.encode()) > _LENGTH_LIMIT:
            wrong.append(f"must be no more than {_LENGTH_LIMIT} bytes")
        if value and not _NAME.fullmatch(value):
            wrong.append(_VALUE_RULE)
        if wrong:
            yield _invalid(f"values[{index}][{key}]", value, wrong)


def _check(faults: list[_RequirementError]) -> None:
    texts = [str(each) for each in faults]
    if texts:
        raise _RequirementError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")


def _invalid(field: str, value: str, wrong: list[str]) -> _RequirementError:
    return _RequirementError(f"{field}: Invalid value: {go_quoted(value)}: {'; '.join(wrong)}")


def _equal(key: str, operator: str, value: str) -> LabelTest:
    _check(list(_value_faults(key, frozenset((value,)))))
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    return lambda labels: labels.get(key) == value


def _contained(key: str, operator: str, values: frozenset[str]) -> LabelTest:
    _check(list(_value_faults(key, values)))
    if operator == "notin":
        return lambda labels: labels.get(key) not in values
    return lambda labels: labels.get(key) in values


def _compared(key: str, operator: str, text: str) -> LabelTest:
    bound = _integer(text)
    faults = list(_value_faults(key, frozenset((text,))))
    if bound is None:
        why = "for 'Gt', 'Lt' operators, the value must be an integer"
        faults.insert(0, _invalid("values[0]", text, [why]))
    _check(faults)
    limit = bound or 0

    def test(labels: Mapping[str, str]) -> bool:
        value = _integer(labels.get(key, ""))
        if value is None:
            return False
        return value < limit if operator == "<" else value > limit

    return test


def _integer(text: str) -> int | None:
    """None for what Go's ParseInt refuses at 64 bits."""
    try:
        return parse_int(text)
    except NumberError:
        return None
