"""Cases of names and of history: a name that is taken, an object that is gone before its create is answered, a view
that goes back in time. In virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayAnswers, DelayEvents, StaleReplica
from fleet.devcluster.server import ApiServer
from shards import Context, Controller, Request
from shards.keyrange import WHOLE
from shards.objects import Object, ObjectName, Resource
from shards.ownership.fenced_requests import FencedRequests
from shards.ownership.overlay import Live
from shards.ownership.view import View
from shards.shard import Shard
from shards.stores.store import StoreReader
from shards.watching.listing import Listing
from shards.watching.watch_requests import ListPage
from tests.integration.cases.gated import CONTROLLER, ON_AND_OFF, Gated, gated, gated_world
from tests.unit.shards.world import CONFIGMAPS, WEBSITES

pytestmark = pytest.mark.looptime


def _ended(world: Gated, result: str) -> float:
    return world.metric("controller_runtime_reconcile_total", controller=CONTROLLER, result=result)


# -- B08: it exists already, and the view cannot find it ---------------------------------------------------------------


async def ensured(ctx: Context, request: Request) -> None:
    site = ctx.store.get()
    if site is not None:
        data = {"text": site["spec"]["text"]}
        await ctx.client.ensure(CONFIGMAPS, {"metadata": {"name": request.name}, "data": data})


async def _ensured_twice(world: Gated) -> None:
    """The view does not show the page when the key runs again."""
    world.lag(CONFIGMAPS, 10.0)
    world.website(text="old")
    await asyncio.sleep(0.5)
    await world.touch(text="new")
    await asyncio.sleep(5.0)


@ON_AND_OFF
async def test_b08_what_exists_already_is_read_live_and_adopted_where_it_is_the_keys_own(gate: bool) -> None:
    """With the gate the key runs on what was read live, and creates nothing. Without, the refused create is followed
    by a live read."""
    async with gated(ensured, gate=gate) as world:
        await _ensured_twice(world)
        assert world.there()["a"]["data"] == {"text": "new"}
        assert len(world.posts()) == 1
        assert len(world.asked("POST", CONFIGMAPS)) == (1 if gate else 2)
        assert _ended(world, "error") == _ended(world, "conflict") == 0


@ON_AND_OFF
async def test_b08_what_somebody_else_has_is_left_alone_and_told(gate: bool) -> None:
    """No view shows it: it has not the label by which views are filtered."""
    async with gated(ensured, gate=gate) as world:
        world.server.seed(CONFIGMAPS, {"metadata": {"name": "a", "namespace": "default"}, "data": {"text": "theirs"}})
        world.website(text="ours")
        await asyncio.sleep(60.0)
        assert world.there()["a"]["data"] == {"text": "theirs"}
        assert world.asked("PATCH", CONFIGMAPS) == []
        assert _ended(world, "error") == 0
        assert 30 < _ended(world, "not_ready") <= 80, "it is tried about once a second"
        [waiting] = world.shards[0].waiting(5)
        assert "has no controller" in waiting.why


async def test_b08_oracle_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked of the view, what exists already is not there, again and again."""

    async def of_the_view(
        self: FencedRequests, resource: Resource, name: ObjectName, purpose: str, **options: object
    ) -> Object | None:
        return self.view.get(resource, name)

    monkeypatch.setattr(FencedRequests, "read", of_the_view)
    async with gated(ensured, gate=False) as world:
        await _ensured_twice(world)
        assert len(world.asked("POST", CONFIGMAPS)) > 3
        assert _ended(world, "conflict") > 3


# -- B14: gone before its create is answered ---------------------------------------------------------------------------


class Poster:
    """Posts a page and looks whether it is there. seen: what the view showed after the answer."""

    def __init__(self) -> None:
        self.seen: list[Object | None] = []

    async def reconcile(self, ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is not None and not ctx.store.owned(CONFIGMAPS):
            await ctx.client.create(CONFIGMAPS, {"metadata": {"name": request.name}})
            self.seen.append(ctx.store.get(CONFIGMAPS, request.name))


async def _gone_before_the_answer(gate: bool) -> tuple[list[Object | None], Gated]:
    poster = Poster()
    async with gated(poster.reconcile, gate=gate) as world:
        posts = Match(verbs=("create",), resource=str(CONFIGMAPS))
        world.server.faults.inject(DelayAnswers(match=posts, seconds=5.0, times=1))
        world.website()
        await asyncio.sleep(1.0)
        first = world.there()["a"]["metadata"]["uid"]
        await world.kubectl.delete(CONFIGMAPS, "default", "a")
        await asyncio.sleep(5.0)
        store = world.shards[0].views[str(CONFIGMAPS)].store
        assert store.name_of(first) is None
        assert world.shards[0].load()["parked"] == 0
        assert world.there()["a"]["metadata"]["uid"] != first, "its end has woken the key, which made it anew"
        return poster.seen, world


@ON_AND_OFF
async def test_b14_the_late_answer_to_a_create_does_not_bring_back_what_was_deleted_meanwhile(gate: bool) -> None:
    """The view remembers the end of that UID."""
    seen, world = await _gone_before_the_answer(gate)
    assert seen[0] is None
    assert world.parks() == 0


async def test_b14_oracle_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that cover the view whatever it knows."""

    def always(self: View, resource: Resource, name: ObjectName, store: StoreReader) -> Live | None:
        return self._overlay.get((resource, name))

    monkeypatch.setattr(View, "_above", always)
    seen, _ = await _gone_before_the_answer(gate=True)
    assert seen[0] is not None


# -- B16: a restart, or a new owner, that goes back in time ------------------------------------------------------------

NODE = "node-1"


class Node:
    """Starts what is placed on it, which nobody can take back. Two nodes that run one thing are what must not be.

    told: the runtime is told what the start rests on.
    """

    def __init__(self, *, told: bool = False) -> None:
        self.told = told
        self.started: list[str] = []
        self.versions: list[int] = []

    def controller(self) -> Controller:
        pods = Controller("node", primary=str(WEBSITES))
        pods.reconcile(self.reconcile)
        return pods

    async def reconcile(self, ctx: Context, request: Request) -> None:
        pod = ctx.store.get()
        if pod is not None:
            self.versions.append(int(pod["metadata"]["resourceVersion"]))
            if pod["spec"]["node"] == NODE:
                async with ctx.confirmed(pod, reason="start") if self.told else nullcontext():
                    self.started.append(request.uid)


@asynccontextmanager
async def _moved_away(gate: bool, before: Node) -> AsyncIterator[tuple[Gated, ApiServer, int]]:
    """One front end has stood still since before the pod was deleted here and made again elsewhere. The floor."""
    async with gated_world(gate=gate) as world:
        stale = world.server.another("stale")
        await world.running(before.controller())
        world.website(node=NODE)
        await asyncio.sleep(1.0)
        stale.cache.freeze()
        moved = await world.recreate(node="node-2")
        await asyncio.sleep(1.0)
        yield world, stale, int(moved["metadata"]["resourceVersion"])
        stale.close()


async def _restarted(gate: bool) -> Node:
    """The worker starts again, and that front end answers all that it asks."""
    before, after = Node(), Node()
    async with _moved_away(gate, before) as (world, stale, floor):
        assert len(before.started) == 1
        await world.shards[0].stop()
        world.server.faults.inject(StaleReplica(match=Match(user_agent="fleet/"), replica="stale"))
        shard = world.shard(after.controller())
        activating = asyncio.create_task(shard.activate(world.tenure(epoch=2), None, previous_epoch=1))
        await asyncio.sleep(30.0)
        stale.cache.thaw()
        await activating
        await asyncio.sleep(30.0)
        assert after.versions
        if after.started == []:
            assert min(after.versions) >= floor
        return after


@ON_AND_OFF
async def test_b16_a_restart_does_not_go_back_to_what_a_front_end_that_stands_still_shows(gate: bool) -> None:
    """Lists are consistent: they name no version, so that no cache answers them as it is."""
    assert (await _restarted(gate)).started == []


async def test_b16_oracle_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Listing.next_page

    def from_any_cache(self: Listing) -> ListPage:
        self.floor = ""
        return ListPage((*asked(self).query, ("resourceVersion", "0")), first=True)

    monkeypatch.setattr(Listing, "next_page", from_any_cache)
    assert len((await _restarted(True)).started) == 1


async def _handed_over(gate: bool, *, told: bool = False) -> Node:
    """The next owner stood by with a view that stands still since then."""
    before, after = Node(told=told), Node(told=told)
    async with gated_world(gate=gate) as world:
        owner = await world.running(before.controller())
        world.website(node=NODE)
        await asyncio.sleep(1.0)
        standby = Shard(WHOLE, [after.controller()], world.worker(), "worker-1")
        world.shards.append(standby)
        await standby.prewarm()
        world.server.faults.inject(DelayEvents(match=Match(member="worker-1")))
        await world.recreate(node="node-2")
        await asyncio.sleep(1.0)
        mark = await owner.drain(1.0)
        await owner.stop()
        await standby.activate(world.tenure(epoch=2), mark, previous_epoch=1)
        await asyncio.sleep(30.0)
        assert len(before.started) == 1
        return after


async def test_b16_a_new_owner_does_not_go_back_behind_what_the_old_one_has_seen() -> None:
    assert (await _handed_over(gate=True)).started == []


async def test_b16_without_the_gate_the_new_owner_starts_what_runs_elsewhere() -> None:
    assert len((await _handed_over(gate=False)).started) == 1


@ON_AND_OFF
async def test_b16_a_start_that_is_confirmed_is_not_made_on_an_old_view_either_way(gate: bool) -> None:
    assert (await _handed_over(gate, told=True)).started == []
