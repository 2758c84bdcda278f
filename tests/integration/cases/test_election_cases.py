"""What went wrong elsewhere with elections, and with members that disagree about who is there. In virtual time.

The table is in docs/cases.md.
"""

from __future__ import annotations

import asyncio

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import Refuse, Silence
from fleet.office.coordinator import Coordinator
from tests.integration.small_fleet import LEASE_SECONDS, SmallFleet, eventually, running
from tests.integration.test_ownership import LEASES, status_writer
from tests.unit.fleet.ownership import Fleet, now
from tests.unit.fleet.ownership import running as running_in_memory

pytestmark = pytest.mark.looptime(noop_cycles=0)

OFFICE = "web-coordinator"


async def three_candidates(fleet: SmallFleet) -> list[Coordinator]:
    """Beside the one in office, two that stand by."""
    assert fleet.coordinator is not None
    candidates = [fleet.coordinator]
    for name in ("agent-2", "agent-3"):
        fleet.start_coordinator(name)
        candidates.append(fleet.coordinator)
    await asyncio.sleep(1)
    return candidates


async def test_b77_an_office_whose_record_lost_its_annotations_does_not_go_from_hand_to_hand() -> None:
    async with running(SmallFleet(status_writer), "a") as fleet:
        candidates = await three_candidates(fleet)
        term = candidates[0].epoch
        for _ in range(20):
            lease = await fleet.client.get(LEASES, "default", OFFICE)
            nothing = dict.fromkeys(lease["metadata"].get("annotations") or {})
            await fleet.client.merge_patch(LEASES, "default", OFFICE, {"metadata": {"annotations": nothing}})
            await asyncio.sleep(10)
        assert [candidate.in_office for candidate in candidates].count(True) == 1
        assert max(candidate.epoch for candidate in candidates) <= term + 1


async def test_b82_a_candidate_whose_watches_are_silent_takes_office_within_a_retry_after_the_conflicts_end() -> None:
    async with running(SmallFleet(status_writer), "a") as fleet:
        candidates = await three_candidates(fleet)
        silence = Silence(match=Match(verbs=("watch",), user_agent="r=coordinator"))
        fleet.server.faults.inject(silence)
        conflicts = Refuse(match=Match(verbs=("update",), name=OFFICE), status=409, until_seconds=3 * LEASE_SECONDS)
        await fleet.crash("agent")
        fleet.server.faults.inject(conflicts)
        await asyncio.sleep(3 * LEASE_SECONDS)
        assert not any(candidate.in_office for candidate in candidates[1:])
        await eventually(
            lambda: any(candidate.in_office for candidate in candidates[1:]),
            within_seconds=LEASE_SECONDS / 4 + 0.1,
            what="one of them is in office",
        )


async def test_b80_members_that_see_different_memberships_never_own_one_key_twice() -> None:
    """One dies; another one's view stands still before it, and a third comes after it. Who loses a range must have let
    go of it before anybody else has it."""
    async with running_in_memory(Fleet(ranges=16), "a", "b") as fleet:
        fleet.faults("b").held = True
        await fleet.crash("a")
        fleet.start("c")
        await fleet.pass_seconds(4 * fleet.lease_seconds)
        given = {each for each, name in fleet.open().items() if name == "c"}
        kept = {each for each, name in fleet.owners().items() if name == "b"}
        assert given
        assert not given & kept
        fleet.wire("b").release()
        await fleet.all_open(within_seconds=30)
        assert now() > 0


async def test_b80_a_view_that_is_late_by_almost_a_lease_makes_nobody_own_a_key_twice() -> None:
    async with running_in_memory(Fleet(ranges=16), "a", "b") as fleet:
        fleet.faults("b").lag_seconds = fleet.lease_seconds - 1
        for round_ in range(4):
            fleet.start(f"c{round_}")
            await fleet.pass_seconds(10)
            await fleet.crash(f"c{round_}")
            await fleet.pass_seconds(15)
        fleet.faults("b").lag_seconds = 0
        await fleet.all_open(within_seconds=60)
