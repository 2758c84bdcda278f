from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from shards.authoring.controller import Controller
from shards.errors import ApiError
from shards.filtering.ladder import FilterLadder, Verdict
from shards.filtering.prober import Prober, say, targets_of
from shards.keyrange import PartitionKey
from shards.objects import Resource
from shards.settings import ShardSettings
from shards.view_filters import best_sources
from shards.watching.source import FilterMode
from tests.unit.shards.filtering.test_proofs import filters, page
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, Sent, World

pytestmark = pytest.mark.looptime

LEASES = Resource("coordination.k8s.io", "v1", "leases")


class Rig:
    def __init__(self, key: PartitionKey = PartitionKey.UID) -> None:
        self.world = World()
        controller = Controller("websites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))
        self.ladder = FilterLadder(self.world.clock, random.Random(1), told=say)
        self.prober = Prober(
            self.ladder,
            self.world.transport,
            targets_of(each for any in PartitionKey for each in best_sources([controller], ShardSettings(), any)),
            first=targets_of(best_sources([controller], ShardSettings(), key)),
            stand_ins=((LEASES, ""),),
        )

    @property
    def verdicts(self) -> dict[str, Verdict]:
        return {f"{rung.resource} {rung.mode}": rung.verdict for rung in self.ladder.rungs.values()}

    def selector(self) -> bool:
        return self.ladder.usable(WEBSITES, FilterMode.SHARD_SELECTOR)

    def slots(self) -> bool:
        return self.ladder.usable(CONFIGMAPS, FilterMode.SLOT_LABELS)


@asynccontextmanager
async def probing(rig: Rig) -> AsyncIterator[Rig]:
    task = asyncio.create_task(rig.prober.run())
    await rig.prober.settled(5.0)
    try:
        yield rig
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        rig.world.server.close()


async def test_both_rungs_are_settled_before_the_first_view_opens() -> None:
    rig = Rig()
    rig.world.website("a")
    async with probing(rig):
        assert rig.verdicts == {
            f"{WEBSITES} shard-selector": Verdict.PROVEN,
            f"{CONFIGMAPS} slot-labels": Verdict.PROVEN,
        }


async def test_with_the_key_namespace_children_are_asked_for_the_selector_too() -> None:
    rig = Rig(PartitionKey.NAMESPACE)
    rig.world.website("a")
    page(rig.world, "some")
    async with probing(rig):
        assert rig.verdicts == {
            f"{WEBSITES} shard-selector": Verdict.PROVEN,
            f"{CONFIGMAPS} shard-selector": Verdict.PROVEN,
        }


async def test_with_the_key_name_nothing_is_asked() -> None:
    async with probing(Rig(PartitionKey.NAME)) as rig:
        assert rig.world.transport.sent == []


async def test_what_another_key_would_need_is_asked_once_a_view_would_like_to_stand_on_it() -> None:
    rig = Rig()
    page(rig.world, "some")
    async with probing(rig):
        assert not rig.ladder.usable(CONFIGMAPS, FilterMode.SHARD_SELECTOR)
        await asyncio.sleep(1)
        assert rig.ladder.usable(CONFIGMAPS, FilterMode.SHARD_SELECTOR)


async def test_where_there_is_no_object_another_collection_of_the_server_stands_in() -> None:
    rig = Rig()
    rig.world.server.seed(LEASES, {"metadata": {"name": "node", "namespace": "default"}})
    async with probing(rig):
        assert rig.selector()


async def test_what_cannot_be_asked_at_the_start_is_asked_again() -> None:
    rig = Rig()
    async with probing(rig):
        assert not rig.selector()
        rig.world.website("a")
        await asyncio.sleep(80)
        assert rig.selector()


async def test_a_server_that_does_not_answer_keeps_no_worker_from_its_start() -> None:
    rig = Rig()
    rig.world.transport.latency_seconds = 3600.0
    began = rig.world.clock()
    async with probing(rig):
        assert rig.world.clock() - began == pytest.approx(5.0)
        assert set(rig.verdicts.values()) == {Verdict.UNKNOWN}


async def test_a_server_that_refuses_is_asked_again_later() -> None:
    rig = Rig()
    rig.world.website("a")

    def refuse(sent: Sent) -> Exception | None:
        return ApiError(403, "Forbidden", "no")

    rig.world.transport.fail = refuse
    async with probing(rig):
        rig.world.transport.fail = lambda _: None
        assert not rig.selector()
        await asyncio.sleep(80)
        assert rig.selector()
        assert rig.slots()


async def test_an_answer_that_is_no_list_is_not_the_last_question() -> None:
    rig = Rig()
    rig.world.website("a")
    inner = rig.world.transport.inner.request

    async def garbage(*_: object, **__: object) -> bytes:
        return b"<html>a captive portal</html>"

    rig.world.transport.inner.request = garbage  # type: ignore[method-assign]
    async with probing(rig):
        assert set(rig.verdicts.values()) == {Verdict.UNKNOWN}
        rig.world.transport.inner.request = inner  # type: ignore[method-assign]
        await asyncio.sleep(80)
        assert set(rig.verdicts.values()) == {Verdict.PROVEN}


async def test_a_server_that_was_rolled_back_and_upgraded_is_found_out(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    rig = Rig()
    rig.world.website("a")
    async with probing(rig):
        filters(rig.world, False)
        rig.ladder.reconnected(WEBSITES, FilterMode.SHARD_SELECTOR)
        await asyncio.sleep(35)
        assert not rig.selector()
        filters(rig.world, True)
        await asyncio.sleep(200)
        assert rig.selector()
    told = [each.getMessage() for each in caplog.records if "shard-selector" in each.getMessage()]
    assert [each.split(" is ")[1].split(":")[0] for each in told] == ["proven", "refuted", "proven"]


async def test_a_child_without_its_label_ends_the_filter_by_labels_until_it_has_one() -> None:
    rig = Rig()
    site = rig.world.website("a")
    async with probing(rig):
        assert rig.slots()
        page(rig.world, "old", owner=site)
        await asyncio.sleep(800)
        assert not rig.slots()
        await rig.world.kubectl.delete(CONFIGMAPS, "default", "old")
        await asyncio.sleep(200)
        assert rig.slots()
