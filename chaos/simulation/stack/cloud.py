"""Something outside the cluster that reconciles act on: addresses that are rented, by the UID of who pays."""

from __future__ import annotations

import asyncio
import contextvars
import random

SECONDS = 0.01
REFUSING_SHARE = 0.25
"""Of those who pay: their first calls fail, for a reason that is none of the fleet's."""
MOST_REFUSALS = 3


class Refused(Exception):
    """By whoever has the addresses: nothing was done."""


class Cloud:
    """Each call takes a while each way; what has left its process is carried out whatever becomes of that.

    rented: by UID. Both acts may be repeated; some are refused at first.
    """

    def __init__(self, seed: int) -> None:
        self.rented: set[str] = set()
        self._seed = seed
        self._rng = random.Random(f"{seed} cloud")
        self._refusals: dict[tuple[str, bool], int] = {}
        """That are to come, by UID and which way."""
        self._under_way: set[asyncio.Task[None]] = set()

    async def rent(self, uid: str) -> None:
        """Raises Refused."""
        await self._call(uid, there=True)

    async def give_back(self, uid: str) -> None:
        """Raises Refused."""
        await self._call(uid, there=False)

    async def _call(self, uid: str, *, there: bool) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        async def travel() -> None:
            await asyncio.sleep(SECONDS * self._rng.random())
            refused = self._refuses(uid, there=there)
            if not refused:
                (self.rented.add if there else self.rented.discard)(uid)
            await asyncio.sleep(SECONDS * self._rng.random())
            if done.done():
                return
            if refused:
                done.set_exception(Refused("come again later"))
            else:
                done.set_result(None)

        task = loop.create_task(travel(), context=contextvars.Context())
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        await done

    def _refuses(self, uid: str, *, there: bool) -> bool:
        left = self._refusals.get((uid, there))
        if left is None:
            rng = random.Random(f"{self._seed} refusals of {uid}, {there}")
            left = rng.randint(1, MOST_REFUSALS) if rng.random() < REFUSING_SHARE else 0
        self._refusals[uid, there] = max(0, left - 1)
        return left > 0
