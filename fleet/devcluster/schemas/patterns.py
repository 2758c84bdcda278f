"""Regular expressions of schemas: Go's syntax (RE2) in Python's `re`. Pure.

What RE2 has not (look-around, back references) is refused in Go's words; what differs is rewritten: `$` and `\\z` mean
the very end, and the classes of Perl are ASCII.
"""

from __future__ import annotations

import re
from functools import lru_cache

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7f",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_UNSUPPORTED = re.compile(r"\((\?(?:=|!|<=|<!|>))")
_POSIX_CLASS = re.compile(r"\[:(\w+):\]")


class PatternError(ValueError):
    """No regular expression for Go. The text is Go's."""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """Raises PatternError."""
    try:
        return re.compile(_rewritten(pattern), re.ASCII)
    except re.error as error:
        raise PatternError(f"error parsing regexp: {_go_reason(pattern, error)}") from None


def _rewritten(pattern: str) -> str:
    parts: list[str] = []
    index, within = 0, False
    while index < len(pattern):
        char = pattern[index]
        if char == "\\" and index + 1 < len(pattern):
            parts.append(_escape(pattern[index + 1], within=within))
            index += 2
            continue
        if not within:
            found = _UNSUPPORTED.match(pattern, index)
            if found:
                wrong = "(" + found[1]
                raise PatternError(f"error parsing regexp: invalid or unsupported Perl syntax: `{wrong}`")
        posix = _POSIX_CLASS.match(pattern, index) if within else None
        if posix and posix[1] in _POSIX:
            parts.append(_POSIX[posix[1]])
            index = posix.end()
            continue
        if char == "[":
            parts.append("\\[" if within else "[")
            if not within and pattern[index + 1 : index + 2] == "^":
                parts.append("^")
                index += 1
            if not within and pattern[index + 1 : index + 2] == "]":
                parts.append("\\]")
                index += 1
            within = True
        else:
            within = within and char != "]"
            parts.append("\\Z" if char == "$" and not within else char)
        index += 1
    return "".join(parts)


def _escape(char: str, *, within: bool) -> str:
    if char.isdigit() and char != "0" and not within:
        raise PatternError(f"error parsing regexp: invalid escape sequence: `\\{char}`")
    if char in "zZ" and not within:
        if char == "Z":
            raise PatternError("error parsing regexp: invalid escape sequence: `\\Z`")
        return "\\Z"
    return "\\" + char


def _go_reason(pattern: str, error: re.error) -> str:
    why = error.msg
    if "missing )" in why or "unterminated subpattern" in why:
        return f"missing closing ): `{pattern}`"
    if "unbalanced parenthesis" in why:
        return f"unexpected ): `{pattern}`"
    if "unterminated character set" in why:
        return f"missing closing ]: `{pattern[pattern.rfind('[') :]}`"
    if "nothing to repeat" in why:
        return f"missing argument to repetition operator: `{pattern[error.pos or 0 : (error.pos or 0) + 1]}`"
    if "bad character range" in why:
        return f"invalid character class range: `{why.rpartition(' ')[2]}`"
    return f"invalid escape sequence: `{pattern}`" if "escape" in why else why
