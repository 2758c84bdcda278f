"""Those who use the operator during an experiment."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

from chaos.targets.api import BlockingApi
from chaos.targets.background import Background
from fleet.dev.demo import Demo
from shards.errors import AlreadyExists, ShardError
from shards.objects import Object, Resource

CREATORS = 8


class DemoPeople:
    """What `chaos.targets.target.People` asks, with the objects of the author's demo, in one namespace."""

    def __init__(self, api: BlockingApi, background: Background, primary: Resource, demo: Demo, namespace: str) -> None:
        self._api = api
        self._background = background
        self._primary = primary
        self._demo = demo
        self._namespace = namespace
        self._expected: dict[str, Object] = {}
        self._made = 0
        self._changes = 0
        self._changing: Future[None] | None = None

    @property
    def resource(self) -> Resource:
        return self._primary

    @property
    def changes(self) -> int:
        return self._changes

    @property
    def objects(self) -> list[str]:
        """Names of those that should exist, oldest first."""
        return list(self._expected)

    def add(self, count: int) -> None:
        wanted = [self._placed(each) for each in self._demo.objects(self._made + count)[self._made :]]
        self._made += count
        self._background.wait(self._create(wanted))

    def remove(self, count: int) -> list[str]:
        names = list(self._expected)[:count]
        for name in names:
            del self._expected[name]
            self._api.delete(self._primary, self._namespace, name)
        return names

    def unsettled(self) -> int:
        found = {each["metadata"]["name"]: each for each in self._api.list(self._primary, self._namespace)}
        missing = sum(1 for name in self._expected if name not in found)
        return missing + sum(1 for each in found.values() if not self._demo.settled(each))

    def keep_changing(self, per_second: float) -> None:
        if self._changing is not None:
            self._changing.cancel()
            self._changing = None
        if per_second > 0:
            self._changing = self._background.begin(self._go_on_changing(1.0 / per_second))

    def _placed(self, obj: Object) -> Object:
        return obj | {"metadata": obj["metadata"] | {"namespace": self._namespace}}

    async def _create(self, wanted: list[Object]) -> None:
        # Several at once, so that they come faster than the fleet is done with them.
        objects = iter(wanted)

        async def some() -> None:
            for each in objects:
                try:
                    made = await self._api.client.create(self._primary, self._namespace, each)
                except AlreadyExists:
                    made = each
                self._expected[made["metadata"]["name"]] = made

        await asyncio.gather(*(some() for _ in range(CREATORS)))

    async def _go_on_changing(self, pause_seconds: float) -> None:
        """Whatever becomes of a change: people ask again with the next one."""
        number = 0
        while True:
            objects = list(self._expected.items())  # others may go at any moment
            if objects:
                name, found = objects[number % len(objects)]
                try:
                    await self._api.client.merge_patch(
                        self._primary, self._namespace, name, self._demo.change(found, number)
                    )
                    self._changes += 1
                except ShardError:
                    pass
            number += 1
            await asyncio.sleep(pause_seconds)
