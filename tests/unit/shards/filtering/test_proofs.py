from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from shards.errors import ApiError
from shards.filtering.metadata_pages import PAGE_OBJECTS
from shards.filtering.proofs import ASKS, MOST_PAGES, selector_proof, slot_proof
from shards.keyrange import WHOLE, PartitionKey, slot_of
from shards.objects import SLOT_LABEL, Object
from shards.settings import ScopeSettings
from shards.watching.source import FilterMode, Source
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, Sent, World

pytestmark = pytest.mark.looptime


def filters(world: World, does: bool) -> None:
    world.server.settings.sharded_list_and_watch = does


class Interrupted:
    """Something happens between the first request and the second one."""

    def __init__(self, world: World, meanwhile: Callable[[], Awaitable[None]]) -> None:
        self.stream, self.close = world.transport.stream, world.transport.close
        self._world, self._meanwhile, self._asked = world, meanwhile, 0

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        self._asked += 1
        if self._asked == 2:
            await self._meanwhile()
        return await self._world.transport.request(method, path, **options)


class TestSelector:
    async def test_a_server_that_filters_is_found_out(self, world: World) -> None:
        world.website("a")
        answer = await selector_proof(world.transport, WEBSITES)
        assert answer.holds is True
        assert "default/a" in answer.why

    async def test_a_server_that_ignores_the_selector_is_found_out(self, world: World) -> None:
        filters(world, False)
        world.website("a")
        assert (await selector_proof(world.transport, WEBSITES)).holds is False

    async def test_one_of_several_servers_is_enough(self, world: World) -> None:
        world.website("a")
        asked = 0

        def another_one(sent: Sent) -> None:
            nonlocal asked
            asked += 1
            filters(world, asked != 1 + ASKS)

        world.transport.before = another_one
        assert (await selector_proof(world.transport, WEBSITES)).holds is False

    async def test_an_empty_collection_proves_nothing(self, world: World) -> None:
        assert (await selector_proof(world.transport, WEBSITES)).holds is None

    async def test_an_object_that_was_deleted_meanwhile_proves_nothing(self, world: World) -> None:
        world.website("a")

        async def gone() -> None:
            await world.kubectl.delete(WEBSITES, "default", "a")

        asked = Interrupted(world, gone)
        assert (await selector_proof(asked, WEBSITES)).holds is None

    async def test_an_object_that_was_made_anew_meanwhile_proves_nothing(self, world: World) -> None:
        world.website("a")

        async def anew() -> None:
            await world.kubectl.delete(WEBSITES, "default", "a")
            world.website("a")

        asked = Interrupted(world, anew)
        assert (await selector_proof(asked, WEBSITES)).holds is None

    async def test_it_asks_for_one_object_however_many_there_are(self, world: World) -> None:
        for number in range(300):
            world.website(f"site-{number}")
        received = 0
        inner = world.transport.inner.request

        async def request(method: str, path: str, **options: Any) -> bytes:
            nonlocal received
            answer = await inner(method, path, **options)
            received += len(answer)
            return answer

        world.transport.inner.request = request  # type: ignore[method-assign]
        await selector_proof(world.transport, WEBSITES)
        assert len(world.transport.sent) == ASKS + 2
        assert received < 5000

    async def test_a_server_that_refuses_is_no_answer(self, world: World) -> None:
        world.transport.fail = lambda _: ApiError(403, "Forbidden", "no")
        with pytest.raises(ApiError):
            await selector_proof(world.transport, WEBSITES)


CHILDREN = Source(CONFIGMAPS, WHOLE, PartitionKey.UID, ScopeSettings(), FilterMode.SLOT_LABELS, "owned", WEBSITES)


def page(world: World, name: str, *, owner: Object | None = None, labelled: bool = False) -> None:
    metadata: Object = {"name": name, "namespace": "default"}
    if owner is not None:
        head = {"apiVersion": WEBSITES.api_version, "kind": "Website", "controller": True}
        metadata["ownerReferences"] = [head | {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}]
        if labelled:
            metadata["labels"] = {SLOT_LABEL: slot_of(owner["metadata"]["uid"])}
    world.server.seed(CONFIGMAPS, {"metadata": metadata})


class TestSlots:
    async def test_where_all_children_carry_it_it_is_proven(self, world: World) -> None:
        site = world.website("a")
        page(world, "mine", owner=site, labelled=True)
        page(world, "nobodys")
        assert (await slot_proof(world.transport, [CHILDREN])).holds is True

    async def test_one_child_without_it_is_enough_and_is_named(self, world: World) -> None:
        site = world.website("a")
        for number in range(20):
            page(world, f"labelled-{number}", owner=site, labelled=True)
        page(world, "old", owner=site)
        answer = await slot_proof(world.transport, [CHILDREN])
        assert answer.holds is False
        assert "default/old" in answer.why
        assert "fleet adopt" in answer.why

    async def test_it_pages_through_what_is_nobodys(self, world: World) -> None:
        for number in range(PAGE_OBJECTS + 1):
            page(world, f"other-{number:05d}")
        page(world, "z-old", owner=world.website("a"))
        assert (await slot_proof(world.transport, [CHILDREN])).holds is False
        assert len(world.transport.sent) == 2

    async def test_what_is_too_much_to_look_through_is_not_relied_on(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("shards.filtering.metadata_pages.PAGE_OBJECTS", 2)
        for number in range(2 * MOST_PAGES + 1):
            page(world, f"other-{number:05d}")
        answer = await slot_proof(world.transport, [CHILDREN])
        assert answer.holds is False
        assert "SlotLabels" in answer.why
        assert len(world.transport.sent) == MOST_PAGES

    async def test_another_groups_children_are_not_asked_for_theirs(self, world: World) -> None:
        site = world.website("a")
        page(world, "old", owner=site)
        others = Source(
            CONFIGMAPS,
            WHOLE,
            PartitionKey.UID,
            ScopeSettings(),
            FilterMode.SLOT_LABELS,
            "owned",
            type(WEBSITES)("another.group", "v1", "things"),
        )
        assert (await slot_proof(world.transport, [others])).holds is True
        assert (await slot_proof(world.transport, [others, CHILDREN])).holds is False
