"""Objects of one version of a definition as another version shows them: conversion "None". Pure.

Objects are stored in one version. Another one changes their apiVersion, and drops the fields that its schema does not
know; it adds none of its defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

_REMEMBERED = 4096


@dataclass(slots=True)
class Conversion:
    """prune: drops what the version does not know, in place. Conversions of the same bytes are made once."""

    api_version: str
    prune: Callable[[dict[str, Any]], object]
    _made: dict[bytes, bytes] = field(default_factory=dict)

    def decoded(self, raw: bytes) -> dict[str, Any]:
        """The object in this version."""
        body: dict[str, Any] = msgspec.json.decode(raw)
        body["apiVersion"] = self.api_version
        self.prune(body)
        return body

    def encoded(self, raw: bytes) -> bytes:
        found = self._made.get(raw)
        if found is None:
            if len(self._made) >= _REMEMBERED:
                self._made.clear()
            found = self._made[raw] = msgspec.json.encode(self.decoded(raw))
        return found
