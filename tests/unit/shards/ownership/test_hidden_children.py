"""Children that the informer's filter hides: what is written to them is waited for all the same, and never for ever."""

from __future__ import annotations

import asyncio

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import LostAck
from shards.errors import Unreachable
from shards.objects import SLOT_LABEL
from tests.unit.shards.ownership.desk import Desk, page
from tests.unit.shards.world import CONFIGMAPS, World

pytestmark = pytest.mark.looptime


async def hidden_page(world: World, desk: Desk) -> None:
    """A page of the desk whose slot label somebody has removed; its view has let go of it."""
    await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
    await world.kubectl.merge_patch(CONFIGMAPS, "default", "page", {"metadata": {"labels": {SLOT_LABEL: None}}})
    await asyncio.sleep(1)
    assert desk.blocked == ""


async def test_the_next_reconcile_waits_for_a_live_read_where_nothing_moves_the_view(world: World, desk: Desk) -> None:
    await hidden_page(world, desk)
    await desk.do(lambda ctx: ctx.client.patch(CONFIGMAPS, "page", {"data": {"a": "1"}}))
    assert "landed" in desk.blocked
    seen = await desk.do(lambda ctx: asyncio.sleep(0, ctx.store.get(CONFIGMAPS, "page")))
    assert seen["data"] == {"a": "1"}
    assert len(world.transport.reads("gate")) == 1
    assert desk.blocked == ""


async def test_a_later_event_of_the_view_shows_that_it_has_passed_the_write(world: World, desk: Desk) -> None:
    await hidden_page(world, desk)
    await desk.do(lambda ctx: ctx.client.patch(CONFIGMAPS, "page", {"data": {"a": "1"}}))
    await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page("other")))
    await asyncio.sleep(1)
    assert desk.blocked == ""


async def test_a_bookmark_shows_it_too(world: World, desk: Desk) -> None:
    await hidden_page(world, desk)
    await desk.do(lambda ctx: ctx.client.patch(CONFIGMAPS, "page", {"data": {"a": "1"}}))
    await asyncio.sleep(61)
    assert desk.blocked == ""
    assert world.transport.reads("gate") == []


async def test_a_child_that_was_read_live_without_its_label_gets_it_though_its_author_writes_nothing(
    world: World, desk: Desk
) -> None:
    """Or no view would tell when it is deleted, and it would stay away for ever."""
    await hidden_page(world, desk)
    world.server.faults.inject(LostAck(match=Match(verbs=("create",)), times=1))
    with pytest.raises(Unreachable):
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
    seen = await desk.do(lambda ctx: asyncio.sleep(0, ctx.store.get(CONFIGMAPS, "page")))
    assert SLOT_LABEL in seen["metadata"]["labels"]
    await asyncio.sleep(1)
    assert desk.blocked == ""
    held = await desk.do(lambda ctx: asyncio.sleep(0, len(ctx.store.owned(CONFIGMAPS))))
    assert held == 1


async def test_somebody_elses_object_is_left_as_it_is(world: World, desk: Desk) -> None:
    await desk.open()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "page", "namespace": "default"}}
    await world.kubectl.create(CONFIGMAPS, "default", body)
    world.server.faults.inject(LostAck(match=Match(verbs=("create",)), times=1))
    with pytest.raises(Unreachable):
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
    seen = await desk.do(lambda ctx: asyncio.sleep(0, ctx.store.get(CONFIGMAPS, "page")))
    assert SLOT_LABEL not in (seen["metadata"].get("labels") or {})
