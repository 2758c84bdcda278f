"""People and controllers that write while the watches break."""

from __future__ import annotations

import asyncio
import random

import msgspec

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.server import ApiServer
from shards.errors import ApiError
from shards.objects import Resource
from shards.testing.virtual_time import loop_seconds

CONFIG_MAPS = Resource("", "v1", "configmaps")
NAMESPACES = ("default", "kube-public")
NAMES = 24
"""Objects at most, per namespace: names come back, under other UIDs."""

_DELETED = 0.15
_TEXTS = ("plain", "Überraschung", "日本語のテキスト", "🎉" * 5, "x" * 3000)
_TIERS = ("front", "back")


class Writers:
    """written: requests that changed something. Paused while `pause` is open; a pause waits for nobody."""

    def __init__(self, server: ApiServer, rng: random.Random, *, mean_seconds: float) -> None:
        """mean_seconds: between two writes; they come in bursts."""
        self.written = 0
        self.deleted = 0
        self._transport = InProcessTransport(server, clock=loop_seconds)
        self._rng = rng
        self._mean_seconds = mean_seconds
        self._going = asyncio.Event()
        self._going.set()

    def pause(self) -> None:
        self._going.clear()

    def go_on(self) -> None:
        self._going.set()

    async def run(self) -> None:
        """Until cancelled."""
        rng = self._rng
        while True:
            burst = rng.choice((1, 1, 2, 5, 30))
            for _ in range(burst):
                await self._going.wait()
                await self._write()
            await asyncio.sleep(rng.expovariate(1.0 / (self._mean_seconds * burst)))

    async def _write(self) -> None:
        """One write; 404 and 409 are answers too: names are drawn without a look."""
        rng = self._rng
        path = CONFIG_MAPS.path(rng.choice(NAMESPACES))
        name = f"n{rng.randrange(NAMES)}"
        try:
            if rng.random() < _DELETED:
                await self._transport.request("DELETE", f"{path}/{name}")
                self.deleted += 1
            else:
                body = msgspec.json.encode(self._body(name))
                try:
                    await self._transport.request("PUT", f"{path}/{name}", body=body)
                except ApiError:
                    await self._transport.request("POST", path, body=body)
        except ApiError:
            return
        self.written += 1

    def _body(self, name: str) -> dict[str, object]:
        rng = self._rng
        labels = {"tier": rng.choice(_TIERS)}
        return {"metadata": {"name": name, "labels": labels}, "data": {"t": rng.choice(_TEXTS), "n": str(rng.random())}}
