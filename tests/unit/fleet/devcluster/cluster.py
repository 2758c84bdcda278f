"""A small embedded server and the objects that its tests put into it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import msgspec

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.api.client import Client
from shards.objects import Object, Resource

CONFIG_MAPS = Resource("", "v1", "configmaps")
WEBSITES = Resource("demo.shardfleet.dev", "v1", "websites")
DEFINITIONS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
NAMESPACES = Resource("", "v1", "namespaces")

EPOCH = 1_700_000_000.0
"""What the wall clock of these servers shows, always."""


@dataclass
class Cluster:
    """A server with a fixed seed and clock, and a client in the same process."""

    server: ApiServer
    recorder: Recorder
    transport: InProcessTransport
    client: Client

    @classmethod
    def make(cls, settings: ServerSettings | None = None, *, user_agent: str = "test/1") -> Cluster:
        recorder = Recorder(clock=lambda: 0.0)
        server = ApiServer(settings, rng=random.Random(1), wall_seconds=lambda: EPOCH, recorder=recorder)
        transport = InProcessTransport(server)
        return cls(server, recorder, transport, Client(transport, user_agent=user_agent))

    async def ask(self, method: str, path: str, body: Any = None, **query: str) -> tuple[int, Object]:
        """Status and decoded answer of a raw request."""
        encoded = None if body is None else msgspec.json.encode(body)
        headers = {"content-type": "application/json"}
        answer = await self.server.handle(method, path, list(query.items()), encoded, headers)
        return answer.status, msgspec.json.decode(answer.body)


def config_map(name: str, **metadata: Any) -> Object:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, **metadata}, "data": {"a": "1"}}


def website(name: str, **spec: Any) -> Object:
    return {"kind": "Website", "apiVersion": "demo.shardfleet.dev/v1", "metadata": {"name": name}, "spec": spec}


def definition(*, status: bool = True) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version: Object = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if status:
        version["subresources"] = {"status": {}}
    return {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "metadata": {"name": "websites.demo.shardfleet.dev"},
        "spec": {
            "group": "demo.shardfleet.dev",
            "scope": "Namespaced",
            "names": {"plural": "websites", "kind": "Website"},
            "versions": [version],
        },
    }
