from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shards.authoring.controller import Controller
from shards.errors import ApiError, Expired
from shards.filtering.adoption import MOST_REFUSED, Adoption, Count
from shards.keyrange import PartitionKey, slot_of
from shards.objects import SLOT_LABEL, Object
from shards.settings import ScopeSettings, ShardSettings
from shards.view_filters import best_sources
from tests.unit.shards.filtering.test_proofs import page
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, Sent, World

pytestmark = pytest.mark.looptime


def adoption(world: World, *, scope: ScopeSettings | None = None, **options: Any) -> Adoption:
    controller = Controller("websites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))
    settings = ShardSettings(scope=scope or ScopeSettings())
    sources = best_sources([controller], settings, PartitionKey.UID)
    return Adoption(world.transport, sources, world.clock, **options)


async def label(world: World, name: str) -> str | None:
    found = await world.kubectl.get(CONFIGMAPS, "default", name)
    return (found["metadata"].get("labels") or {}).get(SLOT_LABEL)


def slot(site: Object) -> str:
    return slot_of(site["metadata"]["uid"])


async def test_a_look_counts_and_writes_nothing(world: World) -> None:
    site = world.website("a")
    page(world, "labelled", owner=site, labelled=True)
    page(world, "old", owner=site)
    page(world, "nobodys")
    assert await adoption(world).look() == [Count(CONFIGMAPS, children=2, missing=1)]
    assert world.transport.writes() == []


async def test_all_get_the_label_of_their_owner_and_nothing_else_changes(world: World) -> None:
    sites = [world.website(f"site-{number}") for number in range(5)]
    for number, site in enumerate(sites):
        page(world, f"page-{number}", owner=site)
    before = await world.kubectl.get(CONFIGMAPS, "default", "page-0")
    assert await adoption(world).adopt() == [Count(CONFIGMAPS, children=5, adopted=5)]
    for number, site in enumerate(sites):
        assert await label(world, f"page-{number}") == slot(site)
    after = await world.kubectl.get(CONFIGMAPS, "default", "page-0")
    for metadata in (before["metadata"], after["metadata"]):
        for changing in ("resourceVersion", "labels", "managedFields"):
            metadata.pop(changing, None)
    assert after == before


async def test_a_second_one_finds_nothing_to_do(world: World) -> None:
    page(world, "old", owner=world.website("a"))
    await adoption(world).adopt()
    written = len(world.transport.writes())
    assert (await adoption(world).adopt())[0].left == 0
    assert len(world.transport.writes()) == written


async def test_the_label_of_another_owner_is_put_right(world: World) -> None:
    site, other = world.website("a"), world.website("b")
    page(world, "copied", owner=site)
    wrong = {"metadata": {"labels": {SLOT_LABEL: slot(other)}}}
    await world.kubectl.merge_patch(CONFIGMAPS, "default", "copied", wrong)
    assert (await adoption(world).look())[0].wrong == 1
    await adoption(world).adopt()
    assert await label(world, "copied") == slot(site)


async def test_children_of_others_are_left_alone(world: World) -> None:
    stranger = {"metadata": {"name": "gone", "uid": "11111111-2222-3333-4444-555555555555"}}
    page(world, "anothers", owner=stranger)
    outside = world.website("outside")
    page(world, "outside-the-scope", owner=outside)
    inside = world.server.seed(
        WEBSITES, {"metadata": {"name": "inside", "namespace": "default", "labels": {"tier": "web"}}, "spec": {}}
    )
    page(world, "inside-the-scope", owner=inside)
    scope = ScopeSettings(label_selector="tier=web")
    assert await adoption(world, scope=scope).adopt() == [Count(CONFIGMAPS, children=1, adopted=1)]
    assert await label(world, "anothers") is None
    assert await label(world, "outside-the-scope") is None


async def test_writes_are_limited_in_their_rate(world: World) -> None:
    site = world.website("a")
    for number in range(30):
        page(world, f"page-{number}", owner=site)
    began = world.clock()
    await adoption(world, rate=10.0).adopt()
    assert world.clock() - began >= 2.8


async def test_a_child_that_changes_before_its_write_is_met_again(world: World) -> None:
    page(world, "busy", owner=world.website("a"))
    conflicts = 0

    class Changed:
        """A transport before which somebody else wrote."""

        stream, close = world.transport.stream, world.transport.close

        async def request(self, method: str, path: str, **options: Any) -> bytes:
            nonlocal conflicts
            if method == "PATCH" and not conflicts:
                conflicts += 1
                await world.kubectl.merge_patch(CONFIGMAPS, "default", "busy", {"data": {"a": "1"}})
            return await world.transport.request(method, path, **options)

    made = adoption(world)
    made.transport = Changed()
    page(world, "calm", owner=world.website("b"))
    assert await made.adopt() == [Count(CONFIGMAPS, children=2, adopted=2)]
    assert conflicts == 1
    assert (await world.kubectl.get(CONFIGMAPS, "default", "busy"))["data"] == {"a": "1"}


async def test_one_that_was_interrupted_goes_on_where_it_was(world: World) -> None:
    site = world.website("a")
    for number in range(20):
        page(world, f"page-{number:02d}", owner=site)
    first = asyncio.create_task(adoption(world, rate=10.0).adopt())
    await asyncio.sleep(0.95)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    [found] = await adoption(world).look()
    assert 5 <= 20 - found.missing <= 12
    assert (await adoption(world).adopt())[0].left == 0
    assert len([each for each in world.transport.writes() if not each.error]) == 20


async def test_a_page_token_that_expires_begins_a_new_look(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shards.filtering.metadata_pages.PAGE_OBJECTS", 2)
    site = world.website("a")
    for number in range(6):
        page(world, f"page-{number}", owner=site)
    lists = 0

    def expire(sent: Sent) -> Exception | None:
        nonlocal lists
        if sent.method != "GET" or "configmaps" not in sent.path:
            return None
        lists += 1
        return Expired(410, "Expired", "too old") if lists == 2 else None

    world.transport.fail = expire
    assert (await adoption(world).adopt())[0].left == 0


async def test_a_child_that_the_server_refuses_does_not_keep_the_others_from_their_label(world: World) -> None:
    site = world.website("a")
    for number in range(5):
        page(world, f"page-{number}", owner=site)
    denied = ApiError(403, "Forbidden", "admission webhook denied the request: frozen")
    world.transport.fail = lambda sent: denied if sent.method == "PATCH" and sent.path.endswith("page-1") else None
    with pytest.raises(ApiError, match="frozen"):
        await adoption(world).adopt()
    assert [await label(world, f"page-{number}") for number in range(5)] == [
        None if number == 1 else slot(site) for number in range(5)
    ]
    assert len([each for each in world.transport.sent if each.method == "PATCH"]) == 5, "it is asked once"


async def test_a_permission_that_is_missing_is_told_before_thousands_were_tried(world: World) -> None:
    site = world.website("a")
    for number in range(50):
        page(world, f"page-{number}", owner=site)
    world.transport.fail = lambda sent: ApiError(403, "Forbidden", "no") if sent.method == "PATCH" else None
    with pytest.raises(ApiError, match="no"):
        await adoption(world).adopt()
    assert len([each for each in world.transport.sent if each.method == "PATCH"]) == MOST_REFUSED


async def test_a_refusal_ends_it(world: World) -> None:
    page(world, "old", owner=world.website("a"))
    world.transport.fail = lambda sent: ApiError(403, "Forbidden", "no") if sent.method == "PATCH" else None
    with pytest.raises(ApiError, match="no"):
        await adoption(world).adopt()
