"""Cases of own writes that the view does not show yet: acts that were repeated, expectations that ran out or stuck.

The reconcilers are written as those were that went wrong: they look at the view only. In virtual time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext

import pytest

from shards import Context, Request, Result
from shards.gates.own_writes import Blocked, OwnWrites
from shards.objects import Key, Object, Resource
from shards.stores.store import StoreReader
from tests.integration.cases.gated import ON_AND_OFF, Gated, gated
from tests.unit.shards.world import CONFIGMAPS, WEBSITES

pytestmark = pytest.mark.looptime


async def generated(ctx: Context, request: Request) -> Result | None:
    """As many pages as are wanted, under random names; those that are too many go. Only the view says how many."""
    site = ctx.store.get()
    if site is None:
        return None
    pages, wanted = ctx.store.owned(CONFIGMAPS), site["spec"]["pages"]
    for _ in range(wanted - len(pages)):
        await ctx.client.create(CONFIGMAPS, {"metadata": {"generateName": "page-"}}, allow_generate_name=True)
    for page in pages[wanted:]:
        await ctx.client.delete(CONFIGMAPS, page["metadata"]["name"])
    return Result(requeue_after_seconds=site["spec"].get("again", 0.0))


async def named(ctx: Context, request: Request) -> None:
    """One page under the site's name with its text, as long as one is wanted."""
    site = ctx.store.get()
    if site is None:
        return
    page, wanted = ctx.store.get(CONFIGMAPS, request.name), {"text": site["spec"]["text"]}
    if not site["spec"]["pages"]:
        if page is not None:
            await ctx.client.delete(CONFIGMAPS, request.name)
    elif page is None:
        await ctx.client.create(CONFIGMAPS, {"metadata": {"name": request.name}, "data": wanted})
    elif page["data"] != wanted:
        await ctx.client.patch(CONFIGMAPS, request.name, {"data": wanted})


# -- B01: a view that does not show a create, an update or a deletion yet ----------------------------------------------


async def _created_and_woken(world: Gated) -> None:
    world.lag(CONFIGMAPS, 2.0)
    world.website(pages=1, text="")
    await asyncio.sleep(0.5)
    await world.touch(text="wakes it")
    await asyncio.sleep(10.0)


async def test_b01_a_create_that_the_view_does_not_show_is_not_repeated() -> None:
    async with gated(generated, gate=True) as world:
        await _created_and_woken(world)
        assert len(world.posts()) == 1
        assert world.parks() == 1


async def test_b01_without_the_gate_the_create_is_repeated() -> None:
    async with gated(generated, gate=False) as world:
        await _created_and_woken(world)
        assert len(world.posts()) == 2
        assert world.parks() == 0


async def _updated_and_woken(world: Gated) -> None:
    world.website(pages=1, text="old")
    await asyncio.sleep(1.0)
    world.lag(CONFIGMAPS, 2.0)
    await world.touch(text="new")
    await asyncio.sleep(0.5)
    await world.touch(unlike="wakes it")
    await asyncio.sleep(10.0)


async def test_b01_an_update_that_the_view_does_not_show_is_not_repeated() -> None:
    async with gated(named, gate=True) as world:
        await _updated_and_woken(world)
        assert len(world.asked("PATCH", CONFIGMAPS)) == 1
        assert world.parks() == 1


async def test_b01_without_the_gate_the_update_is_repeated_and_refused_by_its_precondition() -> None:
    """What keeps it from taking effect twice is the version that it carries, and it costs a conflict each time."""
    async with gated(named, gate=False) as world:
        await _updated_and_woken(world)
        assert [each.error for each in world.asked("PATCH", CONFIGMAPS)[:2]] == ["", "Conflict"]
        assert len(world.carried_out("PATCH", CONFIGMAPS)) == 1


async def _deleted_and_woken(world: Gated) -> None:
    world.website(pages=1, text="")
    await asyncio.sleep(1.0)
    world.lag(CONFIGMAPS, 2.0)
    await world.touch(pages=0)
    await asyncio.sleep(0.5)
    await world.touch(text="wakes it")
    await asyncio.sleep(10.0)


async def test_b01_a_deletion_that_the_view_does_not_show_is_not_repeated() -> None:
    async with gated(named, gate=True) as world:
        await _deleted_and_woken(world)
        assert len(world.asked("DELETE", CONFIGMAPS)) == 1
        assert world.live_reads() == 1
        assert world.parks() == 1


async def test_b01_without_the_gate_the_deletion_is_decided_again_and_ended_by_its_live_read() -> None:
    async with gated(named, gate=False) as world:
        await _deleted_and_woken(world)
        assert len(world.asked("DELETE", CONFIGMAPS)) == 1
        assert world.live_reads() > 1


# -- B02: a status that the view does not show yet ---------------------------------------------------------------------


class Machine:
    """Asks somebody else for something that takes long and must be done once. calls: by the site's UID.

    told: the runtime is told what the call rests on.
    """

    def __init__(self, *, told: bool = False) -> None:
        self.told = told
        self.calls: list[str] = []

    async def reconcile(self, ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is None or (site.get("status") or {}).get("phase") == "Ready":
            return
        site = await ctx.client.patch_status({"phase": "Busy"})
        async with ctx.confirmed(site, reason="order") if self.told else nullcontext():
            self.calls.append(request.uid)
        await asyncio.sleep(2.0)
        await ctx.client.patch_status({"phase": "Ready"})


async def _made_ready(world: Gated) -> None:
    world.website()
    await asyncio.sleep(0.1)
    world.lag(WEBSITES, 5.0)
    await asyncio.sleep(60.0)
    assert world.there(WEBSITES)["a"]["status"] == {"phase": "Ready"}


async def test_b02_what_takes_long_is_done_once_though_the_view_says_that_it_is_under_way() -> None:
    machine = Machine()
    async with gated(machine.reconcile, gate=True) as world:
        await _made_ready(world)
        assert len(machine.calls) == 1
        assert world.parks(WEBSITES) >= 1


async def test_b02_without_the_gate_it_is_done_again() -> None:
    machine = Machine()
    async with gated(machine.reconcile, gate=False) as world:
        await _made_ready(world)
        assert len(machine.calls) > 1


@ON_AND_OFF
async def test_b02_a_call_that_is_confirmed_is_not_made_again_either_way(gate: bool) -> None:
    """A live read shows that the site is not as the run has it."""
    machine = Machine(told=True)
    async with gated(machine.reconcile, gate=gate) as world:
        await _made_ready(world)
        assert len(machine.calls) == 1


# -- B04: what is waited for does not come for longer than anybody waits -----------------------------------------------

PAGES = 8
STARVED_SECONDS = 360.0


async def _starved(world: Gated) -> None:
    world.lag(CONFIGMAPS, STARVED_SECONDS)
    world.website(pages=PAGES, again=30.0)
    await asyncio.sleep(STARVED_SECONDS - 10.0)


async def test_b04_a_view_that_starves_for_six_minutes_ends_in_live_reads_and_not_in_more_creates() -> None:
    async with gated(generated, gate=True) as world:
        await _starved(world)
        assert len(world.posts()) == PAGES
        runs = world.metric("controller_runtime_reconcile_total", controller="websites", result="requeue_after")
        assert runs > 5, "it was not just held back: it ran on what was read live"
        assert world.live_reads() >= PAGES
        await asyncio.sleep(60.0)
        assert len(world.posts()) == len(_pages(world)) == PAGES


async def test_b04_without_the_gate_there_are_more_of_them_with_each_run() -> None:
    async with gated(generated, gate=False) as world:
        await _starved(world)
        assert len(world.posts()) >= 5 * PAGES


# -- B05: what is remembered of an object must not hold up its successor -----------------------------------------------


async def _recreated(world: Gated) -> float:
    """Its page is made, and the view does not show it when the site goes and comes again."""
    world.lag(CONFIGMAPS)
    first = world.website(pages=1)
    await world.eventually(lambda: len(world.posts()) == 1, within_seconds=1.0, what="a page")
    second = await world.recreate(pages=1)
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    return await world.eventually(
        lambda: world.posts()[-1].agent.uid == second["metadata"]["uid"], within_seconds=30.0, what="a page for it"
    )


@ON_AND_OFF
async def test_b05_what_was_written_for_an_object_does_not_hold_up_its_successor(gate: bool) -> None:
    """The gate knows its keys by UID. Switched off, it holds up nothing."""
    async with gated(generated, gate=gate) as world:
        assert await _recreated(world) < 1.0
        assert len(world.posts()) == 2


async def test_b05_oracle_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gate that knew its keys by name only would hold up the successor until a live read frees it."""
    asked = OwnWrites.blocked

    def by_name(self: OwnWrites, key: Key, views: Mapping[Resource, StoreReader]) -> Blocked | None:
        found = [asked(self, each, views) for each in list(self._barriers) if each.name == key.name]
        return next((each for each in found if each is not None), None)

    monkeypatch.setattr(OwnWrites, "blocked", by_name)
    async with gated(generated, gate=True) as world:
        assert await _recreated(world) > 1.0


# -- B17: a burst ------------------------------------------------------------------------------------------------------


async def _burst(world: Gated) -> None:
    """A hundred changes within ten milliseconds, each of which wakes the key."""
    world.lag(CONFIGMAPS, 0.5)
    world.website(pages=3)
    for number in range(100):
        await world.touch(text=str(number))
        await asyncio.sleep(0.0001)
    await asyncio.sleep(10.0)
    # Deletions are paused when there are more than a hundred within a minute.
    await world.eventually(lambda: len(_pages(world)) == 3, within_seconds=600.0, what="three pages")


def _pages(world: Gated) -> list[Object]:
    return [each for name, each in world.there().items() if name.startswith("page-")]


async def test_b17_a_burst_of_changes_makes_nothing_too_many() -> None:
    async with gated(generated, gate=True) as world:
        await _burst(world)
        assert len(world.posts()) == 3
        assert world.asked("DELETE", CONFIGMAPS) == []


async def test_b17_without_the_gate_a_burst_makes_too_many_and_removes_them_again() -> None:
    async with gated(generated, gate=False) as world:
        await _burst(world)
        assert len(world.posts()) > 3
        assert len(world.asked("DELETE", CONFIGMAPS)) == len(world.posts()) - 3
