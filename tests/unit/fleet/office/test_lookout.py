"""A lookout goes on looking, whatever it meets, and spares a server that cannot answer."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fleet.backends.local import LocalCoordination
from fleet.backends.local_store import Faults, LocalStore
from fleet.office.lookout import BLIND_SECONDS, CONFIRM_SECONDS, Lookout
from fleet.records.record import StoredMap
from tests.unit.fleet.ownership import now

pytestmark = pytest.mark.looptime


class Counted(LocalCoordination):
    reads = 0

    async def read_map(self) -> StoredMap | None:
        self.reads += 1
        return await super().read_map()


class Pod:
    """A pod that follows nothing. trouble: what its workers meet when they are asked."""

    def __init__(self) -> None:
        self.trouble: Exception | None = None
        self.faults = Faults()
        self.coordination = Counted(LocalStore(), clock=now, faults=self.faults)
        self.lookout = Lookout(
            self.coordination, view=lambda: None, workers=self.workers, clock=now, rng=random.Random(1)
        )

    async def workers(self) -> Iterable[Mapping[str, Any]]:
        if self.trouble is not None:
            raise self.trouble
        return []


@asynccontextmanager
async def looking() -> AsyncIterator[Pod]:
    pod = Pod()
    task = asyncio.create_task(pod.lookout.run())
    try:
        yield pod
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_server_that_cannot_answer_is_asked_about_as_often_as_ever() -> None:
    async with looking() as pod:
        pod.faults.unavailable = True
        await asyncio.sleep(20 * CONFIRM_SECONDS)
        assert 20 <= pod.coordination.reads <= 50
        assert not pod.lookout.sees


async def test_one_failure_does_not_make_it_blind() -> None:
    async with looking() as pod:
        for _ in range(10):
            await asyncio.sleep(CONFIRM_SECONDS)
            reads, pod.faults.unavailable = pod.coordination.reads, True
            while pod.coordination.reads == reads:
                await asyncio.sleep(0.1)
            pod.faults.unavailable = False
            for _ in range(round(BLIND_SECONDS)):
                await asyncio.sleep(1.0)
                assert pod.lookout.sees


async def test_an_error_of_any_kind_does_not_end_it() -> None:
    async with looking() as pod:
        await asyncio.sleep(1.0)
        pod.trouble = RuntimeError("a worker that talks nonsense")
        await asyncio.sleep(3 * CONFIRM_SECONDS)
        pod.trouble = None
        await asyncio.sleep(2 * CONFIRM_SECONDS)
        assert pod.lookout.sees
        assert pod.coordination.reads >= 4
