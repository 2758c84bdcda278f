"""VersionGate is switched while a shard runs: off counts at once, and on again is safe."""

from __future__ import annotations

import asyncio

import pytest

from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller, Result
from shards.features import Canary, Feature
from shards.gates.watermark import ResourceMark, Watermark
from shards.settings import GateSettings, ShardSettings
from shards.shard import Shard
from shards.watching.source import FilterMode
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, World

pytestmark = pytest.mark.looptime

PATIENT = GateSettings(live_read_after_seconds=3600.0)
"""Nothing is settled by a live read: what frees a key is its view, or the switch."""

UNREACHED = str(10**9)
"""A version that no view comes to."""


def switch(world: World, on: bool, **canary: object) -> None:
    gate = GateSettings(enabled=on, live_read_after_seconds=PATIENT.live_read_after_seconds)
    chosen = Canary(frozenset({Feature.VERSION_GATE}), **canary) if canary else Canary()  # type: ignore[arg-type]
    world.runtime.change(ShardSettings(gate=gate, canary=chosen))


class Author:
    """Makes a page every half second, and notes which of those before its view did not show."""

    def __init__(self, world: World, name: str = "websites", pages: int = 100) -> None:
        """pages: how many it makes at most."""
        self.runs: list[float] = []
        self.made: list[str] = []
        self.missed: list[str] = []
        self.controller = Controller(name, primary=str(WEBSITES)).owns(str(CONFIGMAPS))
        self.controller.reconcile(self.reconcile)
        self._world = world
        self._made_at = 0.0
        self._most = pages

    async def reconcile(self, ctx: Context, request: Request) -> Result:
        self.runs.append(self._world.clock())
        shown = {page["metadata"]["name"] for page in ctx.store.owned(CONFIGMAPS)}
        self.missed += [name for name in self.made if name not in shown]
        if len(self.made) < self._most and self.runs[-1] - self._made_at > 0.4:
            self._made_at = self.runs[-1]
            name = f"{self.controller.name}-{len(self.made)}"
            await ctx.client.create(CONFIGMAPS, {"metadata": {"name": name}})
            self.made.append(name)
        return Result(requeue_after_seconds=0.5)


def parked(shard: Shard) -> float:
    return shard.load()["parked"]


async def with_a_parked_key(world: World, author: Author) -> Shard:
    """A shard whose only key waits for a page that its view does not show."""
    shard = await standing_by(world, author, on=True)
    world.lag(CONFIGMAPS)
    await shard.activate(world.tenure(), None, previous_epoch=0)
    await asyncio.sleep(5)
    assert (len(author.made), parked(shard)) == (1, 1)
    return shard


def mark_at(shard: Shard, version: str) -> Watermark:
    """What an owner with the same views left, at that version of each."""
    digests = {name: view.source.digest for name, view in shard.views.items()}
    return Watermark(1, {name: ResourceMark(digest, version) for name, digest in digests.items()})


async def standing_by(world: World, author: Author, *, on: bool) -> Shard:
    """A shard whose views are there, before its claim, while the gate is on or off."""
    switch(world, on=on)
    world.website("a")
    shard = world.shard(author.controller)
    await shard.prewarm()
    return shard


async def test_switched_off_it_frees_what_it_held_back_at_once(world: World) -> None:
    author = Author(world)
    shard = await with_a_parked_key(world, author)
    off_at = world.clock()
    switch(world, on=False)
    assert parked(shard) == 0
    await asyncio.sleep(0.1)
    assert author.runs[-1] - off_at < 0.01
    assert author.missed


async def test_switched_on_again_nothing_runs_on_a_view_without_what_was_written_meanwhile(world: World) -> None:
    author = Author(world)
    switch(world, on=False)
    world.website("a")
    shard = await world.running(author.controller)
    await asyncio.sleep(1)
    release = world.lag(CONFIGMAPS)
    await asyncio.sleep(2)
    assert author.missed, "with the gate off, the same history goes wrong"
    author.missed.clear()
    runs = len(author.runs)
    switch(world, on=True)
    await asyncio.sleep(60)
    # The list that the gate asks for shows all pages: one more is made, and its key waits for it.
    assert (author.missed, len(author.runs), parked(shard)) == ([], runs + 1, 1)
    release()
    await asyncio.sleep(5)
    assert author.missed == []
    assert len(author.runs) > runs + 5


async def test_off_and_on_again_a_live_read_settles_what_a_view_never_shows(world: World) -> None:
    author = Author(world, pages=3)
    switch(world, on=False)
    world.website("a")
    await world.running(author.controller)
    world.lag(CONFIGMAPS)
    await asyncio.sleep(2)
    author.missed.clear()
    runs = len(author.runs)
    world.runtime.change(ShardSettings(gate=GateSettings(live_read_after_seconds=2.0)))
    await asyncio.sleep(30)
    assert author.missed == []
    assert len(author.runs) > runs


class TestHandover:
    """A shard that was activated while the gate was off goes through it when it is switched on."""

    async def test_the_views_are_listed_before_anything_begins(self, world: World) -> None:
        author = Author(world, pages=0)
        shard = await standing_by(world, author, on=False)
        await shard.activate(world.tenure(), None, previous_epoch=0)
        await asyncio.sleep(2)
        world.transport.sent.clear()
        world.transport.latency_seconds = 1.0
        runs = len(author.runs)
        switch(world, on=True)
        assert shard.open
        await asyncio.sleep(0.9)
        assert len(author.runs) == runs
        await asyncio.sleep(5)
        assert len(author.runs) > runs
        assert {each.path for each in world.transport.reads("informer")} >= {
            "/apis/demo.shardfleet.dev/v1/websites",
            "/api/v1/configmaps",
        }

    async def test_a_mark_that_was_reached_meanwhile_costs_no_list(self, world: World) -> None:
        author = Author(world, pages=0)
        shard = await standing_by(world, author, on=False)
        await shard.activate(world.tenure(epoch=2), mark_at(shard, "1"), previous_epoch=1)
        await asyncio.sleep(1)
        world.transport.sent.clear()
        switch(world, on=True)
        runs = len(author.runs)
        await asyncio.sleep(1)
        assert len(author.runs) > runs
        assert world.transport.reads("informer") == []
        assert (await shard.drain(1.0)).marks

    async def test_nothing_begins_while_a_mark_is_not_reached(self, world: World) -> None:
        author = Author(world, pages=0)
        shard = await standing_by(world, author, on=False)
        await shard.activate(world.tenure(epoch=2), mark_at(shard, UNREACHED), previous_epoch=1)
        await asyncio.sleep(1)
        runs = len(author.runs)
        switch(world, on=True)
        await asyncio.sleep(60)
        assert len(author.runs) == runs
        switch(world, on=False)
        await asyncio.sleep(1)
        assert len(author.runs) > runs

    async def test_an_activation_does_not_wait_for_a_gate_that_is_switched_off_meanwhile(self, world: World) -> None:
        author = Author(world, pages=0)
        shard = await standing_by(world, author, on=True)
        mark = mark_at(shard, UNREACHED)
        opening = asyncio.create_task(shard.activate(world.tenure(epoch=2), mark, previous_epoch=1))
        await asyncio.sleep(10)
        assert not opening.done()
        assert "behind the watermark" in shard.closed
        switch(world, on=False)
        await asyncio.sleep(1)
        assert opening.done()
        assert author.runs

    async def test_a_shard_that_never_went_through_it_leaves_no_mark(self, world: World) -> None:
        """Its views need not include what its own predecessor wrote, and the next owner must not take them for that."""
        author = Author(world, pages=0)
        switch(world, on=False)
        shard = world.shard(author.controller)
        await shard.prewarm()
        await shard.activate(world.tenure(epoch=2), None, previous_epoch=1)
        assert (await shard.drain(1.0)) == Watermark(2)

    async def test_a_switch_in_the_middle_of_an_activation_opens_no_second_gate(self, world: World) -> None:
        author = Author(world, pages=0)
        world.website("a")
        shard = world.shard(author.controller)
        await shard.prewarm()
        world.transport.accepted.clear()
        world.transport.latency_seconds = 1.0
        opening = asyncio.create_task(shard.activate(world.tenure(), None, previous_epoch=0))
        await asyncio.sleep(0.5)
        world.runtime.change(ShardSettings(server_side_sharding="off"))
        await opening
        await asyncio.sleep(5)
        assert author.runs
        assert world.metric("shardfleet_handover_gate_seconds_count") == 1

    async def test_a_tenure_that_lapsed_and_was_renewed_late_ends_no_wait_for_ever(self, world: World) -> None:
        author = Author(world, pages=0)
        shard = await standing_by(world, author, on=False)
        tenure = world.tenure()
        await shard.activate(tenure, None, previous_epoch=0)
        await asyncio.sleep(1)
        world.transport.latency_seconds = 1.0
        until, tenure.until = tenure.until, lambda: world.clock() - 1.0
        switch(world, on=True)
        await asyncio.sleep(5)
        tenure.until = until
        runs = len(author.runs)
        await asyncio.sleep(10)
        assert len(author.runs) > runs

    async def test_stopped_in_the_middle_nothing_is_left(self, world: World) -> None:
        author = Author(world, pages=0)
        switch(world, on=False)
        shard = world.shard(author.controller)
        await shard.prewarm()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        world.transport.latency_seconds = 5.0
        switch(world, on=True)
        await asyncio.sleep(1)
        await shard.stop()
        switch(world, on=False)
        assert not [task for task in asyncio.all_tasks() if "gate" in task.get_name()]


async def test_a_canary_of_one_controller_leaves_the_others_as_if_it_were_off(world: World) -> None:
    inside, outside = Author(world, "inside"), Author(world, "outside")
    switch(world, on=True, controllers=frozenset({"inside"}))
    world.website("a")
    shard = world.shard([inside.controller, outside.controller])
    await shard.prewarm()
    world.lag(CONFIGMAPS)
    await shard.activate(world.tenure(), None, previous_epoch=0)
    await asyncio.sleep(5)
    assert (inside.missed, len(inside.made), parked(shard)) == ([], 1, 1)
    assert outside.missed
    shard.measure()
    for name, on in (("inside", 1), ("outside", 0)):
        labels = {"name": "VersionGate", "controller": name, "shard": str(shard.range)}
        assert world.metric("shardfleet_feature_enabled", **labels) == on


@pytest.mark.parametrize("inside", [True, False])
async def test_views_are_outdated_when_their_filter_would_be_another_one(world: World, inside: bool) -> None:
    world.runtime.filters.assume(FilterMode.SHARD_SELECTOR, True)
    shard = world.shard(Author(world, "inside").controller)
    assert not shard.outdated
    canary = Canary(frozenset({Feature.SERVER_SIDE_SHARDING}), frozenset({"inside" if inside else "another"}))
    world.runtime.change(ShardSettings(canary=canary))
    assert shard.outdated is not inside
    world.runtime.change(ShardSettings())
    assert not shard.outdated
    world.runtime.change(ShardSettings(server_side_sharding="off"))
    assert shard.outdated
