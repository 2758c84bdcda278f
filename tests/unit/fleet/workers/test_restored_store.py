"""R14: a store that was restored may name as owner who is none any more; whoever acts has to be waited for."""

from __future__ import annotations

import pytest

from tests.unit.fleet.ownership import LEASE_SECONDS, Fleet, running

pytestmark = pytest.mark.looptime(noop_cycles=0)


async def test_who_notices_a_restore_first_waits_for_those_who_have_not() -> None:
    """The backup names a as owner of what b has owned since, and b has heard of nothing yet."""
    async with running(Fleet(ranges=2), "a") as fleet:
        backup = fleet.store.backup()
        fleet.start("b")
        await fleet.until(lambda: fleet.holds("b") != [], 20, "b owns something")
        await fleet.pass_seconds(1)
        fleet.faults("b").held = True
        fleet.store.restore(backup)
        await fleet.pass_seconds(LEASE_SECONDS)  # under the eyes of the oracle
        fleet.wire("b").release()
        await fleet.all_open(6 * LEASE_SECONDS)
