"""Many shards on one stream against the embedded server, through faults drawn at random, on virtual time.

Shards come and go, ask for lists of their own, children move between owners of different shards, histories are lost;
every shard sees what it would have seen through an informer of its own.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayEvents, LostAck
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.api.useragent import UserAgent
from shards.informers.informer import Informer
from shards.journal import NO_JOURNAL
from shards.keyrange import WHOLE, KeyRange, PartitionKey, equal_boundaries, ranges_from
from shards.objects import Meta, Resource
from shards.settings import ScopeSettings
from shards.sharing.shared_informer import SharedInformer, SharedStreams
from shards.sharing.shared_stream import StreamMaker
from shards.versions import at_least
from shards.watching.source import FilterMode, Role, Source
from tests.unit.shards.informers.test_informer_walk import Told

CONFIGMAPS = Resource("", "v1", "configmaps")
PATH = CONFIGMAPS.path("default")
WALK = Match(user_agent="fleet/walk")
NAMES = [f"n{number}" for number in range(8)]
OWNERS = [f"owner-{number}-{number * 7919:x}" for number in range(12)]
RANGES = ranges_from(equal_boundaries(4))


class Part:
    """One shard's view, and what it was told."""

    def __init__(self, walk: Walk, covered: KeyRange, role: Role) -> None:
        self.told = Told()
        self.source = Source(CONFIGMAPS, covered, PartitionKey.UID, ScopeSettings(), FilterMode.LOCAL, role)
        self.shown: list[str] = []
        self.informer = SharedInformer(
            walk.streams,
            walk.make,
            self.source,
            handler=self.told,
            on_progress=lambda: self.shown.append(self.informer.store.resource_version),
            clock=walk.loop.time,
            journal=NO_JOURNAL,
        )
        self.asked: list[tuple[str, asyncio.Future[str]]] = []
        if walk.rng.random() < 0.3:
            self.ask(walk)
        self.task = asyncio.create_task(self.informer.run())

    def ask(self, walk: Walk) -> None:
        future = self.informer.relist()
        self.asked.append((str(walk.server.storage.version), future))

        def fresh(done: asyncio.Future[str]) -> None:
            if not done.cancelled():
                assert at_least(self.informer.store.resource_version, done.result())

        future.add_done_callback(fresh)

    def held(self) -> dict[str, str]:
        return {meta.name: meta.resource_version for meta in self.informer.store.metas()}

    def told_of(self) -> dict[str, str]:
        return {name.name: meta.resource_version for name, meta in self.told.known.items()}

    async def close(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task


class Walk:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.loop = asyncio.get_running_loop()
        self.server = ApiServer(ServerSettings(bookmark_seconds=7.0), rng=self.rng, wall_seconds=lambda: 0.0)
        self.writer = InProcessTransport(self.server, clock=self.loop.time)
        transport = InProcessTransport(self.server, clock=self.loop.time)
        agent = UserAgent(product="fleet/walk", member="w")
        self.streams = SharedStreams()
        self.make = StreamMaker(transport, self.loop.time, self.rng, None, agent, "default")
        self.objects: dict[str, dict[str, Any]] = {}
        self.parts: list[Part] = []

    def wanted(self, part: Part) -> dict[str, str]:
        metas = [msgspec.convert(each["metadata"], Meta) for each in self.objects.values()]
        return {meta.name: meta.resource_version for meta in metas if part.source.admits(meta)}

    async def write(self) -> None:
        name = self.rng.choice(NAMES)
        if name in self.objects and self.rng.random() < 0.3:
            await self.writer.request("DELETE", f"{PATH}/{name}")
            del self.objects[name]
            return
        metadata: dict[str, Any] = {"name": name}
        if self.rng.random() < 0.8:
            uid = self.rng.choice(OWNERS)
            owner = {"apiVersion": "demo/v1", "kind": "Site", "name": uid, "uid": uid, "controller": True}
            metadata["ownerReferences"] = [owner]
        body = msgspec.json.encode({"metadata": metadata, "data": {"n": str(self.rng.random())}})
        method, path = ("PUT", f"{PATH}/{name}") if name in self.objects else ("POST", PATH)
        self.objects[name] = msgspec.json.decode(await self.writer.request(method, path, body=body))

    def come(self) -> None:
        role: Role = self.rng.choice(["primary", "owned", "owned", "watched"])
        covered = WHOLE if role == "watched" else self.rng.choice(RANGES)
        taken = {(part.source.role, part.source.range) for part in self.parts}
        if role == "watched" or (role, covered) not in taken:
            self.parts.append(Part(self, covered, role))

    async def go(self) -> None:
        if self.parts:
            part = self.parts.pop(self.rng.randrange(len(self.parts)))
            await asyncio.sleep(0)  # a task that is cancelled before its first step cannot cancel anything itself
            await part.close()
            for _, future in part.asked:
                assert future.done()

    async def step(self) -> None:
        match self.rng.randrange(14):
            case 0:
                self.server.faults.inject(LostAck(match=WALK, times=self.rng.randrange(2)))
                self.server.close()
                await self.write()
                if self.rng.random() < 0.5:
                    self.server.storage.compact()
                await asyncio.sleep(self.rng.choice([0.0, 5.0]))
            case 1:
                self.server.close()
            case 2 if self.parts:
                self.rng.choice(self.parts).ask(self)
            case 3:
                await asyncio.sleep(self.rng.choice([0.0, 0.01, 1.5, 20.0]))
            case 4:
                self.server.faults.inject(DelayEvents(match=WALK, seconds=self.rng.choice([0.0, 0.5, 3.0])))
            case 5 | 6 if len(self.parts) < 9:
                self.come()
            case 7 if self.rng.random() < 0.4:
                await self.go()
            case _:
                await self.write()
        for _ in range(self.rng.randrange(4)):
            await asyncio.sleep(0)

    def check(self) -> None:
        """After everything has come through."""
        for part in self.parts:
            assert part.held() == self.wanted(part), (part.source.role, part.source.range)
            assert part.told_of() == part.held()
            assert part.told.wrong == []
            assert part.informer.synced.is_set()
            assert all(at_least(later, earlier) for earlier, later in pairwise(filter(None, part.shown)))
            for began, future in part.asked:
                assert at_least(future.result(), began)
            assert part.informer.store.regressions == 0


@pytest.mark.looptime
@pytest.mark.parametrize("streams", [False, True], ids=["pages", "streamed"])
@pytest.mark.parametrize("seed", range(15))
async def test_whatever_breaks_every_shard_sees_its_part_and_is_told_of_it_once(
    seed: int, streams: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(Informer)["__init__"].__kwdefaults__, "streams", streams)
    if seed % 2:
        monkeypatch.setattr("shards.limits.slices.SLICE_OBJECTS", 1)  # others run between any two objects
    walk = Walk(seed)
    try:
        for _ in range(5):
            for _ in range(60):
                await walk.step()
            walk.server.faults.clear()
            await asyncio.sleep(90)
            walk.check()
    finally:
        for part in walk.parts:
            await part.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
