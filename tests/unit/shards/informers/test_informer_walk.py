"""The informer against the embedded server, through faults drawn at random, on virtual time."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from itertools import pairwise

import msgspec
import pytest

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayEvents, LostAck
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.informers.informer import Informer
from shards.keyrange import WHOLE, PartitionKey
from shards.objects import Meta, ObjectName, Resource
from shards.settings import ScopeSettings
from shards.stores.store import Change
from shards.versions import at_least
from shards.watching.source import FilterMode, Source

CONFIGMAPS = Resource("", "v1", "configmaps")
PATH = CONFIGMAPS.path("default")
WALK = Match(user_agent="walk")
NAMES = [f"n{number}" for number in range(6)]


class Told:
    """What a consumer knows that only heard changes. wrong: those that do not fit what it knew."""

    def __init__(self) -> None:
        self.known: dict[ObjectName, Meta] = {}
        self.wrong: list[tuple[Change, Meta | None]] = []

    def __call__(self, change: Change) -> None:
        meta = change.new or change.old
        assert meta is not None
        name = ObjectName(meta.namespace, meta.name)
        known = self.known.pop(name, None)
        if change.new is not None:
            self.known[name] = change.new
        if change.old != known or (known and change.new and known.resource_version == change.new.resource_version):
            self.wrong.append((change, known))


@pytest.mark.looptime
@pytest.mark.parametrize("streams", [False, True], ids=["pages", "streams"])
@pytest.mark.parametrize("seed", range(12))
async def test_whatever_breaks_no_change_is_lost_or_told_twice(seed: int, streams: bool) -> None:
    rng = random.Random(seed)
    loop = asyncio.get_running_loop()
    server = ApiServer(ServerSettings(bookmark_seconds=7.0), rng=rng, wall_seconds=lambda: 0.0)
    writer = InProcessTransport(server, clock=loop.time)
    told, shown = Told(), [""]
    source = Source(CONFIGMAPS, WHOLE, PartitionKey.UID, ScopeSettings(), FilterMode.LOCAL, "primary")
    informer = Informer(
        InProcessTransport(server, clock=loop.time),
        source,
        handler=told,
        on_progress=lambda: shown.append(informer.store.resource_version),
        clock=loop.time,
        rng=rng,
        namespace="default",
        user_agent="fleet/walk",
        streams=streams,
    )
    objects: dict[str, str] = {}
    asked: list[tuple[str, asyncio.Future[str]]] = []

    async def write() -> None:
        name = rng.choice(NAMES)
        if name in objects and rng.random() < 0.4:
            await writer.request("DELETE", f"{PATH}/{name}")
            del objects[name]
            return
        body = msgspec.json.encode({"metadata": {"name": name}, "data": {"n": str(rng.random())}})
        method, path = ("PUT", f"{PATH}/{name}") if name in objects else ("POST", PATH)
        answer = msgspec.json.decode(await writer.request(method, path, body=body))
        objects[name] = answer["metadata"]["resourceVersion"]

    def held() -> dict[str, str]:
        return {meta.name: meta.resource_version for meta in informer.store.metas()}

    async def step() -> None:
        match rng.randrange(10):
            case 0:
                server.faults.inject(LostAck(match=WALK, times=rng.randrange(2)))
                server.close()
                await write()
                if rng.random() < 0.5:
                    server.storage.compact()
                await asyncio.sleep(rng.choice([0.0, 5.0]))
            case 1:
                server.close()
            case 2:
                if rng.random() < 0.3:
                    asked.append((str(server.storage.version), informer.relist()))
            case 3:
                await asyncio.sleep(rng.choice([0.0, 0.01, 1.5, 20.0]))
            case 4:
                server.faults.inject(DelayEvents(match=WALK, seconds=rng.choice([0.0, 3.0])))
            case _:
                await write()
        for _ in range(rng.randrange(3)):
            await asyncio.sleep(0)

    running = asyncio.create_task(informer.run())
    try:
        for _ in range(120):
            await step()
        server.faults.clear()
        await asyncio.sleep(60)
        assert held() == objects
        assert told.wrong == []
        assert {name.name: meta.resource_version for name, meta in told.known.items()} == objects
        for began, future in asked:
            assert at_least(future.result(), began)
        assert informer.store.regressions == 0
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert all(at_least(later, earlier) for earlier, later in pairwise(filter(None, shown)))
    assert asyncio.all_tasks() == {asyncio.current_task()}
