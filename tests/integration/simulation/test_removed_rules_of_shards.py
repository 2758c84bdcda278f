"""Rules of shards that are taken out of the product: a few histories of the stack tell."""

from __future__ import annotations

import pytest

from chaos.simulation.depths import run
from chaos.simulation.removals import REMOVALS
from chaos.simulation.swarm import draw

SEEDS = 12

QUICKLY = ("gate-off", "no-live-read", "no-preconditions", "deaf-to-deletions", "keys-wake-once", "status-unasked")


@pytest.mark.parametrize("name", QUICKLY)
def test_the_court_finds_that_a_rule_is_missing(name: str) -> None:
    removal = REMOVALS[name]
    with removal.remove():
        found = next((breaches[0] for seed in range(SEEDS) if (breaches := run(draw(seed, "stack")).breaches)), None)
    assert found is not None
    assert found.oracle in removal.expects
