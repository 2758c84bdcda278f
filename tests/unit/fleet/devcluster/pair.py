"""Two front ends of one server, for tests of their caches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from fleet.devcluster.server import ApiServer
from fleet.devcluster.wire.answers import EventStream
from shards.objects import Object
from tests.unit.fleet.devcluster.cluster import CONFIG_MAPS, Cluster, config_map


@dataclass
class Pair:
    """Two front ends over one storage. Writes go through the first one."""

    cluster: Cluster
    other: ApiServer

    async def make(self, name: str, **metadata: Any) -> str:
        """Its version."""
        made = await self.cluster.client.create(CONFIG_MAPS, "default", config_map(name, **metadata))
        return str(made["metadata"]["resourceVersion"])

    async def remove(self, name: str) -> None:
        await self.cluster.client.delete(CONFIG_MAPS, "default", name)

    async def ask(self, path: str = "", **query: str) -> tuple[int, Object]:
        """Of the other front end."""
        answer = await self.other.handle("GET", CONFIG_MAPS.path("default") + path, list(query.items()))
        return answer.status, msgspec.json.decode(answer.body)

    async def names(self, **query: str) -> list[str]:
        return [item["metadata"]["name"] for item in (await self.ask(**query))[1]["items"]]

    async def watch(self, **query: str) -> EventStream:
        answer = await self.other.handle("GET", CONFIG_MAPS.path("default"), [("watch", "true"), *query.items()])
        assert answer.stream is not None
        return answer.stream
