"""Stored objects as another version of their resource shows them, where one table holds several versions. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

_REMEMBERED = 4096

Shape = Callable[[Mapping[str, Any]], dict[str, Any]]


class Conversion:
    """From the stored version to another one. Conversions of the same bytes are made once."""

    __slots__ = ("_made", "api_version")

    def __init__(self, api_version: str) -> None:
        self.api_version = api_version
        self._made: dict[bytes, bytes] = {}

    def decoded(self, raw: bytes) -> dict[str, Any]:
        """The object in this version."""
        raise NotImplementedError

    def encoded(self, raw: bytes) -> bytes:
        found = self._made.get(raw)
        if found is None:
            if len(self._made) >= _REMEMBERED:
                self._made.clear()
            found = self._made[raw] = msgspec.json.encode(self.decoded(raw))
        return found


class Pruning(Conversion):
    """Conversion "None" of a definition: apiVersion changes, and fields that the version does not know are dropped.

    None of the version's defaults are added.
    """

    __slots__ = ("_prune",)

    def __init__(self, api_version: str, prune: Callable[[dict[str, Any]], object]) -> None:
        """prune: drops what the version does not know, in place."""
        super().__init__(api_version)
        self._prune = prune

    def decoded(self, raw: bytes) -> dict[str, Any]:
        body: dict[str, Any] = msgspec.json.decode(raw)
        body["apiVersion"] = self.api_version
        self._prune(body)
        return body


class Reshaping(Conversion):
    """Of a built-in resource whose versions have different fields.

    fields: selectable fields as this version names them, with their names in the stored version.
    """

    __slots__ = ("_show", "_store", "fields")

    def __init__(self, api_version: str, show: Shape, store: Shape, fields: Mapping[str, str]) -> None:
        """show: a stored object in this version. store: the other way. Both leave what they are given as it is."""
        super().__init__(api_version)
        self._show = show
        self._store = store
        self.fields = fields

    def decoded(self, raw: bytes) -> dict[str, Any]:
        return self.show(msgspec.json.decode(raw))

    def show(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A decoded stored object in this version."""
        found = self._show(body)
        if "apiVersion" in found:
            found["apiVersion"] = self.api_version
        return found

    def store(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A decoded object of this version as it is stored, but for its apiVersion."""
        return self._store(body)
