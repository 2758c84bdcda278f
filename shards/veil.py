"""Hides the values of Secrets in what people are told. PURE."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from shards.objects import Object, Resource

HIDDEN = "<value of a Secret>"

SHORTEST = 3
"""Shorter values are left alone: they are in every text, and hiding them would leave nothing to read."""

LINE_LENGTH = 8
"""From which length on a single line of a value counts as a value too: what quotes a certificate seldom quotes all."""

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def is_secret(resource: Resource) -> bool:
    return resource.plural == "secrets" and not resource.group


class Veil:
    """secrets: whose values are hidden, as they are in `data` and in `stringData`, encoded and decoded, as a whole, by
    line, and within JSON; and what `kubectl apply` keeps of them in an annotation."""

    def __init__(self, secrets: Iterable[Object]) -> None:
        forms = {form for secret in secrets for value in _values(secret) for form in _forms(value)}
        # Longest first: the shorter ones may be parts of them.
        longest = sorted(forms, key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, longest))) if longest else None

    def __call__(self, text: str) -> str:
        """The text, with HIDDEN in place of each value."""
        return text if self._values is None else self._values.sub(HIDDEN, text)


def _values(secret: Object) -> Iterator[str]:
    for value in (secret.get("stringData") or {}).values():
        yield str(value)
    for value in (secret.get("data") or {}).values():
        yield str(value)
        try:
            yield b64decode(value).decode()
        except (binascii.Error, UnicodeDecodeError, TypeError, ValueError):
            continue  # bytes that are no text are in no text either
    applied = ((secret.get("metadata") or {}).get("annotations") or {}).get(_LAST_APPLIED)
    earlier = _parsed(applied) if applied else None
    if isinstance(earlier, dict):
        yield from _values(earlier | {"metadata": None})


def _forms(value: str) -> Iterator[str]:
    """How a value may stand in a text."""
    parts = {value, value.strip()}
    parts |= {line.strip() for line in value.splitlines() if len(line.strip()) >= LINE_LENGTH}
    if value.lstrip()[:1] in ("{", "["):
        parts.update(_texts(_parsed(value)))
    for part in parts:
        if len(part) >= SHORTEST:
            yield part
            yield repr(part)[1:-1]
            yield msgspec.json.encode(part).decode()[1:-1]


def _parsed(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _texts(parsed: Any) -> Iterator[str]:
    if isinstance(parsed, str):
        yield parsed
    elif isinstance(parsed, dict):
        for each in parsed.values():
            yield from _texts(each)
    elif isinstance(parsed, list):
        for each in parsed:
            yield from _texts(each)
