"""Makes the demo objects, a few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from fleet.dev.primaries import Primaries
from fleet.dev.process import PartFailed
from shards.api.client import Client
from shards.errors import AlreadyExists, ApiError
from shards.objects import Object

_CREATORS = 8


class Creation:
    """waiting: how many objects are still to be made. What was made is expected by `primaries`."""

    def __init__(self, client: Client, objects: Sequence[Object], primaries: Primaries) -> None:
        self.waiting = len(objects)
        self._client = client
        self._objects = objects
        self._primaries = primaries

    async def run(self) -> None:
        """Returns when all are made. Raises PartFailed for the first one that the server refuses."""
        objects = iter(self._objects)
        creators = [asyncio.create_task(self._create(objects)) for _ in range(_CREATORS)]
        try:
            await asyncio.gather(*creators)
        finally:
            for task in creators:
                task.cancel()

    async def _create(self, objects: Iterator[Object]) -> None:
        for obj in objects:
            metadata = obj["metadata"]
            try:
                made = await self._client.create(self._primaries.resource, metadata.get("namespace", ""), obj)
                self._primaries.expect(made)
            except AlreadyExists:
                pass  # somebody else made it: it counts as soon as it is seen
            except ApiError as error:
                name = metadata.get("name") or metadata.get("generateName")
                hint = "" if metadata.get("namespace") else "; it has no metadata.namespace"
                raise PartFailed(f"the demo object {name!r} is refused: {error}{hint}") from error
            self.waiting -= 1
