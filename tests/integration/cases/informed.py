"""An informer of the embedded server, in virtual time, that notes what it asks for and checks what it tells."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import msgspec
from prometheus_client import CollectorRegistry

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.faults import Match
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.api.client import Client, Query, Transport
from shards.informers.informer import Informer
from shards.keyrange import WHOLE, PartitionKey
from shards.metrics import ShardMetrics
from shards.objects import Meta, Object, ObjectName, Resource
from shards.settings import ScopeSettings
from shards.stores.indexes import Index
from shards.stores.intake import Intake
from shards.stores.store import Change, StoreWriter
from shards.watching.source import FilterMode, Source
from tests.integration.watchsim.clients import SmallPages
from tests.unit.shards.informers.test_informer_walk import Told

CONFIGMAPS = Resource("", "v1", "configmaps")
PAGE = 5
"""Objects of a page, so that small lists have several."""
TEXT = "日本語 🦊 é"

WATCHES = Match(verbs=("watch",), user_agent="informed")
LISTS = Match(verbs=("list",), user_agent="informed")
INFORMED = Match(user_agent="informed")
"""The informer's requests, and not the writer's."""


@dataclass(frozen=True)
class Asked:
    """One request of the informer. kind: list (a page), check (one object, for its version) or watch."""

    at: float
    kind: str
    query: dict[str, str]


class Noting(SmallPages):
    """Notes requests. before_page: runs before the page of that number of a list, from 1."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner, PAGE)
        self.asked: list[Asked] = []
        self.pages = 0
        self.before_page: dict[int, Callable[[], None]] = {}

    async def request(self, method: str, path: str, *, query: Query = (), **options: Any) -> bytes:
        found = dict(query)
        kind = "check" if found["limit"] == "1" else "list"
        self._note(kind, found)
        if kind == "list":
            self.pages = self.pages + 1 if "continue" in found else 1
            self.before_page.pop(self.pages, lambda: None)()
        return await super().request(method, path, query=query, **options)

    def stream(
        self, path: str, *, query: Query = (), **options: Any
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        self._note("watch", dict(query))
        return super().stream(path, query=query, **options)

    def _note(self, kind: str, query: dict[str, str]) -> None:
        self.asked.append(Asked(asyncio.get_running_loop().time(), kind, query))


def _by_text(data: Any) -> tuple[str, ...]:
    return (data.get("data", {}).get("t", ""),)


class Informed:
    """told: what a consumer knows that only heard the changes. changes: all of them, in order."""

    def __init__(
        self, of: ApiServer | None = None, *, selector: str = "", streams: bool = False, seed: int = 0
    ) -> None:
        """of: a server that others watch too, instead of one of its own."""
        loop = asyncio.get_running_loop()
        self.server = of or ApiServer(ServerSettings(), rng=random.Random(1), wall_seconds=loop.time)
        self.kubectl = Client(InProcessTransport(self.server, clock=loop.time), user_agent="kubectl")
        self.transport = Noting(InProcessTransport(self.server, clock=loop.time))
        self.told = Told()
        self.changes: list[Change] = []
        self.registry = CollectorRegistry()
        scope = ScopeSettings(label_selector=selector)
        self.informer = Informer(
            self.transport,
            Source(CONFIGMAPS, WHOLE, PartitionKey.UID, scope, FilterMode.LOCAL, "primary"),
            handler=self._hear,
            on_progress=lambda: None,
            clock=loop.time,
            rng=random.Random(seed),
            metrics=ShardMetrics(self.registry),
            namespace="default",
            user_agent="informed",
            streams=streams,
            writer=StoreWriter(Intake(indexes=(Index("text", _by_text, dict), Index.namespace()))),
        )
        self._running: asyncio.Task[None] | None = None

    def _hear(self, change: Change) -> None:
        self.told(change)
        self.changes.append(change)

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self.informer.run())
        await self.informer.synced.wait()
        await asyncio.sleep(1)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._running is not None
        self._running.cancel()
        with suppress(asyncio.CancelledError):
            await self._running
        self.server.close()

    def put(self, *names: str, text: str = TEXT, **labels: str) -> None:
        """Makes objects without a request."""
        for name in names:
            metadata = {"name": name, "namespace": "default", "labels": labels}
            self.server.seed(CONFIGMAPS, {"metadata": metadata, "data": {"t": text}})

    async def change(self, name: str, text: str) -> None:
        await self.kubectl.merge_patch(CONFIGMAPS, "default", name, {"data": {"t": text}})

    async def create(self, name: str) -> Object:
        body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": {"t": TEXT}}
        return await self.kubectl.create(CONFIGMAPS, "default", body)

    async def delete(self, name: str) -> None:
        await self.kubectl.delete(CONFIGMAPS, "default", name)

    def break_watches(self) -> None:
        """All open watches end, as when a server goes away."""
        self.server.watching.end()

    def lose_history(self) -> None:
        """Nothing older can be watched from, nor a list be continued."""
        self.server.storage.compact()

    def held(self) -> dict[str, str]:
        """Versions by name."""
        return {meta.name: meta.resource_version for meta in self.informer.store.metas()}

    def uids(self) -> list[tuple[str, str]]:
        """The UID before and after, of each change that brought or took an incarnation."""

        def uid(meta: Meta | None) -> str:
            return meta.uid if meta else ""

        found = [(uid(change.old), uid(change.new)) for change in self.changes]
        return [(old, new) for old, new in found if old != new]

    async def truth(self) -> dict[str, str]:
        query = self.informer.source.query()
        items = (await self.kubectl.list(CONFIGMAPS, "default", query=query))["items"]
        return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in items}

    async def equal(self, within_seconds: float) -> float:
        """Waits until the view, its indexes and whoever hears of it agree with the server. Answers after how long."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while self.held() != (wanted := await self.truth()):
            assert loop.time() < began + within_seconds, f"{self.held()} is not {wanted}: {self.informer.trouble}"
            await asyncio.sleep(0.05)
        self.check()
        return loop.time() - began

    def check(self) -> None:
        """What was told fits, and the indexes are those of the objects."""
        assert self.told.wrong == []
        assert {name.name: meta.resource_version for name, meta in self.told.known.items()} == self.held()
        store = self.informer.store
        for meta in store.metas():
            body = msgspec.json.decode(store.raw(ObjectName(meta.namespace, meta.name)) or b"{}")
            assert meta.name in self.found(body["data"]["t"])
        assert sum(len(self.found(text)) for text in self.texts()) == len(store)

    def texts(self) -> set[str]:
        store = self.informer.store
        return {
            msgspec.json.decode(store.raw(ObjectName(meta.namespace, meta.name)) or b"{}")["data"]["t"]
            for meta in store.metas()
        }

    def found(self, text: str) -> list[str]:
        return sorted(name.name for name in self.informer.store.find("text", text).names)

    def asked(self, kind: str = "", since: float = 0.0) -> list[Asked]:
        return [each for each in self.transport.asked if kind in ("", each.kind) and each.at >= since]

    def resumed_from(self) -> list[str]:
        return [each.query.get("resourceVersion", "") for each in self.asked("watch")]

    def counted(self, name: str, **labels: str) -> float:
        which = "name" if name.startswith("reflector") else "resource"
        return self.registry.get_sample_value(name, {which: "v1/configmaps", **labels}) or 0.0


async def every(seconds: float, times: int, act: Callable[[int], Awaitable[object]]) -> None:
    for number in range(times):
        await act(number)
        await asyncio.sleep(seconds)


def gaps(found: Sequence[Asked]) -> list[float]:
    return [later.at - earlier.at for earlier, later in pairwise(found)]


@asynccontextmanager
async def informed(*names: str, **options: Any) -> AsyncIterator[Informed]:
    """With these objects from the beginning."""
    rig = Informed(**options)
    rig.put(*names)
    async with rig:
        yield rig
