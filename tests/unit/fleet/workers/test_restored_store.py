"""R14: a store that was restored may name as owner who is none any more; whoever acts has to be waited for."""

from __future__ import annotations

import asyncio

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


async def test_who_notices_by_its_own_renewal_waits_as_well() -> None:
    """The view of a shows the restored records only when a has found its own record to be an earlier one."""
    async with running(Fleet(ranges=2), "a") as fleet:
        backup = fleet.store.backup()
        fleet.start("b")
        await fleet.until(lambda: fleet.holds("b") != [], 20, "b owns something")
        await fleet.pass_seconds(1)
        fleet.faults("a").held = fleet.faults("b").held = True
        fleet.store.restore(backup)
        fleet.workers["a"].member.renew_now.set()
        while fleet.workers["a"].member.holder is not None:
            await asyncio.sleep(0)
        fleet.wire("a").release()
        await fleet.pass_seconds(LEASE_SECONDS)
        fleet.wire("b").release()
        await fleet.all_open(6 * LEASE_SECONDS)


async def test_who_is_no_member_when_its_view_notices_waits_as_well() -> None:
    """The server cannot be reached while it is restored: a runs out of time a while before b would."""
    async with running(Fleet(ranges=2), "a") as fleet:
        backup = fleet.store.backup()
        fleet.start("b")
        await fleet.until(lambda: fleet.holds("b") != [], 20, "b owns something")
        await fleet.pass_seconds(1)
        fleet.faults("a").unavailable = True
        await fleet.until(lambda: fleet.workers["a"].member.holder is None, LEASE_SECONDS, "a has run out of time")
        fleet.faults("b").held = True
        fleet.store.restore(backup)
        fleet.faults("a").unavailable = False
        await fleet.pass_seconds(LEASE_SECONDS)
        fleet.wire("b").release()
        await fleet.all_open(6 * LEASE_SECONDS)
