"""Plays the Deployment controller and the kubelets: makes every Deployment ready as soon as it is asked for.

No server here runs a Deployment controller, so that somebody has to; used by `fleet dev` and by tests on any server.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

from shards.api.client import Client, Transport
from shards.clock import Clock, boot_seconds
from shards.errors import NotFound, ShardError
from shards.informers.informer import Informer
from shards.keyrange import WHOLE, PartitionKey
from shards.objects import Object, ObjectName, Resource
from shards.settings import ScopeSettings
from shards.stores.store import Change
from shards.watching.source import FilterMode, Source

DEPLOYMENTS = Resource("apps", "v1", "deployments")

_PLAYERS = 4
_RETRY_SECONDS = 0.5


def ready_status(deployment: Object) -> dict[str, Any] | None:
    """The status of the Deployment once all its replicas run; None where it says so already."""
    replicas = deployment.get("spec", {}).get("replicas", 1)
    wanted = {
        "observedGeneration": deployment["metadata"].get("generation", 1),
        "replicas": replicas,
        "updatedReplicas": replicas,
        "readyReplicas": replicas,
        "availableReplicas": replicas,
    }
    have = deployment.get("status") or {}
    # The API server leaves zeros out.
    return None if all(have.get(field, 0) == value for field, value in wanted.items()) else wanted


class DeploymentPlayer:
    """Follows all Deployments of a namespace ("" for all) and sets their status. `run` until cancelled."""

    def __init__(
        self, transport: Transport, *, namespace: str = "", user_agent: str = "", clock: Clock = boot_seconds
    ) -> None:
        self._client = Client(transport, user_agent=user_agent)
        self._waiting: dict[ObjectName, None] = {}
        self._wake = asyncio.Event()
        self._informer = Informer(
            transport,
            Source(DEPLOYMENTS, WHOLE, PartitionKey.UID, ScopeSettings(), FilterMode.LOCAL, "watched"),
            handler=self._changed,
            on_progress=lambda: None,
            clock=clock,
            rng=random.Random(),
            namespace=namespace,
            user_agent=user_agent,
        )

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._informer.run())
            for _ in range(_PLAYERS):
                group.create_task(self._play())

    def _changed(self, change: Change) -> None:
        if change.new is not None and change.new.deletion_timestamp is None:
            self._add(ObjectName(change.new.namespace, change.new.name))

    def _add(self, name: ObjectName) -> None:
        self._waiting[name] = None
        self._wake.set()

    async def _play(self) -> None:
        while True:
            while not self._waiting:
                self._wake.clear()
                await self._wake.wait()
            name = next(iter(self._waiting))
            del self._waiting[name]
            deployment = self._informer.store.get(name)
            status = ready_status(deployment) if deployment else None
            if status is None:
                continue
            try:
                await self._client.merge_patch(DEPLOYMENTS, name.namespace, name.name, {"status": status}, "status")
            except NotFound:
                continue
            except ShardError:
                # The server is away or busy. Nothing else will name this Deployment again, so come back to it.
                asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._add, name)
