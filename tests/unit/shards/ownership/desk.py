"""A reconcile of one website that does what a test tells it to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller
from shards.objects import Object
from shards.ownership.fence import Fence
from shards.shard import Shard
from tests.unit.shards.world import CONFIGMAPS, SECRETS, WEBSITES, World, key_of

Act = Callable[[Context], Awaitable[Any]]


class Desk:
    """Runs one act after the other, each inside a reconcile of website `a`, and hands its outcome back."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.site = world.website("a", text="x")
        self.acts: asyncio.Queue[tuple[Act, asyncio.Future[Any]]] = asyncio.Queue()
        self.seconds = 3600.0
        self.owns = [CONFIGMAPS]
        self.shard: Shard | None = None

    async def open(self) -> Desk:
        controller = Controller("sites", primary=str(WEBSITES))
        for resource in self.owns:
            controller.owns(str(resource))
        controller.watches(str(SECRETS), map=lambda _: [])

        @controller.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            if self.acts.empty():
                return
            act, outcome = self.acts.get_nowait()
            try:
                outcome.set_result(await act(ctx))
            except Exception as error:
                outcome.set_exception(error)
                raise

        self.shard = self.world.shard(controller)
        await self.shard.activate(self.world.tenure(seconds=self.seconds), None, previous_epoch=0)
        await asyncio.sleep(1)
        return self

    async def do(self, act: Act) -> Any:
        """The act's result, in a fresh reconcile. Raises what it raised."""
        if self.shard is None:
            await self.open()
        assert self.shard is not None
        outcome: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.acts.put_nowait((act, outcome))
        self.shard._engines[0].add(key_of(self.site))
        return await asyncio.wait_for(outcome, 60)

    @property
    def fence(self) -> Fence:
        assert self.shard is not None
        fence = self.shard._engines[0].fence
        assert fence is not None
        return fence

    @property
    def blocked(self) -> str:
        """What the gate holds the key back for, "" for nothing."""
        assert self.shard is not None
        fence = self.shard._engines[0].fence
        assert fence is not None
        blocked = fence.writes.blocked(key_of(self.site), self.shard._engines[0].stores)
        return blocked.reason if blocked is not None else ""


def page(name: str = "page", **data: str) -> Object:
    return {"kind": "ConfigMap", "metadata": {"name": name}, "data": data}
