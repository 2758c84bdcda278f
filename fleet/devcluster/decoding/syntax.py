"""Why a text is no JSON, in the words of Go's decoder. Pure.

After the scanner of Go's encoding/json: its states, and the byte at which it gives up.
"""

from __future__ import annotations

_SPACE = b" \t\r\n"
_DIGITS = b"0123456789"
_END = "unexpected end of JSON input"
_SPACELESS = ("in literal", "in numeric", "after decimal", "in exponent", "in string escape", "in \\u")
_LITERALS = {b"t": b"true", b"f": b"false", b"n": b"null"}


class _Stop(Exception):
    """The scanner gives up. The text is Go's."""


def syntax_fault(raw: bytes) -> str:
    """The error of Go's decoder; "" for well formed JSON."""
    scanner = _Scanner(raw)
    try:
        scanner.value()
        scanner.space()
        if scanner.at < len(raw):
            scanner.refuse("after top-level value")
    except _Stop as stop:
        return str(stop)
    return ""


class _Scanner:
    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.at = 0

    def refuse(self, where: str) -> None:
        # At its end the scanner is fed a space, and complains of that where no space may be.
        char = self.peek() or (b" " if where.startswith(_SPACELESS) else b"")
        if not char:
            raise _Stop(_END)
        shown = {b"'": "'\\''", b'"': "'\"'"}.get(char) or _char_text(char)
        raise _Stop(f"invalid character {shown} {where}")

    def peek(self) -> bytes:
        return self.raw[self.at : self.at + 1]

    def space(self) -> None:
        while self.peek() and self.peek() in _SPACE:
            self.at += 1

    def value(self) -> None:
        self.space()
        char = self.peek()
        if char == b"{":
            self._object()
        elif char == b"[":
            self._array()
        elif char == b'"':
            self._string()
        elif char in _LITERALS:
            self._literal(_LITERALS[char])
        elif char == b"-" or (char and char in _DIGITS):
            self._number()
        else:
            self.refuse("looking for beginning of value")

    def _literal(self, word: bytes) -> None:
        for index in range(1, len(word)):
            self.at += 1
            if self.peek() != word[index : index + 1]:
                self.refuse(f"in literal {word.decode()} (expecting '{chr(word[index])}')")
        self.at += 1

    def _number(self) -> None:
        if self.peek() == b"-":
            self.at += 1
            if not self.peek() or self.peek() not in _DIGITS:
                self.refuse("in numeric literal")
        if self.peek() == b"0":
            self.at += 1
        else:
            self._digits()
        if self.peek() == b".":
            self.at += 1
            if not self.peek() or self.peek() not in _DIGITS:
                self.refuse("after decimal point in numeric literal")
            self._digits()
        if self.peek() in (b"e", b"E"):
            self.at += 1
            if self.peek() in (b"+", b"-"):
                self.at += 1
            if not self.peek() or self.peek() not in _DIGITS:
                self.refuse("in exponent of numeric literal")
            self._digits()

    def _digits(self) -> None:
        while self.peek() and self.peek() in _DIGITS:
            self.at += 1

    def _string(self) -> None:
        self.at += 1
        while True:
            char = self.peek()
            if char == b'"':
                self.at += 1
                return
            if char == b"\\":
                self.at += 1
                self._escape()
            elif not char or char < b" ":
                self.refuse("in string literal")
            else:
                self.at += 1

    def _escape(self) -> None:
        char = self.peek()
        if char == b"u":
            for _ in range(4):
                self.at += 1
                if not self.peek() or self.peek() not in b"0123456789abcdefABCDEF":
                    self.refuse("in \\u hexadecimal character escape")
        elif not char or char not in b'bfnrt\\/"':
            self.refuse("in string escape code")
        self.at += 1

    def _object(self) -> None:
        self.at += 1
        self.space()
        if self.peek() == b"}":
            self.at += 1
            return
        while True:
            self.space()
            if self.peek() != b'"':
                self.refuse("looking for beginning of object key string")
            self._string()
            self.space()
            if self.peek() != b":":
                self.refuse("after object key")
            self.at += 1
            self.value()
            self.space()
            if self.peek() == b"}":
                self.at += 1
                return
            if self.peek() != b",":
                self.refuse("after object key:value pair")
            self.at += 1

    def _array(self) -> None:
        self.at += 1
        self.space()
        if self.peek() == b"]":
            self.at += 1
            return
        while True:
            self.value()
            self.space()
            if self.peek() == b"]":
                self.at += 1
                return
            if self.peek() != b",":
                self.refuse("after array element")
            self.at += 1


def _char_text(char: bytes) -> str:
    code = char[0]
    named = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 92: "\\\\"}.get(code)
    if named:
        return f"'{named}'"
    if code < 0x20 or code == 0x7F:
        return f"'\\x{code:02x}'"
    return f"'{chr(code)}'" if code < 0x7F or code >= 0xA1 else f"'\\u{code:04x}'"
