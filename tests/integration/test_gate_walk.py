"""Random walks around the version gate, on the embedded server in virtual time.

A failing seed is a test of its own: `pytest tests/integration -k 'walk and 17'`.
"""

from __future__ import annotations

import pytest

from shards.ownership.fence import Fence
from tests.integration.gate_walk import walk_along

# A resolution that floating-point seconds hold exactly: timers fire at their time and not a rounding error before it.
pytestmark = pytest.mark.looptime(noop_cycles=0, resolution=2**-20)


LOST_AND_GONE = (10006, 10019)
"""Walks in which the answer to a create gets lost, and somebody removes what was made before the gate looks for it."""

UNNOTICED = 79
"""With a restore, a walk in which a key writes before the view knows of it."""


@pytest.mark.parametrize("seed", [*range(12), *LOST_AND_GONE])
async def test_no_reconcile_sees_less_than_was_written_for_its_key_and_every_key_gets_there(seed: int) -> None:
    await walk_along(seed)


@pytest.mark.parametrize("seed", [*range(6), UNNOTICED, 81, 89])
async def test_the_same_where_the_server_is_restored_from_a_backup_on_the_way(seed: int) -> None:
    """Versions mean something else afterwards, and the views learn of it late.

    Not every seed holds: where ghosts of the old history are written for so often that versions pass those of before
    within the silence of one watch (40), nobody can notice (decision 18, price).
    """
    await walk_along(seed, restores=True)


async def test_without_a_look_at_answers_such_a_walk_breaks_the_promise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Decision 18: the view of one resource has not noticed the restore when something is written there."""
    monkeypatch.setattr(Fence, "compare_answer", lambda *_, **__: None)
    monkeypatch.setattr(Fence, "compare_read", lambda *_, **__: None)
    with pytest.raises(AssertionError, match="does not see"):
        await walk_along(UNNOTICED, restores=True)


async def test_walks_with_the_gate_switched_off_break_the_promise() -> None:
    for seed in range(20):
        try:
            await walk_along(seed, gate=False)
        except AssertionError as failure:
            if "BROKEN" in str(failure) or "twice" in str(failure) or "posted again" in str(failure):
                return
    pytest.fail("twenty walks without a gate found nothing")
