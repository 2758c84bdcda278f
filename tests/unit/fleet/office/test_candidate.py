from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest

from fleet.backends.local import LocalCoordination
from fleet.backends.local_store import Faults, LocalStore
from fleet.office.candidate import Candidate
from fleet.records.coordination import CasConflict, ProtocolMismatch
from fleet.records.record import CoordinatorRecord, Incarnation
from tests.unit.fleet.ownership import LEASE_SECONDS, RENEW_SECONDS, Wire, now

pytestmark = pytest.mark.looptime(noop_cycles=0)


@dataclass
class Contest:
    """Candidates for one office. elections: who was elected, in order."""

    store: LocalStore = field(default_factory=LocalStore)
    wires: dict[str, Wire] = field(default_factory=dict)
    candidates: dict[str, Candidate] = field(default_factory=dict)
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    elections: list[str] = field(default_factory=list)
    confirmed: bool = True
    known_epoch: int = 0

    def stand(self, name: str, *, count: int = 1, reaped: bool = False) -> Candidate:
        self.wires[name] = Wire(self.store, Faults())
        self.candidates[name] = Candidate(
            self.wires[name],
            Incarnation(name, count),
            lease_seconds=LEASE_SECONDS,
            renew_seconds=RENEW_SECONDS,
            reaped_predecessor=reaped,
            known_epoch=lambda: self.known_epoch,
            confirmed=lambda: self.confirmed,
            on_elected=lambda: self.elections.append(name),
            clock=now,
            rng=random.Random(name),
        )
        self.tasks[name] = asyncio.create_task(self.candidates[name].run())
        return self.candidates[name]

    async def die(self, name: str) -> None:
        self.tasks[name].cancel()
        await asyncio.gather(self.tasks[name], return_exceptions=True)

    @property
    def in_office(self) -> list[str]:
        return [name for name, each in self.candidates.items() if each.in_office() is not None]

    async def record(self) -> CoordinatorRecord:
        found = await LocalCoordination(self.store, clock=now).read_coordinator()
        assert found is not None
        return found


@pytest.fixture
async def contest() -> AsyncIterator[Contest]:
    made = Contest()
    yield made
    for name in made.tasks:
        await made.die(name)


async def test_one_of_two_is_elected_and_stays(contest: Contest) -> None:
    contest.stand("a")
    contest.stand("b")
    for _ in range(100):
        await asyncio.sleep(1.0)
        assert contest.in_office == ["a"]
    assert contest.elections == ["a"]
    assert (await contest.record()).epoch == 1


async def test_the_office_of_the_dead_is_free_after_a_lease(contest: Contest) -> None:
    contest.stand("a")
    await asyncio.sleep(1)
    contest.stand("b")
    await contest.die("a")
    await asyncio.sleep(LEASE_SECONDS - 1)
    assert contest.elections == ["a"]
    await asyncio.sleep(1 + RENEW_SECONDS)
    assert contest.elections == ["a", "b"]
    assert (await contest.record()).epoch == 2


@pytest.mark.parametrize("how", ["resigned", "reaped"])
async def test_an_office_that_is_known_to_be_free_is_taken_at_once(contest: Contest, how: str) -> None:
    first = contest.stand("a")
    await asyncio.sleep(1)
    await contest.die("a")
    if how == "resigned":
        await first.resign()
        assert (await contest.record()).holder == ""
        contest.stand("b")
    else:
        contest.stand("a", count=2, reaped=True)
    await asyncio.sleep(0.1)
    assert len(contest.elections) == 2


async def test_a_term_ends_by_itself_when_the_store_cannot_be_reached(contest: Contest) -> None:
    candidate = contest.stand("a")
    await asyncio.sleep(0.1)
    office = candidate.office
    assert office is not None
    contest.wires["a"].faults.unavailable = True
    await asyncio.sleep(LEASE_SECONDS * 0.8)
    assert contest.in_office == ["a"]
    await asyncio.sleep(LEASE_SECONDS * 0.05)
    assert contest.in_office == []
    contest.wires["a"].faults.unavailable = False
    await asyncio.sleep(RENEW_SECONDS)
    assert contest.elections == ["a", "a"]
    assert office.until == float("-inf"), "who still acts for the old term finds that it is over"


async def test_who_cannot_see_neither_stays_in_office_nor_takes_it(contest: Contest) -> None:
    candidate = contest.stand("a")
    await asyncio.sleep(0.1)
    contest.confirmed = False
    await asyncio.sleep(3 * LEASE_SECONDS)
    assert contest.in_office == []
    assert candidate.eager
    contest.confirmed = True
    await asyncio.sleep(RENEW_SECONDS)
    assert contest.in_office == ["a"]


async def test_a_candidate_wants_its_view_confirmed_shortly_before_it_may_take_office(contest: Contest) -> None:
    contest.stand("a")
    await asyncio.sleep(0.1)
    second = contest.stand("b")
    await asyncio.sleep(LEASE_SECONDS)
    assert not second.eager
    await contest.die("a")
    await asyncio.sleep(LEASE_SECONDS - 0.1)
    assert second.eager


async def test_a_lost_answer_of_a_renewal_does_not_end_a_term(contest: Contest) -> None:
    contest.stand("a")
    await asyncio.sleep(0.1)
    contest.wires["a"].faults.lost_answers = 1
    await asyncio.sleep(3 * LEASE_SECONDS)
    assert contest.in_office == ["a"]
    assert contest.elections == ["a"]


async def test_a_lost_answer_of_an_election_is_made_good_by_the_next_epoch(contest: Contest) -> None:
    wire = Wire(contest.store, Faults(lost_answers=1))
    candidate = contest.stand("a")
    candidate.coordination = wire
    await asyncio.sleep(RENEW_SECONDS)
    assert contest.in_office == ["a"]
    assert (await contest.record()).epoch == 2


async def test_an_office_that_another_took_or_somebody_deleted_is_lost(contest: Contest) -> None:
    first = contest.stand("a")
    await asyncio.sleep(0.1)
    office = first.office
    other = LocalCoordination(contest.store, clock=now)
    record = await contest.record()
    await other.write_coordinator(replace(record, holder="b/1", epoch=5), record.version)
    await asyncio.sleep(1.2 * RENEW_SECONDS)
    assert contest.in_office == []
    assert office is not None
    assert office.until == float("-inf")
    await asyncio.sleep(LEASE_SECONDS + RENEW_SECONDS)
    assert (await contest.record()).epoch == 6


async def test_an_office_begins_above_the_epoch_that_the_map_remembers(contest: Contest) -> None:
    contest.known_epoch = 41
    contest.stand("a")
    await asyncio.sleep(0.1)
    assert (await contest.record()).epoch == 42


async def test_a_term_that_was_given_up_does_not_come_back_with_a_late_answer(contest: Contest) -> None:
    candidate = contest.stand("a")
    await asyncio.sleep(0.1)
    office = candidate.office
    assert office is not None
    contest.wires["a"].latency = lambda: 0.5
    await asyncio.sleep(RENEW_SECONDS)
    candidate.lose("for the test")
    await asyncio.sleep(1.0)
    assert office.until == float("-inf")


async def test_an_office_of_another_protocol_is_waited_for_and_ends_nobody(
    contest: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever runs the other version may be rolled back."""
    contest.stand("a")
    await asyncio.sleep(1.0)

    async def mismatched(self: LocalCoordination) -> CoordinatorRecord:
        raise ProtocolMismatch("", "Lease web-coordinator has protocol 2")

    async def conflicting(self: LocalCoordination, new: CoordinatorRecord, replaces: str, **_: object) -> None:
        raise CasConflict("it moved")

    with monkeypatch.context() as changed:
        changed.setattr(LocalCoordination, "read_coordinator", mismatched)
        changed.setattr(LocalCoordination, "write_coordinator", conflicting)
        await asyncio.sleep(3 * LEASE_SECONDS)
        assert contest.in_office == []
        assert not contest.tasks["a"].done()
    await asyncio.sleep(3 * LEASE_SECONDS)
    assert contest.in_office == ["a"]
