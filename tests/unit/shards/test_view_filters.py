from __future__ import annotations

import pytest

from shards.authoring.controller import Controller
from shards.features import Canary, Feature
from shards.keyrange import SPACE, KeyRange, PartitionKey
from shards.objects import Resource
from shards.settings import ShardSettings
from shards.view_filters import best_mode, filter_modes
from shards.watching.source import FilterMode, Role
from tests.unit.shards.world import CONFIGMAPS, SECRETS, WEBSITES, World

pytestmark = pytest.mark.looptime

LOCAL, SELECTOR, SLOTS = FilterMode.LOCAL, FilterMode.SHARD_SELECTOR, FilterMode.SLOT_LABELS


@pytest.mark.parametrize(
    ("role", "key", "best"),
    [
        ("primary", PartitionKey.UID, SELECTOR),
        ("primary", PartitionKey.NAMESPACE, SELECTOR),
        ("primary", PartitionKey.NAME, LOCAL),
        ("owned", PartitionKey.UID, SLOTS),
        ("owned", PartitionKey.NAMESPACE, SELECTOR),
        ("owned", PartitionKey.NAME, LOCAL),
        ("watched", PartitionKey.UID, LOCAL),
        ("watched", PartitionKey.NAMESPACE, LOCAL),
        ("watched", PartitionKey.NAME, LOCAL),
    ],
)
def test_role_and_key_decide_what_a_server_could_filter_by(role: Role, key: PartitionKey, best: FilterMode) -> None:
    assert best_mode(role, key) is best


def controller() -> Controller:
    made = Controller("websites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))
    return made.watches(str(SECRETS), map=lambda _: [])


def modes(world: World, key: PartitionKey = PartitionKey.UID) -> dict[Resource, FilterMode]:
    found = filter_modes(KeyRange(0, SPACE // 2 - 1, key), [controller()], world.runtime)
    return {place.resource: mode for place, mode in found.items()}


async def test_where_nothing_is_proven_the_worker_filters(world: World) -> None:
    world.runtime.change(ShardSettings(slot_labels="auto"))
    assert modes(world) == {WEBSITES: LOCAL, CONFIGMAPS: LOCAL, SECRETS: LOCAL}


async def test_each_resource_stands_on_what_is_proven_of_it(world: World) -> None:
    world.runtime.change(ShardSettings(slot_labels="auto"))
    ladder = world.runtime.filters
    ladder.answered(ladder.rung(WEBSITES, SELECTOR), True, "")
    assert modes(world) == {WEBSITES: SELECTOR, CONFIGMAPS: LOCAL, SECRETS: LOCAL}
    ladder.answered(ladder.rung(CONFIGMAPS, SLOTS), True, "")
    assert modes(world) == {WEBSITES: SELECTOR, CONFIGMAPS: SLOTS, SECRETS: LOCAL}
    ladder.foreign(WEBSITES, SELECTOR)
    assert modes(world) == {WEBSITES: LOCAL, CONFIGMAPS: SLOTS, SECRETS: LOCAL}


async def test_with_the_key_namespace_children_stand_on_the_selector_of_their_own_resource(world: World) -> None:
    ladder = world.runtime.filters
    ladder.answered(ladder.rung(WEBSITES, SELECTOR), True, "")
    assert modes(world, PartitionKey.NAMESPACE) == {WEBSITES: SELECTOR, CONFIGMAPS: LOCAL, SECRETS: LOCAL}
    ladder.answered(ladder.rung(CONFIGMAPS, SELECTOR), True, "")
    assert modes(world, PartitionKey.NAMESPACE)[CONFIGMAPS] is SELECTOR


async def test_a_canary_may_try_slot_labels_in_a_part_of_the_fleet(world: World) -> None:
    everywhere = Canary(frozenset({Feature.SLOT_LABELS}), frozenset({"websites"}))
    nowhere = Canary(frozenset({Feature.SLOT_LABELS}), frozenset({"others"}))
    world.runtime.change(ShardSettings(canary=nowhere))
    assert modes(world)[CONFIGMAPS] is LOCAL
    world.runtime.change(ShardSettings(canary=everywhere))
    assert modes(world)[CONFIGMAPS] is SLOTS
