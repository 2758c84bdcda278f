"""What a user does with kubectl while a plan is played."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.server import ApiServer
from shards.api.client import Client
from shards.errors import ApiError, NotFound
from shards.objects import Object, Resource
from shards.testing.virtual_time import loop_seconds
from tests.integration.sieve.actor import NAMESPACE
from tests.integration.sieve.plans import Change, Make, Remove, Step, Until, Wait
from tests.integration.sieve.process import Asked

POLL_SECONDS = 0.05


class User:
    """errors: what was refused, and what was waited for in vain."""

    def __init__(self, server: ApiServer, asked: Callable[[Asked], None]) -> None:
        """asked: told of every write before it is sent."""
        self.errors: list[str] = []
        self._server = server
        self._client = Client(_Telling(server, asked), user_agent="kubectl")

    async def do(self, step: Step) -> None:
        """Returns when it is done, or was given up."""
        try:
            await self._do(step)
        except ApiError as error:
            self.errors.append(f"user: {step}: {error}")

    async def _do(self, step: Step) -> None:
        if isinstance(step, Make):
            kind = self._server.registry.of(step.body["apiVersion"], step.body["kind"])
            assert kind is not None, step
            await self._client.create(kind.resource, NAMESPACE, step.body)
        elif isinstance(step, Change):
            await self._client.merge_patch(Resource.parse(step.resource), NAMESPACE, step.name, step.patch)
        elif isinstance(step, Remove):
            await self._client.delete(Resource.parse(step.resource), NAMESPACE, step.name)
        elif isinstance(step, Wait):
            await asyncio.sleep(step.seconds)
        else:
            await self._until(step)

    async def _until(self, step: Until) -> None:
        deadline = loop_seconds() + step.within_seconds
        while not step.holds(await self._read(step.resource, step.name)):
            if loop_seconds() > deadline:
                self.errors.append(f"user: not within {step.within_seconds:g} s: {step}")
                return
            await asyncio.sleep(POLL_SECONDS)

    async def _read(self, resource: str, name: str) -> Object | None:
        try:
            return await self._client.get(Resource.parse(resource), NAMESPACE, name)
        except NotFound:
            return None


class _Telling(InProcessTransport):
    """Tells of writes before they are sent."""

    def __init__(self, server: ApiServer, asked: Callable[[Asked], None]) -> None:
        super().__init__(server, clock=loop_seconds)
        self._asked = asked

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        asked = Asked.of(method, path, options.get("body"))
        if asked is not None:
            self._asked(asked)
        return await super().request(method, path, **options)
