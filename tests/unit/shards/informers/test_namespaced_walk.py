"""Namespaces that are watched one by one, through faults and refusals drawn at random, on virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayEvents, ExpireWatch, Refuse
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.api.client import Client
from shards.api.useragent import UserAgent
from shards.errors import NotFound
from shards.informers.feed import Feed
from shards.informers.informer import Informer
from shards.informers.namespaced_informer import NamespacedInformer
from shards.journal import NO_JOURNAL
from shards.keyrange import WHOLE, PartitionKey
from shards.objects import Resource
from shards.settings import ScopeSettings
from shards.sharing.shared_informer import SharedInformer, SharedStreams
from shards.sharing.shared_stream import StreamMaker
from shards.versions import at_least
from shards.watching.source import FilterMode, Source
from tests.unit.shards.informers.test_informer_walk import Told

CONFIGMAPS = Resource("", "v1", "configmaps")
NAMESPACES = Resource("", "v1", "namespaces")
WHERE = ("blue", "green", "red")
AGENT = UserAgent(product="fleet/walk", member="w")


def source(*namespaces: str) -> Source:
    scope = ScopeSettings(namespaces, label_selector="walk=1", watch_each=True)
    return Source(CONFIGMAPS, WHOLE, PartitionKey.UID, scope, FilterMode.LOCAL, "primary")


class Walk:
    def __init__(self, seed: int, *, shared: bool) -> None:
        self.rng = random.Random(seed)
        self.loop = asyncio.get_running_loop()
        self.server = ApiServer(ServerSettings(bookmark_seconds=7.0), rng=self.rng, wall_seconds=lambda: 0.0)
        self.hand = Client(InProcessTransport(self.server, clock=self.loop.time))
        self.transport = InProcessTransport(self.server, clock=self.loop.time)
        self.told = Told()
        self.streams = SharedStreams()
        self.shared = shared
        self.informer = NamespacedInformer(source(*WHERE), {where: self.part(where) for where in WHERE}, self.loop.time)
        self.refusals: dict[str, Callable[[], None]] = {}
        self.asked: list[tuple[str, bool, asyncio.Future[str]]] = []

    def part(self, where: str) -> Feed:
        told: dict[str, Any] = {"handler": self.told, "on_progress": lambda: None, "clock": self.loop.time}
        if not self.shared:
            agent = str(AGENT)
            return Informer(self.transport, source(where), **told, rng=self.rng, namespace=where, user_agent=agent)
        make = StreamMaker(self.transport, self.loop.time, self.rng, None, AGENT, where)
        return SharedInformer(self.streams, make, source(where), **told, journal=NO_JOURNAL)

    async def step(self) -> None:
        where = self.rng.choice(WHERE)
        match self.rng.randrange(12):
            case 0 if where not in self.refusals:
                match = Match(resource=str(CONFIGMAPS), namespace=where, verbs=("list", "watch"), user_agent="walk")
                self.refusals[where] = self.server.faults.inject(Refuse(match=match, status=403)).release
                self.server.close()
            case 1 | 2 if where in self.refusals:
                self.refusals.pop(where)()
            case 3:
                self.server.faults.inject(ExpireWatch(match=Match(namespace=where, user_agent="walk"), times=1))
            case 4:
                seconds = self.rng.choice([0.0, 0.5, 3.0])
                self.server.faults.inject(DelayEvents(match=Match(namespace=where, user_agent="walk"), seconds=seconds))
            case 5:
                self.asked.append((str(self.server.storage.version), bool(self.refusals), self.informer.relist()))
            case 6:
                await asyncio.sleep(self.rng.choice([0.0, 0.01, 1.5, 20.0]))
            case _:
                await self.write(where)
        await asyncio.sleep(0)

    async def write(self, where: str) -> None:
        name = f"n{self.rng.randrange(4)}"
        body = {"metadata": {"name": name, "labels": {"walk": "1"}}, "data": {"n": str(self.rng.random())}}
        try:
            if self.rng.random() < 0.3:
                await self.hand.delete(CONFIGMAPS, where, name)
            else:
                await self.hand.merge_patch(CONFIGMAPS, where, name, body)
        except NotFound:
            await self.hand.create(CONFIGMAPS, where, body)

    async def there(self) -> dict[tuple[str, str], str]:
        found = {}
        for where in WHERE:
            listed = await self.hand.list(CONFIGMAPS, where, query=[("labelSelector", "walk=1")])
            for each in listed["items"]:
                found[where, each["metadata"]["name"]] = each["metadata"]["resourceVersion"]
        return found

    async def check(self) -> None:
        """After everything has come through, and nothing is refused."""
        store = self.informer.store
        there = await self.there()
        assert {(meta.namespace, meta.name): meta.resource_version for meta in store.metas()} == there
        assert {(name.namespace, name.name): meta.resource_version for name, meta in self.told.known.items()} == there
        assert self.told.wrong == []
        assert self.informer.synced.is_set()
        assert (self.informer.blind, self.informer.trouble) == (False, "")
        for version, refused, future in self.asked:
            if not refused:
                assert at_least(future.result(), version)
            assert future.done()


@pytest.mark.looptime
@pytest.mark.parametrize("shared", [False, True], ids=["of its own", "shared"])
@pytest.mark.parametrize("seed", range(8))
async def test_whatever_is_refused_or_breaks_the_view_ends_equal_to_the_server(seed: int, shared: bool) -> None:
    walk = Walk(seed, shared=shared)
    for where in WHERE:
        walk.server.seed(NAMESPACES, {"metadata": {"name": where}})
    running = asyncio.create_task(walk.informer.run())
    try:
        for _ in range(5):
            for _ in range(60):
                await walk.step()
                seen = [where for where in WHERE if not walk.informer.store.blind(where)]
                assert walk.informer.synced.is_set() <= bool(seen)
            walk.refusals.clear()
            walk.server.faults.clear()
            await asyncio.sleep(120)
            await walk.check()
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert asyncio.all_tasks() == {asyncio.current_task()}
