"""Random walks around the version gate, on the embedded server in virtual time.

A failing seed is a test of its own: `pytest tests/integration -k 'walk and 17'`.
"""

from __future__ import annotations

import pytest

from tests.integration.gate_walk import walk_along

# A resolution that floating-point seconds hold exactly: timers fire at their time and not a rounding error before it.
pytestmark = pytest.mark.looptime(noop_cycles=0, resolution=2**-20)


LOST_AND_GONE = (10006, 10019)
"""Walks in which the answer to a create gets lost, and somebody removes what was made before the gate looks for it."""


@pytest.mark.parametrize("seed", [*range(12), *LOST_AND_GONE])
async def test_no_reconcile_sees_less_than_was_written_for_its_key_and_every_key_gets_there(seed: int) -> None:
    await walk_along(seed)


async def test_walks_with_the_gate_switched_off_break_the_promise() -> None:
    for seed in range(20):
        try:
            await walk_along(seed, gate=False)
        except AssertionError as failure:
            if "BROKEN" in str(failure) or "twice" in str(failure) or "posted again" in str(failure):
                return
    pytest.fail("twenty walks without a gate found nothing")
