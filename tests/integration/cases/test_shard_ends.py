"""Case of a shard that was given up while a hundred keys were queued. In virtual time."""

from __future__ import annotations

import asyncio

import pytest

from shards import Context, Request, Result
from shards.ownership.tenure import Tenure
from shards.reconciling.engine import Engine
from tests.integration.cases.gated import ON_AND_OFF, gated

pytestmark = pytest.mark.looptime


class Ticking:
    """Runs for a second, and again after five."""

    def __init__(self) -> None:
        self.starts = 0

    async def reconcile(self, ctx: Context, request: Request) -> Result:
        self.starts += 1
        await asyncio.sleep(1.0)
        return Result(requeue_after_seconds=5.0)


async def _revoked(gate: bool) -> int:
    """How many reconciles begin after a shard with a hundred queued keys, and timers, was given up."""
    ticking = Ticking()
    async with gated(ticking.reconcile, gate=gate, at_once=2) as world:
        [shard] = world.shards
        assert _tasks("queue")
        for number in range(100):
            world.website(f"site-{number}")
        await asyncio.sleep(20.5)
        assert shard.load()["queue_depth"] > 50
        await shard.drain(0.2)
        starts = ticking.starts
        for number in range(100):
            await world.touch(f"site-{number}", text="changed")
        await asyncio.sleep(600.0)
        # The views stay open until the shard is stopped, so that whoever is next can be told how far they have come.
        assert not _tasks("queue", "reconcile", "resync", "live read")
        await shard.stop()
        assert not _tasks("informer")
        return ticking.starts - starts


def _tasks(*of: str) -> list[str]:
    return [name for each in asyncio.all_tasks() if (name := each.get_name()).startswith(of)]


@ON_AND_OFF
async def test_b94_nothing_begins_after_a_shard_was_given_up(gate: bool) -> None:
    assert await _revoked(gate) == 0


async def test_b94_oracle_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    async def goes_on(self: Engine, grace_seconds: float) -> None:
        return

    monkeypatch.setattr(Tenure, "end", lambda self: None)
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "drain", goes_on)
        ticking = Ticking()
        async with gated(ticking.reconcile, gate=True, at_once=2) as world:
            for number in range(10):
                world.website(f"site-{number}")
            await asyncio.sleep(3.5)
            await world.shards[0].drain(0.2)
            starts = ticking.starts
            await asyncio.sleep(60.0)
            assert ticking.starts > starts
            patch.undo()
