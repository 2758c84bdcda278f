"""Histories that nobody wrote: hypothesis draws operations, both servers play them, every answer must be equal.

Every run plays the histories of one seed, so that a change is judged by what it changed and not by luck. `make
histories` looks for new ones: `HISTORY_SEED=new` draws a seed and tells it, a number plays that seed again, and
`$HISTORY_STEPS` asks for more steps than usual. A history that fails is cut down to the operations that matter and
printed as Python, to be pasted into tests/contract/generated/regressions.py.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase

from tests.contract.differences import difference
from tests.contract.generated.operations import Operation
from tests.contract.generated.regressions import REGRESSIONS
from tests.contract.generated.scenes import Scene
from tests.contract.generated.shrinking import shrunk
from tests.contract.generated.strategies import histories
from tests.contract.generated.telling import told
from tests.contract.generated.widgets import WIDGET_SCHEMA
from tests.contract.histories.objects import define
from tests.contract.transcripts import Stage, stage

if TYPE_CHECKING:
    from shards.testing.server import EmbeddedServer

LEAST_STEPS = int(os.environ.get("HISTORY_STEPS", "2000"))
SEED = 20261130
LENGTH = 60
"""Operations in one history; each is a step at least."""
SHRINK_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Pair:
    """Both servers, and a history that is played on them at the same time."""

    embedded: Path
    real: Path

    def play(self, operations: list[Operation]) -> tuple[str, int]:
        """What differs, and how many steps there were."""
        return asyncio.run(self._play(operations))

    async def _play(self, operations: list[Operation]) -> tuple[str, int]:
        ours, theirs = await asyncio.gather(self._on(self.embedded, operations), self._on(self.real, operations))
        return difference(ours.transcript, theirs.transcript), theirs.steps

    async def _on(self, kubeconfig: Path, operations: list[Operation]) -> Stage:
        async with stage(kubeconfig, secrets.token_hex(4)) as made:
            await define(made, "widgets", "Widget", WIDGET_SCHEMA, status=True)
            scene = Scene(made)
            await scene.begin()
            for operation in operations:
                try:
                    await operation.play(scene)
                except TimeoutError:
                    made.note("timed out", repr(operation))
            return made


@pytest.fixture(scope="module")
def pair(embedded: EmbeddedServer, real_kubeconfig: Path) -> Pair:
    return Pair(embedded.kubeconfig, real_kubeconfig)


@pytest.mark.parametrize("name", REGRESSIONS)
def test_a_history_that_once_failed(name: str, pair: Pair) -> None:
    told_difference, _ = pair.play(REGRESSIONS[name])
    assert told_difference == ""


def drawn(seed: int, count: int) -> list[list[Operation]]:
    """Histories of that seed, always the same ones."""
    found: list[list[Operation]] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(histories(LENGTH))
    def draw(operations: list[Operation]) -> None:
        found.append(operations)

    draw()
    return found


@pytest.mark.timeout(1800)
def test_histories_that_nobody_wrote(pair: Pair, steps: dict[str, int]) -> None:
    wanted = os.environ.get("HISTORY_SEED") or str(SEED)
    seed = secrets.randbits(32) if wanted == "new" else int(wanted)
    counts: list[int] = []
    for operations in drawn(seed, -(-LEAST_STEPS // LENGTH)):
        differs, count = pair.play(operations)
        counts.append(count)
        if differs:
            shortest = shrunk(operations, lambda some: bool(pair.play(some)[0]), SHRINK_SECONDS)
            again = pair.play(shortest)[0] or f"(not every time)\n{differs}"
            pytest.fail(f"HISTORY_SEED={seed} found\n{told(shortest)}\n{again}", pytrace=False)
    assert sum(counts) >= LEAST_STEPS
    steps[f"{len(counts)} histories of HISTORY_SEED={seed}"] = sum(counts)
