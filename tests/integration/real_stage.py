"""A worker on any API server, a real one too, behind the fault proxy: what it sent is read from the proxy."""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.injection import Injection
from fleet.devcluster.faults.words import DelayEvents
from fleet.devcluster.judging.judge import judge
from fleet.devcluster.proxy.door import FaultProxy
from fleet.devcluster.proxy.upstream import Upstream
from fleet.devcluster.recording.journal import FAULTS, Entry
from fleet.devcluster.recording.recorder import Recorder
from shards.api.client import Client
from shards.api.useragent import UserAgent
from shards.authoring.controller import Controller
from shards.clock import boot_seconds
from shards.errors import AlreadyExists, ApiError, NotFound
from shards.keyrange import WHOLE
from shards.metrics import ShardMetrics
from shards.objects import Object, Resource
from shards.ownership.tenure import unfenced
from shards.queue.slots import Slots
from shards.runtime import WorkerRuntime
from shards.settings import BreakerSettings, GateSettings, ScopeSettings, ShardSettings
from shards.shard import Shard
from shards.transport.kube import connect

SITES = Resource.parse("stale.shardfleet.dev/v1/sites")
PAGES = Resource.parse("v1/configmaps")
CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")
NAMESPACES = Resource.parse("v1/namespaces")
LOOK_SECONDS = 0.02
DEFINE_SECONDS = 20.0


_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
_VERSION = {
    "name": "v1",
    "served": True,
    "storage": True,
    "schema": {"openAPIV3Schema": _ANYTHING | {"properties": {"spec": _ANYTHING, "status": _ANYTHING}}},
    "subresources": {"status": {}, "scale": _SCALE},
}
DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "sites.stale.shardfleet.dev"},
    "spec": {
        "group": "stale.shardfleet.dev",
        "scope": "Namespaced",
        "names": {"plural": "sites", "kind": "Site"},
        "versions": [_VERSION],
    },
}


def site(name: str) -> Object:
    return {
        "apiVersion": "stale.shardfleet.dev/v1",
        "kind": "Site",
        "metadata": {"name": name},
        "spec": {"act": "", "replicas": 1},
    }


def guarded(breaker: BreakerSettings) -> ShardSettings:
    """For a breaker whose times a test can wait for."""
    return ShardSettings(gate=GateSettings(breaker=breaker))


async def define(hand: Client, definition: Object, resource: Resource) -> None:
    """The server serves the resource from now on, for whichever test comes next too."""
    with contextlib.suppress(AlreadyExists):
        await hand.create(CRDS, "", definition)
    deadline = boot_seconds() + DEFINE_SECONDS
    while True:
        try:
            await hand.list(resource, "default")
            return
        except ApiError:
            assert boot_seconds() < deadline, f"{resource} are not served after {DEFINE_SECONDS:g} s"
            await asyncio.sleep(LOOK_SECONDS)


async def seen(look: Callable[[], object], what: str, *, within_seconds: float = 15.0) -> None:
    """Returns as soon as it is so. Fails with `what` when it does not come to that."""
    deadline = boot_seconds() + within_seconds
    while not look():
        assert boot_seconds() < deadline, f"not within {within_seconds:g} s: {what}"
        await asyncio.sleep(LOOK_SECONDS)


@dataclass
class Stage:
    """hand: a client that goes past the proxy. recorder: what reached the server, and what faults did."""

    namespace: str
    hand: Client
    proxy: FaultProxy
    recorder: Recorder
    shard: Shard

    def match(self, *verbs: Any, resource: Resource = PAGES) -> Match:
        """Requests of the worker; watches may be of all namespaces."""
        namespace = "" if "watch" in verbs else self.namespace
        return Match(verbs=verbs, resource=str(resource), namespace=namespace, user_agent="fleet/")

    def hold_back(self, resource: Resource = PAGES) -> Injection:
        """From now on the worker's view of the resource stands still, until the release."""
        return self.proxy.faults.inject(DelayEvents(match=self.match("watch", resource=resource)))

    async def put_up(self, name: str) -> Object:
        """A new site."""
        return await self.hand.create(SITES, self.namespace, site(name))

    async def order(self, name: str, act: str) -> None:
        """Says what the controller is to do with the site's page; the version of the spec goes up with it."""
        await self.hand.merge_patch(SITES, self.namespace, name, {"spec": {"act": act}})

    async def page(self, name: str) -> Object | None:
        """As the server has it."""
        try:
            return await self.hand.get(PAGES, self.namespace, name)
        except NotFound:
            return None

    async def pages(self) -> list[Object]:
        items: list[Object] = (await self.hand.list(PAGES, self.namespace))["items"]
        return items

    async def write_page(self, name: str, text: str) -> Object:
        """By hand."""
        return await self.hand.merge_patch(PAGES, self.namespace, name, {"data": {"text": text}})

    def sent(self, *verbs: str, resource: Resource = PAGES, reason: str = "", key: str = "") -> list[Entry]:
        """What the worker sent for its keys, in order. verbs: those of `journal.FAULTS` too. key: name of a site."""
        found = []
        for entry in self.recorder.entries:
            agent = UserAgent.parse(entry.user_agent)
            if agent is None or not agent.uid or entry.verb not in verbs or entry.resource != str(resource):
                continue
            if reason in ("", agent.reason) and key in ("", agent.key.rpartition("/")[2]):
                found.append(entry)
        return found

    def story(self, resource: Resource = PAGES, *, key: str = "") -> list[str]:
        """The same in words: verb and status, of what faults did their verb alone."""
        verbs = ("get", "list", "create", "update", "patch", "delete", *FAULTS)
        lines = self.sent(*verbs, resource=resource, key=key)
        return [each.verb if each.verb in FAULTS else f"{each.verb} {each.status}" for each in lines]


@asynccontextmanager
async def staged(
    controller: Controller,
    kubeconfig: Path,
    directory: Path,
    *,
    settings: ShardSettings | None = None,
    definition: tuple[Object, Resource] = (DEFINITION, SITES),
) -> AsyncIterator[Stage]:
    """The controller at work in a namespace of its own; ends with the judge's word on what the proxy recorded.

    definition: of the primary's kind, and what it serves.
    """
    namespace = f"stale-{secrets.token_hex(4)}"
    async with AsyncExitStack() as stack:
        direct = await connect(kubeconfig=str(kubeconfig))
        stack.push_async_callback(direct.close)
        hand = Client(direct, user_agent="by hand")
        await define(hand, *definition)
        await hand.create(NAMESPACES, "", {"metadata": {"name": namespace}})
        stack.push_async_callback(hand.delete, NAMESPACES, "", namespace)
        recorder = Recorder()
        proxy = await FaultProxy.start(await Upstream.of(str(kubeconfig)), recorder=recorder)
        stack.push_async_callback(proxy.close)
        proxy.write_kubeconfig(directory / "through-the-proxy")
        struck = await connect(kubeconfig=str(directory / "through-the-proxy"))
        stack.push_async_callback(struck.close)
        settings = replace(settings or ShardSettings(), scope=ScopeSettings(namespaces=(namespace,)))
        runtime = WorkerRuntime(
            transport=struck,
            clock=boot_seconds,
            rng=random.Random(1),
            settings=settings,
            metrics=ShardMetrics(CollectorRegistry()),
            slots=Slots(settings.queue.max_concurrent_reconciles),
        )
        stack.callback(runtime.close)
        shard = Shard(WHOLE, [controller], runtime, "worker-0")
        stack.push_async_callback(shard.stop)
        await shard.activate(unfenced("worker-0"), None, previous_epoch=0)
        yield Stage(namespace, hand, proxy, recorder, shard)
        proxy.faults.clear()
    broken = judge(recorder.entries, []).broken_invariants
    assert not broken, [finding for each in broken for finding in each.findings]
