"""Formats of strings that the real server checks in custom resources; it ignores all others. Pure.

The list and the meaning of each format: apiextensions-apiserver pkg/apiserver/validation/formats.go and kube-openapi
pkg/validation/strfmt.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from datetime import date
from typing import Final
from urllib.parse import urlsplit

_HEX = "[0-9a-fA-F]"
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)", re.ASCII)
_GO_DURATION = re.compile(r"[+-]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_WORDY_DURATION = re.compile(
    r"\d+\s*(?:nanos?|nanoseconds?|ns|micros?|microseconds?|us|µs|millis?|milliseconds?|ms|seconds?|s|minutes?|m|hours?"
    r"|h|days?|d|weeks?|w)\b",
    re.IGNORECASE | re.ASCII,
)
_HOSTNAME = re.compile(
    r"(?=.{1,255}$)[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?(?:\.[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?)*\.?"
)
_EMAIL = re.compile(r"(?:[^<>@\s]+@[^<>@\s]+|[^<>@]*<[^<>@\s]+@[^<>@\s]+>)")
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    odd = any(each <= " " or each == "\x7f" for each in text)
    return bool(text) and not odd and bool(parts.scheme or text[0] == "/")


def _is_ipv4(text: str) -> bool:
    parts = text.split(".")
    decimal = all(part.isascii() and part.isdigit() and int(part) < 256 for part in parts)
    return (len(parts) == 4 and decimal) or ("." in text and _is_ipv6(text))


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    address, slash, length = text.partition("/")
    if not slash or not (length.isascii() and length.isdigit()):
        return False
    if _is_ipv6(address):
        return int(length) <= 128
    return _is_ipv4(address) and int(length) <= 32


def is_date(text: str) -> bool:
    """A full-date of RFC 3339 that exists in the calendar."""
    found = _DATE.fullmatch(text)
    if not found:
        return False
    try:
        date(int(found[1]) or 4, int(found[2]), int(found[3]))
    except ValueError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """A date-time of RFC 3339, in either case."""
    day, _, clock = text.lower().partition("t")
    found = _CLOCK.fullmatch(clock)
    return bool(found and is_date(day) and found[1] <= "23" and found[2] <= "59" and found[3] <= "59")


def _is_duration(text: str) -> bool:
    return _GO_DURATION.fullmatch(text) is not None or _WORDY_DURATION.search(text) is not None


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    if not re.fullmatch(r"\d{9}[\dX]", digits, re.ASCII):
        return False
    return sum((index + 1) * (10 if each == "X" else int(each)) for index, each in enumerate(digits)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    if not re.fullmatch(r"\d{13}", digits, re.ASCII):
        return False
    return sum(int(each) * (3 if index % 2 else 1) for index, each in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not re.fullmatch(
        r"4\d{12}(?:\d{3})?|5[1-5]\d{14}|(?:222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|6(?:011|5\d\d)\d{12}"
        r"|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11}",
        digits,
    ):
        return False
    doubled = [int(each) * (2 if index % 2 else 1) for index, each in enumerate(reversed(digits))]
    return sum(each - 9 if each > 9 else each for each in doubled) % 10 == 0


_COLOUR = r"\s*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"

FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _matches(f"{_HEX}{{24}}"),
    "uri": _is_uri,
    "email": lambda text: _EMAIL.fullmatch(text.strip()) is not None,
    "hostname": lambda text: _HOSTNAME.fullmatch(text) is not None,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": _matches(
        rf"{_HEX}{{2}}([:-]){_HEX}{{2}}(?:\1{_HEX}{{2}}){{4}}|{_HEX}{{2}}([:-]){_HEX}{{2}}(?:\2{_HEX}{{2}}){{6}}"
        rf"|{_HEX}{{4}}(?:\.{_HEX}{{4}}){{2}}|{_HEX}{{4}}(?:\.{_HEX}{{4}}){{3}}"
    ),
    "uuid": _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{12}}"),
    "uuid3": _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?3{_HEX}{{3}}-?{_HEX}{{4}}-?{_HEX}{{12}}"),
    "uuid4": _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?4{_HEX}{{3}}-?[89abAB]{_HEX}{{3}}-?{_HEX}{{12}}"),
    "uuid5": _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?5{_HEX}{{3}}-?[89abAB]{_HEX}{{3}}-?{_HEX}{{12}}"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _matches(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "hexcolor": _matches(f"#?(?:{_HEX}{{3}}|{_HEX}{{6}})"),
    "rgbcolor": _matches(rf"rgb\({_COLOUR},{_COLOUR},{_COLOUR}\)"),
    "byte": lambda text: _BASE64.fullmatch(text) is not None,
    "password": lambda _: True,
    "date": is_date,
    "duration": _is_duration,
    "datetime": is_date_time,
    "k8sshortname": lambda text: len(text) <= 63 and re.fullmatch(_LABEL, text) is not None,
    "k8slongname": lambda text: len(text) <= 253 and re.fullmatch(rf"{_LABEL}(?:\.{_LABEL})*", text) is not None,
}
"""By normalised name: without dashes."""


def supported(kind: str, name: str) -> bool:
    """Whether the real server knows this format for values of a type ("" for any)."""
    if kind in ("", "string"):
        return name.replace("-", "") in FORMATS
    return name in {"integer": ("int32", "int64"), "number": ("float", "double")}.get(kind, ())
