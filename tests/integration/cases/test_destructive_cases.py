"""Cases of deletions: decided on what a view still showed, aborted by what was gone already, or never followed up.

In virtual time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

import shards.watching.watch
from fleet.devcluster.faults import Events, Match
from fleet.devcluster.faults.words import HideEvents
from shards import Context, Request
from shards.errors import NotFound
from shards.gates.own_writes import OVERDUE_SECONDS
from shards.limits.breaker import Breaker
from shards.objects import Object, ObjectName, Resource
from shards.ownership.fenced_requests import FencedRequests
from shards.settings import BreakerSettings
from tests.integration.cases.gated import CONTROLLER, ON_AND_OFF, Gated, gated
from tests.unit.shards.world import CONFIGMAPS

pytestmark = pytest.mark.looptime

PAGES = Match(resource=str(CONFIGMAPS))


# -- B07: a second disruption, decided on a view that does not show the first ------------------------------------------

READY_SECONDS = 3.0


async def rolling(ctx: Context, request: Request, *, told: bool = False) -> None:
    """Three members, of which one at a time is replaced, the one that was asked for last first.

    told: the runtime is told that the decision rests on all of them.
    """
    site = ctx.store.get()
    if site is None:
        return
    restarts: dict[str, int] = site["spec"]["restarts"]
    owned = ctx.store.owned(CONFIGMAPS)
    members = {each["metadata"]["name"]: each["data"] for each in owned}
    for name in (f"{request.name}-{number}" for number in range(3)):
        if name not in members:
            data = {"restarts": str(restarts.get(name, 0)), "ready": "no"}
            await ctx.client.create(CONFIGMAPS, {"metadata": {"name": name}, "data": data})
    if len(members) < 3 or any(each["ready"] == "no" for each in members.values()):
        return
    for name in sorted(restarts, reverse=True):
        if members[name]["restarts"] != str(restarts[name]):
            await ctx.client.delete(CONFIGMAPS, name, reads=owned if told else ())
            return


async def _become_ready(world: Gated) -> None:
    """As pods do: a while after they were created."""
    while True:
        await asyncio.sleep(0.1)
        for name, member in world.there().items():
            age = world.clock() - float(member["data"].get("seen", world.clock()))
            if "seen" not in member["data"]:
                await world.kubectl.merge_patch(CONFIGMAPS, "default", name, {"data": {"seen": str(world.clock())}})
            elif member["data"]["ready"] == "no" and age >= READY_SECONDS:
                await world.kubectl.merge_patch(CONFIGMAPS, "default", name, {"data": {"ready": "yes"}})


async def _two_restarts(gate: bool, *, told: bool = False) -> list[int]:
    """How many members were ready at the time of each deletion."""
    ready: list[int] = []
    async with gated(partial(rolling, told=told), gate=gate) as world:
        kubelet = asyncio.create_task(_become_ready(world))
        world.website(restarts={})
        await asyncio.sleep(10.0)

        def count(sent: Any) -> None:
            if sent.method == "DELETE":
                ready.append(len([each for each in world.there().values() if each["data"]["ready"] == "yes"]))

        world.transport.before = count
        world.lag(CONFIGMAPS, 2.0)
        await world.touch(restarts={"a-0": 1})
        await asyncio.sleep(0.5)
        await world.touch(restarts={"a-1": 1})
        await asyncio.sleep(60.0)
        kubelet.cancel()
        assert {name: each["data"]["restarts"] for name, each in world.there().items()} == {
            "a-0": "1",
            "a-1": "1",
            "a-2": "0",
        }
        return ready


async def test_b07_the_next_member_goes_when_the_last_one_is_seen_to_be_gone_and_its_successor_is_ready() -> None:
    assert await _two_restarts(gate=True) == [3, 3]


async def test_b07_without_the_gate_two_members_are_down_at_a_time() -> None:
    """The live read before the deletion does not help: it is of the object that goes, which is as it was."""
    assert await _two_restarts(gate=False) == [3, 2]


@ON_AND_OFF
async def test_b07_a_deletion_that_says_what_else_it_rests_on_takes_one_member_at_a_time_either_way(gate: bool) -> None:
    assert await _two_restarts(gate, told=True) == [3, 3]


# -- B10: deleted to be made anew, and never made anew -----------------------------------------------------------------


async def replaced(ctx: Context, request: Request) -> None:
    """A page that cannot be changed is deleted, and made anew once it is gone. One that is going is left alone."""
    site = ctx.store.get()
    if site is None:
        return
    page, wanted = ctx.store.get(CONFIGMAPS, request.name), {"text": site["spec"]["text"]}
    if page is None:
        await ctx.client.create(CONFIGMAPS, {"metadata": {"name": request.name}, "data": wanted, "immutable": True})
    elif page["metadata"].get("deletionTimestamp"):
        return
    elif page["data"] != wanted:
        await ctx.client.delete(CONFIGMAPS, request.name)


@asynccontextmanager
async def _about_to_be_replaced(*, gate: bool, held: bool = False) -> AsyncIterator[Gated]:
    """held: somebody's finalizer keeps the old page for a while."""
    async with gated(replaced, gate=gate) as world:
        world.website(text="old")
        await asyncio.sleep(1.0)
        if held:
            finalizers = {"metadata": {"finalizers": ["example.com/backup"]}}
            await world.kubectl.merge_patch(CONFIGMAPS, "default", "a", finalizers)
            await asyncio.sleep(1.0)
        yield world


async def _release(world: Gated) -> None:
    await world.kubectl.merge_patch(CONFIGMAPS, "default", "a", {"metadata": {"finalizers": None}})


def _is_new(world: Gated) -> bool:
    return world.there().get("a", {}).get("data") == {"text": "new"}


def _hide_the_end(world: Gated) -> None:
    world.server.faults.inject(HideEvents(match=PAGES, events=Events(types=("DELETED",), name="a")))


async def test_b10_a_page_whose_end_is_never_shown_is_made_anew() -> None:
    """Nothing wakes its key, and the gate sees to it that it runs all the same."""
    async with _about_to_be_replaced(gate=True) as world:
        _hide_the_end(world)
        await world.touch(text="new")
        await world.eventually(lambda: _is_new(world), within_seconds=OVERDUE_SECONDS + 10.0, what="a new page")


async def test_b10_without_the_gate_it_is_not_made_anew_within_an_hour() -> None:
    async with _about_to_be_replaced(gate=False) as world:
        _hide_the_end(world)
        await world.touch(text="new")
        await asyncio.sleep(3600.0)
        assert "a" not in world.there()


@ON_AND_OFF
async def test_b10_a_page_that_was_going_when_it_was_looked_at_is_made_anew_when_it_is_gone(gate: bool) -> None:
    """The skip needs no timer: the end of a child wakes its key."""
    async with _about_to_be_replaced(gate=gate, held=True) as world:
        await world.touch(text="new")
        await asyncio.sleep(30.0)
        assert world.there()["a"]["metadata"]["deletionTimestamp"]
        await _release(world)
        await world.eventually(lambda: _is_new(world), within_seconds=1.0, what="a new page")


async def _ended_unseen(world: Gated) -> None:
    """The view shows that the page is going, and never its end."""
    await world.touch(text="new")
    await asyncio.sleep(5.0)
    _hide_the_end(world)
    await _release(world)


async def test_b10_a_page_whose_end_is_lost_after_it_was_seen_to_be_going_is_made_anew() -> None:
    async with _about_to_be_replaced(gate=True, held=True) as world:
        await _ended_unseen(world)
        await world.eventually(lambda: _is_new(world), within_seconds=OVERDUE_SECONDS + 10.0, what="a new page")
        assert len(world.asked("DELETE", CONFIGMAPS)) == 1


async def test_b10_one_that_lingers_costs_a_live_read_every_75_seconds() -> None:
    async with _about_to_be_replaced(gate=True, held=True) as world:
        await world.touch(text="new")
        await asyncio.sleep(5.0)
        before = world.live_reads()
        await asyncio.sleep(10 * OVERDUE_SECONDS)
        assert 8 <= world.live_reads() - before <= 10
        assert world.parks() <= 11


async def test_b10_without_the_gate_the_audit_of_the_view_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards.watching.watch, "AUDIT_SECONDS", (600.0, 900.0))
    async with _about_to_be_replaced(gate=False, held=True) as world:
        await _ended_unseen(world)
        await asyncio.sleep(300.0)
        assert "a" not in world.there()
        await asyncio.sleep(1500.0)
        assert _is_new(world)


# -- B11: one of a thousand is gone already ----------------------------------------------------------------------------

MANY = 1000


class Counted:
    """A reconciler that scales to the number of pages that is wanted. runs: since when somebody looked."""

    def __init__(self) -> None:
        self.runs = 0

    async def reconcile(self, ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is None:
            return
        self.runs += 1
        names = [f"page-{number}" for number in range(site["spec"]["pages"])]
        there = {each["metadata"]["name"] for each in ctx.store.owned(CONFIGMAPS)}
        for name in names:
            if name not in there:
                await ctx.client.create(CONFIGMAPS, {"metadata": {"name": name}})
        for name in sorted(there - set(names)):
            await ctx.client.delete(CONFIGMAPS, name)


async def _scaled_down(gate: bool) -> int:
    """Deletions in the one run that follows. One page is gone already, and the view does not show it."""
    counted = Counted()
    async with gated(counted.reconcile, gate=gate, reads_per_second=10_000.0) as world:
        world.runtime.guards_of(CONTROLLER).breaker = Breaker(BreakerSettings(destructive_limit=2 * MANY))
        world.website(pages=MANY)
        await asyncio.sleep(10.0)
        hidden = Events(types=("DELETED",), name="page-500")
        world.server.faults.inject(HideEvents(match=PAGES, events=hidden))
        await world.kubectl.delete(CONFIGMAPS, "default", "page-500")
        await asyncio.sleep(1.0)
        counted.runs = 0
        await world.touch(pages=0)
        await world.eventually(lambda: counted.runs > 0, within_seconds=1.0, what="a run")
        in_one = len(world.carried_out("DELETE", CONFIGMAPS))
        await asyncio.sleep(30.0)
        assert world.there() == {}
        return in_one


@ON_AND_OFF
async def test_b11_what_is_gone_already_does_not_keep_the_others(gate: bool) -> None:
    """An object that is not there is what a deletion is to bring about, whether a live read or the answer says so."""
    assert await _scaled_down(gate) == MANY - 1


async def test_b11_oracle_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    read = FencedRequests.read

    async def or_fail(self: FencedRequests, resource: Resource, name: ObjectName, *args: Any, **more: Any) -> Object:
        found = await read(self, resource, name, *args, **more)
        if found is None:
            raise NotFound(404, "NotFound", f"{name} is gone")
        return found

    monkeypatch.setattr(FencedRequests, "read", or_fail)
    assert await _scaled_down(gate=True) < MANY - 1
