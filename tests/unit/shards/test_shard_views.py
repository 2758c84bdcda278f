"""Who listens to a shard's views: controllers that come late, that go, and what they have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller
from shards.errors import ConfigError
from shards.listeners.handlers import Route
from shards.objects import Key, Meta, ObjectName
from tests.unit.shards.world import SECRETS, WEBSITES, World

pytestmark = pytest.mark.looptime


def noting(seen: list[str], name: str = "websites", **selection: str) -> Controller:
    websites = Controller(name, primary=str(WEBSITES), **selection)  # type: ignore[arg-type]

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        seen.append(request.name)

    return websites


def no_keys() -> list[Key]:
    return []


async def test_a_listener_that_comes_after_the_list_is_told_what_is_there(world: World) -> None:
    seen: list[str] = []
    for name in ("a", "b"):
        world.website(name)
    shard = await world.running(noting(seen))
    await asyncio.sleep(1)
    view = shard.views[str(WEBSITES)]
    told: list[str] = []

    def find(meta: Meta) -> Iterator[Key]:
        told.append(meta.name)
        return iter(())

    late = view.attach(view.engines[0], Route(find, quick=False), no_keys, world.runtime)
    assert not late.synced
    await asyncio.sleep(1)
    assert (sorted(told), late.synced) == (["a", "b"], True)
    world.website("c")
    await asyncio.sleep(1)
    assert sorted(told) == ["a", "b", "c"]


async def test_a_controller_that_is_removed_is_told_nothing_more_and_the_others_go_on(world: World) -> None:
    first: list[str] = []
    second: list[str] = []
    shard = await world.running([noting(first), noting(second, "other")])
    view = shard.views[str(WEBSITES)]
    gone = next(engine for engine in view.engines if engine.controller.name == "websites")
    view.detach(gone)
    world.website("a")
    await asyncio.sleep(1)
    assert (first, second) == ([], ["a"])


async def test_a_mapping_function_that_is_called_for_every_object_delays_nobody_else(world: World) -> None:
    slow: list[str] = []
    quick: list[str] = []
    pondered: list[str] = []

    def ponder(meta: Meta) -> list[ObjectName]:
        pondered.append(meta.name)
        return [ObjectName("default", "a")]

    thinker = noting(slow, "thinker").watches(str(SECRETS), map=ponder)
    world.website("a")
    await world.running([thinker, noting(quick, "other")])
    await asyncio.sleep(1)
    for number in range(50):
        world.server.seed(SECRETS, {"metadata": {"name": f"s{number}", "namespace": "default"}})
    world.website("b")
    await asyncio.sleep(1)
    assert quick == ["a", "b"]
    assert slow.count("a") >= 2
    assert len(set(pondered)) == 50


async def test_equal_declarations_share_a_view_and_others_do_not(world: World) -> None:
    shard = world.shard(
        [
            noting([], "one"),
            noting([], "two"),
            noting([], "three", label_selector="a=b", field_selector="metadata.name=x"),
        ]
    )
    assert [[each.controller.name for each in view.engines] for view in shard.views.values()] == [
        ["one", "two"],
        ["three"],
    ]


@pytest.mark.parametrize(
    ("declare", "why"),
    [
        (lambda: Controller("c", primary=str(WEBSITES), label_selector={"a": "b"}), "text as kubectl writes it"),  # type: ignore[arg-type]
        (lambda: Controller("c", primary=str(WEBSITES), transform="spec"), "a function"),  # type: ignore[arg-type]
        (
            lambda: Controller("c", primary=str(WEBSITES)).watches(str(SECRETS), map=lambda _: [], namespaces="a"),
            "a list of names",
        ),
    ],
)
def test_a_selection_that_cannot_work_is_refused_as_it_is_declared(declare: object, why: str) -> None:
    assert callable(declare)
    with pytest.raises(ConfigError, match=why):
        declare()
