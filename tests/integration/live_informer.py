"""An informer of one resource in a namespace of its own, on a server that runs, and what was seen of it."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from shards.api.client import Client
from shards.informers.informer import Informer
from shards.keyrange import WHOLE, PartitionKey
from shards.objects import Object, ObjectName, Resource
from shards.settings import ScopeSettings
from shards.stores.store import Change, StoreWriter
from shards.transport.kube import connect
from shards.watching.source import FilterMode, Source

NAMESPACES = Resource("", "v1", "namespaces")
WITHIN_SECONDS = 40.0

both_servers = pytest.mark.parametrize("server", ["embedded", pytest.param("real_kubeconfig", marks=pytest.mark.real)])


def kubeconfig_of(request: pytest.FixtureRequest, server: str) -> Path:
    """server: as of `both_servers`."""
    found = request.getfixturevalue(server)
    return Path(found.kubeconfig if server == "embedded" else found)


class Seen:
    """client: what writes. told: changes, as names with their versions; "" for an end."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.told: list[tuple[str, str]] = []

    @asynccontextmanager
    async def informer(
        self,
        resource: Resource,
        *,
        writer: StoreWriter | None = None,
        metadata_only: bool = False,
        streams: bool = False,
    ) -> AsyncIterator[Informer]:
        def handler(change: Change) -> None:
            known = change.new or change.old
            assert known is not None
            self.told.append((known.name, known.resource_version if change.new else ""))

        informer = Informer(
            self.client.transport,
            Source(resource, WHOLE, PartitionKey.UID, ScopeSettings(), FilterMode.LOCAL, "primary"),
            handler=handler,
            on_progress=lambda: None,
            clock=time.monotonic,
            rng=random.Random(1),
            namespace=self.namespace,
            user_agent="live-informer",
            streams=streams,
            writer=writer,
            metadata_only=metadata_only,
        )
        running = asyncio.create_task(informer.run())
        try:
            yield informer
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """On the informer's own loop. Fails with `what`."""
        until = time.monotonic() + WITHIN_SECONDS
        while not condition():
            assert time.monotonic() < until, what
            await asyncio.sleep(0.02)

    async def shown(self, informer: Informer, made: Object) -> None:
        """Until the view has that object, at that version or a later one."""
        metadata = made["metadata"]
        name = ObjectName(self.namespace, metadata["name"])
        await self.until(
            lambda: informer.store.shows(name, metadata["uid"], metadata["resourceVersion"]), f"{name} is not shown"
        )


@asynccontextmanager
async def seen(kubeconfig: Path) -> AsyncIterator[Seen]:
    transport = await connect(kubeconfig=str(kubeconfig))
    try:
        client = Client(transport, user_agent="by hand")
        namespace = f"live-{secrets.token_hex(4)}"
        await client.create(NAMESPACES, "", {"metadata": {"name": namespace}})
        try:
            yield Seen(client, namespace)
        finally:
            await client.delete(NAMESPACES, "", namespace)
    finally:
        await transport.close()
