"""The slot label of a child outlives whatever its author writes, and costs no write where the view shows the child."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shards.authoring.context import Context
from shards.errors import ConfigError
from shards.keyrange import slot_of
from shards.objects import SLOT_LABEL, Object
from shards.runtime import MENDS_AT_ONCE
from shards.settings import ShardSettings
from shards.shard import Shard
from shards.watching.source import FilterMode
from tests.unit.shards.ownership.desk import Desk, page
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, World

pytestmark = pytest.mark.looptime


async def labels(world: World, name: str = "page") -> dict[str, str]:
    found = await world.kubectl.get(CONFIGMAPS, "default", name)
    return dict(found["metadata"].get("labels") or {})


def own(desk: Desk) -> dict[str, str]:
    return {SLOT_LABEL: slot_of(desk.site["metadata"]["uid"])}


def controlled_by(site: Object) -> list[Object]:
    metadata = site["metadata"]
    return [
        {
            "apiVersion": WEBSITES.api_version,
            "kind": "Website",
            "name": metadata["name"],
            "uid": metadata["uid"],
            "controller": True,
        }
    ]


def unlabelled(world: World, owner: Object, name: str = "page", **data: str) -> None:
    """A child from before children carried the label."""
    world.server.seed(
        CONFIGMAPS,
        {"metadata": {"name": name, "namespace": "default", "ownerReferences": controlled_by(owner)}, "data": data},
    )


def shown_without_labels(world: World) -> None:
    world.runtime.change(ShardSettings(slot_labels="off"))


async def test_an_update_that_leaves_the_label_out_keeps_it(world: World, desk: Desk) -> None:
    await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
    await asyncio.sleep(1)

    async def act(ctx: Context) -> None:
        found = ctx.store.get(CONFIGMAPS, "page")
        assert found is not None
        found["metadata"]["labels"] = {"tier": "web"}
        await ctx.client.update(CONFIGMAPS, found)

    await desk.do(act)
    assert await labels(world) == {"tier": "web", **own(desk)}


@pytest.mark.parametrize("value", [None, "00", "zz"])
async def test_a_patch_that_takes_the_label_away_or_changes_it_keeps_it(
    world: World, desk: Desk, value: str | None
) -> None:
    await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
    await asyncio.sleep(1)
    patch: Object = {"metadata": {"labels": {SLOT_LABEL: value, "tier": "web"}}}
    await desk.do(lambda ctx: ctx.client.patch(CONFIGMAPS, "page", patch))
    assert await labels(world) == {"tier": "web", **own(desk)}
    assert patch == {"metadata": {"labels": {SLOT_LABEL: value, "tier": "web"}}}, "the author's own stays as it is"


async def test_a_patch_that_takes_all_labels_away_is_refused_with_what_to_write(world: World, desk: Desk) -> None:
    await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
    await asyncio.sleep(1)
    with pytest.raises(ConfigError, match=r"v1/configmaps\.metadata\.labels: null would take .* write null for each"):
        await desk.do(lambda ctx: ctx.client.patch(CONFIGMAPS, "page", {"metadata": {"labels": None}}))


@pytest.mark.parametrize("how", ["patch", "update"])
async def test_an_orphan_that_is_given_to_the_primary_gets_the_label_with_it(
    world: World, desk: Desk, how: str
) -> None:
    shown_without_labels(world)
    world.server.seed(CONFIGMAPS, {"metadata": {"name": "orphan", "namespace": "default"}})
    given: dict[str, Any] = {"ownerReferences": controlled_by(desk.site)}

    async def act(ctx: Context) -> None:
        if how == "patch":
            await ctx.client.patch(CONFIGMAPS, "orphan", {"metadata": given})
            return
        found = await ctx.live.get(CONFIGMAPS, "orphan")
        assert found is not None
        found["metadata"] |= given
        await ctx.client.update(CONFIGMAPS, found)

    await desk.do(act)
    assert await labels(world, "orphan") == own(desk)


@pytest.mark.parametrize("how", ["patch", "update"])
async def test_a_child_that_is_given_to_another_owner_gets_the_label_of_that_one(
    world: World, desk: Desk, how: str
) -> None:
    other = world.website("b")
    await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
    await asyncio.sleep(1)

    async def act(ctx: Context) -> None:
        if how == "patch":
            await ctx.client.patch(CONFIGMAPS, "page", {"metadata": {"ownerReferences": controlled_by(other)}})
            return
        found = ctx.store.get(CONFIGMAPS, "page")
        assert found is not None
        found["metadata"]["ownerReferences"] = controlled_by(other)
        await ctx.client.update(CONFIGMAPS, found)

    await desk.do(act)
    assert await labels(world) == {SLOT_LABEL: slot_of(other["metadata"]["uid"])}


async def test_other_peoples_objects_get_no_label(world: World, desk: Desk) -> None:
    shown_without_labels(world)
    other = world.website("b")
    unlabelled(world, other)
    patch: Object = {"metadata": {"labels": {"tier": "web"}}}
    await desk.do(lambda ctx: ctx.client.patch(CONFIGMAPS, "page", patch))
    assert await labels(world) == {"tier": "web"}


async def test_a_child_from_before_is_written_once_for_its_label(world: World, desk: Desk) -> None:
    shown_without_labels(world)
    unlabelled(world, desk.site, a="1")
    for _ in range(3):
        await desk.do(lambda ctx: ctx.client.ensure(CONFIGMAPS, page(a="1")))
        await asyncio.sleep(1)
    assert await labels(world) == own(desk)
    assert [each.method for each in world.transport.writes()] == ["PATCH"]


async def test_thousands_of_them_are_not_written_at_once(world: World, desk: Desk) -> None:
    shown_without_labels(world)
    names = [f"page-{number}" for number in range(200)]
    for name in names:
        unlabelled(world, desk.site, name, a="1")

    async def act(ctx: Context) -> None:
        for name in names:
            await ctx.client.ensure(CONFIGMAPS, page(name, a="1"))

    await desk.do(act)
    assert MENDS_AT_ONCE <= len(world.transport.writes()) <= MENDS_AT_ONCE + 3


async def test_what_differs_in_more_than_the_label_is_written_whatever_the_rate(world: World, desk: Desk) -> None:
    shown_without_labels(world)
    names = [f"page-{number}" for number in range(50)]
    for name in names:
        unlabelled(world, desk.site, name, a="1")

    async def act(ctx: Context) -> None:
        for name in names:
            await ctx.client.ensure(CONFIGMAPS, page(name, a="2"))

    await desk.do(act)
    assert len(world.transport.writes()) == 50
    assert await labels(world, "page-49") == own(desk)


async def test_a_plain_function_writes_the_label_too(world: World) -> None:
    from shards.authoring.controller import Controller
    from shards.authoring.plain_context import PlainContext

    site = world.website("a")
    sites = Controller("sites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))

    @sites.reconcile
    def reconcile(ctx: PlainContext, request: object) -> None:
        ctx.client.ensure(CONFIGMAPS, page("ensured"))

    shard: Shard = await world.running(sites)
    assert shard.views[str(CONFIGMAPS)].source.mode is FilterMode.SLOT_LABELS
    for _ in range(200):
        if await world.exists(CONFIGMAPS, "ensured"):
            break
        await asyncio.sleep(0.01)
    assert await labels(world, "ensured") == {SLOT_LABEL: slot_of(site["metadata"]["uid"])}
