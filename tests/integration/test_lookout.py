"""What lookouts say of owners, against what the judge reads off the recorder's journal. In virtual time."""

from __future__ import annotations

import asyncio
import math

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import Refuse
from fleet.office.lookout import BLIND_SECONDS, CONFIRM_SECONDS, LOOK_SECONDS
from fleet.rules.membership import ACTING_SHARE
from shards.objects import Object
from shards.testing.virtual_time import loop_seconds
from tests.integration.small_fleet import LEASE_SECONDS, SmallFleet, eventually, running
from tests.integration.test_ownership import CONFIG_MAPS, LEASES, status_writer

pytestmark = pytest.mark.looptime

DEADLINE = LEASE_SECONDS * ACTING_SHARE


def fleet_of(shards: int) -> SmallFleet:
    return SmallFleet(status_writer, shards=shards)


async def alarm(fleet: SmallFleet, agent: str, seconds: float) -> list[tuple[float, float, float]]:
    """What that agent's lookout says, every quarter of a second: when, unowned seconds, unowned share."""
    said, end = [], loop_seconds() + seconds
    while loop_seconds() < end:
        lookout = fleet.lookouts[agent]
        said.append((loop_seconds(), lookout.unowned_seconds, lookout.unowned_share))
        await asyncio.sleep(0.25)
    return said


def truth(fleet: SmallFleet, since: float) -> tuple[float, float]:
    """When ranges of a dead member were unowned for the first and for the last time since then, as the judge finds it
    in the journal of the server."""
    deaths = [gap for gap in fleet.verdict().gaps if gap.cause == "death" and gap.began_at >= since]
    return min(gap.began_at for gap in deaths), max(gap.ended_at or math.inf for gap in deaths)


async def test_nothing_is_said_to_be_missing_while_all_is_owned() -> None:
    async with running(fleet_of(8), "a", "b") as fleet:
        await asyncio.sleep(LOOK_SECONDS)
        for _, seconds, share in await alarm(fleet, "agent", 60):
            assert (seconds, share) == (0.0, 0.0)
        assert fleet.lookouts["agent"].double_owners == 0


async def test_handovers_and_restarts_are_no_double_owners_and_short_gaps() -> None:
    async with running(fleet_of(8), "a", "b") as fleet:
        fleet.start_lookout("other")
        for _ in range(5):
            fleet.join("c")
            await asyncio.sleep(8)
            await fleet.leave("c")
            await fleet.crash("b")
            fleet.join("b", reaped=True)
            await asyncio.sleep(8)
            assert max(seconds for _, seconds, _ in await alarm(fleet, "agent", 5)) < LEASE_SECONDS
        assert [each.double_owners for each in fleet.lookouts.values()] == [0, 0]


async def test_the_alarm_of_kills_is_what_the_journal_says() -> None:
    """A member that dies has owned nothing since its deadline; the judge knows of it by the fence. The coordinator dies
    with it, so that the takeover has to wait for the next one."""
    async with running(fleet_of(8), "a", "b", "c") as fleet:
        fleet.start_lookout("watcher", follows=True)
        for name, agent, pause in (("c", "agent", 12.0), ("b", "agent-c", 20.0)):
            await asyncio.sleep(5)
            renewals = [each for each in fleet.writes(LEASES, member=name) if each.name == f"web-member-{name}"]
            last = max(entry.time for entry in renewals)
            await fleet.crash(name)
            await fleet.crash(agent)
            said = await alarm(fleet, "watcher", pause)
            fleet.start_coordinator(f"agent-{name}")
            said += await alarm(fleet, "watcher", 4 * LEASE_SECONDS)
            fenced, claimed = truth(fleet, last)
            told = [(when, seconds, share) for when, seconds, share in said if seconds > 0]
            # The last renewal is seen at the next look, and so is the end of what it gave.
            assert -0.1 <= told[0][0] - (last + DEADLINE) <= 2 * LOOK_SECONDS + 0.5
            assert told[0][0] < fenced
            assert told[-1][0] == pytest.approx(claimed, abs=LOOK_SECONDS + 0.25)
            for when, seconds, share in told:
                assert -0.1 <= when - (last + DEADLINE) - seconds <= LOOK_SECONDS
                assert share <= 0.5
            await fleet.all_open()
            assert fleet.lookouts["watcher"].double_owners == 0


async def test_every_lookout_tells_of_pods_that_are_gone_without_a_coordinator() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        other = fleet.start_lookout("other")
        await asyncio.sleep(CONFIRM_SECONDS)
        await fleet.crash("agent")
        await fleet.crash("b")
        await fleet.crash("a")
        died = loop_seconds()
        await eventually(lambda: other.unowned_share == 1.0, within_seconds=30, what="the alarm of all keys")
        await asyncio.sleep(20)
        assert other.unowned_seconds == pytest.approx(loop_seconds() - died - DEADLINE, abs=CONFIRM_SECONDS * 1.5)
        fleet.join("a")
        fleet.join("b")
        fleet.start_coordinator("agent-2")
        await fleet.all_open(60)
        await eventually(lambda: other.unowned_seconds == 0.0, within_seconds=30, what="its end")


async def test_owners_without_map_and_coordinator_are_owners() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        await fleet.crash("agent")
        await fleet.client.delete(CONFIG_MAPS, "default", "web-map")
        other = fleet.start_lookout("other")
        await asyncio.sleep(60)
        assert (other.sees, other.unowned_seconds) == (True, 0.0)
        await fleet.crash("a")
        await eventually(lambda: other.unowned_share == 0.5, within_seconds=30, what="the alarm of half the keys")
        fleet.start_coordinator("agent-2")
        await fleet.all_open(60)


async def test_a_lookout_that_cannot_see_says_that_and_nothing_else() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        other = fleet.start_lookout("other")
        await asyncio.sleep(CONFIRM_SECONDS)
        assert other.sees
        refusals = [
            fleet.server.faults.inject(Refuse(match=Match(member=each, resource=str(LEASES)), status=403))
            for each in ("other",)
        ]
        await asyncio.sleep(BLIND_SECONDS + CONFIRM_SECONDS)
        assert not other.sees
        assert math.isnan(other.unowned_seconds)
        assert math.isnan(other.unowned_share)
        for each in refusals:
            each.release()
        await eventually(lambda: other.sees and other.unowned_seconds == 0, within_seconds=15, what="it sees again")


async def lease_of(fleet: SmallFleet, member: str) -> Object:
    leases = (await fleet.client.list(LEASES, "default"))["items"]
    return next(each for each in leases if str(each["spec"].get("holderIdentity", "")).startswith(f"{member}@"))


async def test_a_worker_that_does_not_let_go_of_what_another_owns_is_found_by_what_it_says_itself() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        each = next(each for each, name in fleet.open_ranges().items() if name == "a")
        status = fleet.members["a"].status()
        assert status["shards"][str(each)]["open"]
        del fleet.members["a"]

        class Stubborn:
            """Goes on saying what it said, whatever its Lease says."""

            def status(self) -> dict[str, object]:
                return status

        fleet.members["stubborn"] = Stubborn()  # type: ignore[assignment]
        await fleet.crash("a")
        try:
            found = fleet.lookouts["agent"]
            await eventually(lambda: found.double_owners > 0, within_seconds=3 * LEASE_SECONDS, what="it is found")
        finally:
            del fleet.members["stubborn"]
