"""Pods that are replaced one after the other, are more, and are fewer, while objects change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.health.range_steps import Cause
from shards.clock import boot_seconds
from tests.integration.rolling.stateful_set import StatefulSet, served, stateful_set

UNOWNED_SECONDS = 3.0
"""Per range in all, on a machine that does other work meanwhile; `make bench-rebalancing` measures it, against one."""


@pytest.mark.timeout(300)
async def test_pods_that_are_replaced_one_after_the_other_hand_everything_over(
    server_kind: str, binary: Callable[[], Path], tmp_path: Path
) -> None:
    pods = tuple(f"web-{ordinal}" for ordinal in range(5 if server_kind == "embedded" else 3))
    with served(server_kind, tmp_path, binary) as server:
        async with stateful_set(server, tmp_path, ranges=10) as web:
            for name in pods:
                web.start(name, revision="1")
            await web.owned_by(*pods)
            began = boot_seconds()
            async with web.busy():
                for name in reversed(pods):
                    assert await asyncio.to_thread(web.pods[name].terminate) == 0
                    web.start(name, revision="2")
                    await _joined(web, name)
                await web.owned_by(*(name for name in pods if name in set(web.owners().values())))
            await web.settle()
            unowned, moves = web.unowned(began), web.moves(began)
            assert web.causes(began) == {Cause.HANDOVER}
            assert max(unowned.values()) < UNOWNED_SECONDS, unowned
            assert max(moves.values()) <= 2, moves
            assert web.judged().takeovers == 0


async def _joined(web: StatefulSet, name: str) -> None:
    """The pod is ready: its worker is a member."""
    pod = web.pods[name]

    async def look() -> bool:
        return "member web-" in await asyncio.to_thread(pod.log.read_text)

    async with asyncio.timeout(60):
        while not await look():
            await asyncio.sleep(0.1)


@pytest.mark.timeout(180)
async def test_pods_that_are_added_get_their_part_and_give_it_back_when_they_go(tmp_path: Path) -> None:
    with served("embedded", tmp_path, Path) as server:
        async with stateful_set(server, tmp_path) as web:
            for name in ("web-0", "web-1"):
                web.start(name)
            await web.owned_by("web-0", "web-1")
            began = boot_seconds()
            async with web.busy():
                web.start("web-2")
                await web.owned_by("web-0", "web-1", "web-2")
                for name in ("web-2", "web-1"):
                    assert await asyncio.to_thread(web.pods[name].terminate) == 0
                await web.owned_by("web-0")
            await web.settle()
            assert web.causes(began) == {Cause.HANDOVER}
            assert max(web.unowned(began).values()) < UNOWNED_SECONDS
            assert web.judged().takeovers == 0


@pytest.mark.timeout(180)
async def test_the_last_pods_end_by_themselves_though_nobody_takes_over(tmp_path: Path) -> None:
    with served("embedded", tmp_path, Path) as server:
        async with stateful_set(server, tmp_path, workers={"perPod": 1, "leaveSeconds": 3}) as web:
            pods = [web.start("web-0"), web.start("web-1")]
            await web.owned_by("web-0", "web-1")
            codes = await asyncio.gather(*(asyncio.to_thread(pod.terminate) for pod in pods))
            assert codes == [0, 0]
            again = web.start("web-0")
            await web.owned_by("web-0")
            assert await asyncio.to_thread(again.terminate) == 0
            assert web.judged().takeovers == 0, "all of it was released"
