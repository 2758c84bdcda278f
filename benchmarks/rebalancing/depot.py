"""The user's side: makes parcels and changes them at a steady rate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from benchmarks.rebalancing.parcels import UNSTAMPED
from shards.api.client import Client
from shards.clock import boot_seconds
from shards.errors import AlreadyExists, ApiError, NotFound
from shards.objects import Object, Resource
from shards.transport.kube import KubeTransport

PARCELS = Resource.parse("bench.shardfleet.dev/v1/parcels")
CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")
NAMESPACES = Resource.parse("v1/namespaces")
CRD_FILE = Path(__file__).with_name("parcels-crd.yaml")

USER_AGENT = "depot"
CONCURRENT = 32
"""Requests at once while parcels are made and removed."""

SERVED_SECONDS = 30.0


class Depot:
    """The parcels of one namespace, numbered from 0. changes: how many were made so far."""

    def __init__(self, transport: KubeTransport, namespace: str) -> None:
        self._client = Client(transport, user_agent=USER_AGENT)
        self._namespace = namespace
        self.count = 0
        self.changes = 0
        self.failed_changes = 0

    async def open(self) -> None:
        """Namespace and definition are served afterwards, whoever made them. Raises ApiError, TimeoutError."""
        crd = yaml.safe_load(CRD_FILE.read_text())
        for resource, body in ((NAMESPACES, {"metadata": {"name": self._namespace}}), (CRDS, crd)):
            try:
                await self._client.create(resource, "", body)
            except AlreadyExists:
                continue
        async with asyncio.timeout(SERVED_SECONDS):
            await self._served()

    async def _served(self) -> None:
        while True:
            try:
                await self._client.list(PARCELS, self._namespace, query=[("limit", "1")])
                return
            except NotFound:
                await asyncio.sleep(0.1)

    async def fill(self, count: int) -> None:
        """So many parcels in all."""
        numbers = iter(range(self.count, count))

        async def some() -> None:
            for number in numbers:
                await self._client.create(PARCELS, self._namespace, _parcel(number))

        await asyncio.gather(*(some() for _ in range(CONCURRENT)))
        self.count = max(self.count, count)

    async def clear(self) -> None:
        """Removes them again, for a server that others use too."""
        numbers = iter(range(self.count))

        async def some() -> None:
            for number in numbers:
                try:
                    await self._client.delete(PARCELS, self._namespace, _name(number))
                except NotFound:
                    continue

        await asyncio.gather(*(some() for _ in range(CONCURRENT)))
        self.count = 0

    @asynccontextmanager
    async def busy(self, per_second: float) -> AsyncIterator[None]:
        """While the context is open, so many parcels a second are changed, one after the other in a fixed order."""
        task = asyncio.create_task(self._change(per_second), name="changes of parcels")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _change(self, per_second: float) -> None:
        """Each change is sent when it is due, whether or not the ones before it have been answered."""
        began, sent = boot_seconds(), 0
        async with asyncio.TaskGroup() as group:
            while True:
                due = int((boot_seconds() - began) * per_second)
                for _ in range(due - sent):
                    group.create_task(self._change_next())
                sent = due
                await asyncio.sleep(max(0.0, began + (sent + 1) / per_second - boot_seconds()))

    async def _change_next(self) -> None:
        number, self.changes = self.changes % self.count, self.changes + 1
        # Neighbours in the order of names are neighbours in nothing else: UIDs spread them over all shards.
        patch = {"spec": {"stamp": UNSTAMPED + 1 + self.changes}}
        try:
            await self._client.merge_patch(PARCELS, self._namespace, _name(number), patch)
        except ApiError:
            self.failed_changes += 1


def _name(number: int) -> str:
    return f"parcel-{number}"


def _parcel(number: int) -> Object:
    return {
        "apiVersion": PARCELS.api_version,
        "kind": "Parcel",
        "metadata": {"name": _name(number), "labels": {"route": f"r{number % 100}"}},
        "spec": {"stamp": UNSTAMPED, "address": f"{number} Harbour Street, {'x' * 200}"},
    }
