"""What one reconcile saw or sent of Secrets, in each state that it was in: so that nothing of it is told."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from shards.objects import Object, Resource
from shards.veil import Veil, is_secret


class SecretsSeen:
    """Kept as JSON, since authors change the copies that they are given. May be asked from any thread."""

    __slots__ = ("_raws", "_veil", "_veiled")

    def __init__(self) -> None:
        self._raws: dict[bytes, None] = {}
        self._veil: Veil | None = None
        self._veiled = 0
        """How many of them `_veil` hides."""

    def saw(self, resource: Resource, raw: bytes | Object | None) -> None:
        """An object of any resource, as JSON or decoded. None: it is not there."""
        if raw is not None and is_secret(resource):
            self._raws[raw if isinstance(raw, bytes) else msgspec.json.encode(raw)] = None

    def veil(self) -> Veil | None:
        """What hides their values; None for none. Made anew only when there are more."""
        raws = tuple(self._raws)
        if len(raws) != self._veiled:
            self._veil, self._veiled = Veil(self._decoded(raws)), len(raws)
        return self._veil

    def _decoded(self, raws: tuple[bytes, ...]) -> Iterator[Object]:
        return map(msgspec.json.decode, raws)
