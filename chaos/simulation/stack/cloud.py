"""Something outside the cluster that reconciles act on: addresses that are rented, by the UID of who pays."""

from __future__ import annotations

import asyncio
import contextvars
import random

SECONDS = 0.01


class Cloud:
    """Each call takes a while each way; what has left its process is carried out whatever becomes of that.

    rented: by UID. Both acts may be repeated.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rented: set[str] = set()
        self._rng = rng
        self._under_way: set[asyncio.Task[None]] = set()

    async def rent(self, uid: str) -> None:
        await self._call(uid, there=True)

    async def give_back(self, uid: str) -> None:
        await self._call(uid, there=False)

    async def _call(self, uid: str, *, there: bool) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        async def travel() -> None:
            await asyncio.sleep(SECONDS * self._rng.random())
            (self.rented.add if there else self.rented.discard)(uid)
            await asyncio.sleep(SECONDS * self._rng.random())
            if not done.done():
                done.set_result(None)

        task = loop.create_task(travel(), context=contextvars.Context())
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        await done
