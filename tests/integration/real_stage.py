"""A worker on any API server, a real one too, with the fault proxy between them: what it sent is read from the proxy.

Deployments that nobody deploys are the primaries: a bare API server serves them, with a status.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.injection import Injection
from fleet.devcluster.faults.words import DelayEvents
from fleet.devcluster.proxy.door import FaultProxy
from fleet.devcluster.proxy.upstream import Upstream
from fleet.devcluster.recording.journal import FAULTS, Entry
from fleet.devcluster.recording.recorder import Recorder
from shards.api.client import Client
from shards.api.useragent import UserAgent
from shards.authoring.controller import Controller
from shards.clock import boot_seconds
from shards.errors import NotFound
from shards.keyrange import WHOLE
from shards.metrics import ShardMetrics
from shards.objects import Object, Resource
from shards.ownership.tenure import unfenced
from shards.queue.slots import Slots
from shards.runtime import WorkerRuntime
from shards.settings import ScopeSettings, ShardSettings
from shards.shard import Shard
from shards.transport.kube import connect

SITES = Resource.parse("apps/v1/deployments")
PAGES = Resource.parse("v1/configmaps")
NAMESPACES = Resource.parse("v1/namespaces")
LOOK_SECONDS = 0.02


def site(name: str) -> Object:
    labels = {"site": name}
    pod = {"containers": [{"name": "web", "image": "nginx:1.29"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


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
        template = {"metadata": {"annotations": {"act": act}}}
        await self.hand.merge_patch(SITES, self.namespace, name, {"spec": {"template": template}})

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
    prepare: Callable[[WorkerRuntime], None] = lambda runtime: None,
) -> AsyncIterator[Stage]:
    """The controller at work in a namespace of its own. prepare: the worker's runtime, before anything runs."""
    namespace = f"stale-{secrets.token_hex(4)}"
    async with AsyncExitStack() as stack:
        direct = await connect(kubeconfig=str(kubeconfig))
        stack.push_async_callback(direct.close)
        hand = Client(direct, user_agent="by hand")
        await hand.create(NAMESPACES, "", {"metadata": {"name": namespace}})
        stack.push_async_callback(hand.delete, NAMESPACES, "", namespace)
        recorder = Recorder()
        proxy = await FaultProxy.start(await Upstream.of(str(kubeconfig)), recorder=recorder)
        stack.push_async_callback(proxy.close)
        proxy.write_kubeconfig(directory / "through-the-proxy")
        struck = await connect(kubeconfig=str(directory / "through-the-proxy"))
        stack.push_async_callback(struck.close)
        settings = settings or ShardSettings(scope=ScopeSettings(namespaces=(namespace,)))
        runtime = WorkerRuntime(
            transport=struck,
            clock=boot_seconds,
            rng=random.Random(1),
            settings=settings,
            metrics=ShardMetrics(CollectorRegistry()),
            slots=Slots(settings.queue.max_concurrent_reconciles),
        )
        stack.callback(runtime.close)
        prepare(runtime)
        shard = Shard(WHOLE, [controller], runtime, "worker-0")
        stack.push_async_callback(shard.stop)
        await shard.activate(unfenced("worker-0"), None, previous_epoch=0)
        yield Stage(namespace, hand, proxy, recorder, shard)
        proxy.faults.clear()
