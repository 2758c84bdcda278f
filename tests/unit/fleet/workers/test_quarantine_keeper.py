"""What a worker does about the quarantine: counts, follows, clears, and lets go."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import cast

import pytest
import pytest_asyncio

from fleet.backends.local import LocalCoordination
from fleet.backends.local_store import Faults, LocalStore
from fleet.backends.quarantine_document import change_quarantine
from fleet.health.telemetry import Telemetry
from fleet.processes.flights import Death, Flight
from fleet.records.coordination import CoordinationUnavailable
from fleet.records.quarantine import Quarantine, QuarantineEntry, parse_quarantine
from fleet.records.record import Document, DocumentName
from fleet.workers.owned_shard import OwnedShard
from fleet.workers.quarantine_keeper import PATIENCE_SECONDS, KeeperSettings, QuarantineKeeper
from shards.errors import ApiError, Forbidden
from shards.keyrange import WHOLE, KeyRange
from shards.objects import Key
from shards.queue.slots import Slots
from shards.queue.suspects import DEATHS, Suspect, Suspects
from tests.unit.fleet.ownership import now

pytestmark = pytest.mark.looptime

BAD = Key("default", "bad", "uid-bad")
OTHER = Key("default", "other", "uid-other")
TODAY = 1_764_500_000.0


NAMES = itertools.count()


def death(*keys: Key, ended: str = "SIGSEGV", generation: int = 1) -> Death:
    return Death(
        f"w#{next(NAMES)}", tuple(Flight("websites", key, generation, 1.0) for key in keys), ended, "words", TODAY
    )


def deaths(count: int) -> list[Death]:
    return [death(BAD) for _ in range(count)]


class Told(Telemetry):
    def __init__(self) -> None:
        self.quarantined: list[QuarantineEntry] = []
        self.released: list[str] = []

    def key_quarantined(self, entry: QuarantineEntry) -> None:
        self.quarantined.append(entry)

    def key_released(self, entry: QuarantineEntry, why: str) -> None:
        self.released.append(why)


class Shard:
    """An open shard. generations: of the objects that it sees."""

    def __init__(self) -> None:
        self.generations: dict[Key, int] = {BAD: 1, OTHER: 1}

    def generation_of(self, controller: str, key: Key) -> int | None:
        return self.generations.get(key)


class Refusing(LocalCoordination):
    """refusal: what a write of a document meets."""

    refusal: ApiError | None = None
    refused = 0

    async def write_document(self, new: Document, *, not_after: float | None = None) -> Document:
        if self.refusal is not None:
            self.refused += 1
            raise CoordinationUnavailable(str(self.refusal)) from self.refusal
        return await super().write_document(new, not_after=not_after)


@dataclass
class Fleet:
    """Workers on one store. Each has its own client and view."""

    store: LocalStore = field(default_factory=LocalStore)
    told: Told = field(default_factory=Told)
    counted: list[str] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.coordinations: dict[str, Refusing] = {}
        self.others = LocalCoordination(self.store, clock=now)

    async def worker(
        self,
        name: str,
        *deaths: Death,
        shard: Shard | None = None,
        revision: str = "r1",
        faults: Faults | None = None,
        stop: asyncio.Event | None = None,
        refusal: ApiError | None = None,
    ) -> Suspects:
        coordination = Refusing(self.store, clock=now, faults=faults or Faults())
        coordination.refusal = refusal
        self.coordinations[name] = coordination
        view = coordination.watch(members=False)
        suspects = Suspects(Slots(4))
        pairs: list[tuple[KeyRange, OwnedShard]] = [] if shard is None else [(WHOLE, cast("OwnedShard", shard))]
        keeper = QuarantineKeeper(
            coordination,
            suspects,
            KeeperSettings(name, revision),
            deaths=deaths,
            counted=lambda: self.counted.append(name),
            document=lambda: view.documents.get(DocumentName.QUARANTINE),
            shards=lambda: pairs,
            telemetry=self.told,
            today=lambda: TODAY,
        )
        await keeper.begin(stop or asyncio.Event())
        self.tasks.append(asyncio.create_task(keeper.run()))
        return suspects

    async def document(self) -> Quarantine:
        found = await self.others.read_document(DocumentName.QUARANTINE)
        return Quarantine() if found is None else parse_quarantine(found.text)

    async def deaths(self, key: Key = BAD) -> int:
        return (await self.document()).deaths.get(("websites", key), 0)


@pytest_asyncio.fixture
async def fleet() -> AsyncIterator[Fleet]:
    made = Fleet()
    yield made
    for task in made.tasks:
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)


def run(suspects: Suspects, key: Key) -> None:
    """A run of the key that ends."""
    assert not suspects.must_wait("websites", key, lambda _: None)
    suspects.ended("websites", key, survived=True)


async def test_deaths_on_three_workers_are_three(fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("a", "b"):
        suspects = await fleet.worker(name, death(BAD, OTHER) if name == "a" else death(BAD))
        assert not suspects.is_quarantined("websites", BAD, lambda _: None)
    assert fleet.told.quarantined == []
    third = await fleet.worker("c", death(BAD, ended="exit code 79"))
    assert third.is_quarantined("websites", BAD, lambda _: None)
    [entry] = fleet.told.quarantined
    assert (entry.key, entry.deaths, entry.ended, entry.worker) == (BAD, 3, "exit code 79", "c")
    assert "websites default/bad is quarantined" in caplog.text
    assert fleet.counted == ["a", "b", "c"]
    assert await fleet.deaths(OTHER) == 1


async def test_a_worker_knows_of_others_counts_before_it_begins_and_while_it_lives(fleet: Fleet) -> None:
    early = await fleet.worker("early")
    await fleet.worker("a", death(BAD), death(BAD), death(BAD))
    late = await fleet.worker("late")
    assert late.deaths == {("websites", BAD): 3}
    await asyncio.sleep(1.0)
    assert early.deaths == {("websites", BAD): 3}


async def test_a_run_that_ends_clears_the_key_for_everybody(fleet: Fleet) -> None:
    suspects = await fleet.worker("a", death(BAD, OTHER))
    run(suspects, OTHER)
    await asyncio.sleep(1.0)
    assert (await fleet.document()).deaths == {("websites", BAD): 1}


async def test_a_death_elsewhere_is_not_cleared_by_a_run_that_ended_before(fleet: Fleet) -> None:
    suspects = await fleet.worker("a", death(BAD))
    run(suspects, BAD)
    await fleet.worker("b", death(BAD))
    await asyncio.sleep(2.0)
    assert await fleet.deaths() == 2
    assert suspects.deaths == {("websites", BAD): 2}


async def test_nothing_is_written_where_nothing_happens(fleet: Fleet) -> None:
    await fleet.worker("a", shard=Shard())
    await asyncio.sleep(10.0)
    assert await fleet.others.read_document(DocumentName.QUARANTINE) is None


class TestLeaving:
    async def test_an_object_that_is_gone_leaves_by_itself(self, fleet: Fleet) -> None:
        shard = Shard()
        suspects = await fleet.worker("a", *deaths(3), shard=shard)
        await asyncio.sleep(3.0)
        assert await fleet.deaths() == 3
        del shard.generations[BAD]
        await asyncio.sleep(3.0)
        assert (await fleet.document()).entries == {}
        assert suspects.deaths == {}
        assert fleet.told.released == ["its object is gone"]

    async def test_only_who_has_its_shard_open_can_say_that_it_is_gone(self, fleet: Fleet) -> None:
        await fleet.worker("a", *deaths(3))
        await asyncio.sleep(5.0)
        assert await fleet.deaths() == 3

    async def test_a_changed_spec_is_tried_once(self, fleet: Fleet) -> None:
        shard = Shard()
        suspects = await fleet.worker("a", *deaths(3), shard=shard)
        tried: list[Key] = []
        suspects.is_quarantined("websites", BAD, tried.append)
        shard.generations[BAD] = 2
        await asyncio.sleep(3.0)
        assert tried == [BAD]
        assert await fleet.deaths() == DEATHS - 1
        await fleet.worker("a", death(BAD, generation=2), shard=shard)
        await asyncio.sleep(5.0)
        assert await fleet.deaths() == DEATHS

    async def test_a_new_revision_of_the_fleet_tries_once_and_an_old_one_not_again(self, fleet: Fleet) -> None:
        shard = Shard()
        await fleet.worker("a", *deaths(3), shard=shard)
        suspects = await fleet.worker("b", shard=shard, revision="r2")
        await asyncio.sleep(3.0)
        assert await fleet.deaths() == DEATHS - 1
        await fleet.worker("b", death(BAD), shard=shard, revision="r2")
        await asyncio.sleep(5.0)
        assert await fleet.deaths() == DEATHS
        await fleet.worker("c", shard=shard, revision="r1")
        await asyncio.sleep(5.0)
        assert await fleet.deaths() == DEATHS
        assert suspects.deaths == {("websites", BAD): DEATHS}

    async def test_who_is_let_go_by_hand_is_tried_at_once(self, fleet: Fleet) -> None:
        suspects = await fleet.worker("a", *deaths(3), shard=Shard())
        tried: list[Key] = []
        suspects.is_quarantined("websites", BAD, tried.append)
        suspect: Suspect = ("websites", BAD)
        await change_quarantine(fleet.others, lambda known: known.tried_again(suspect), Quarantine())
        await asyncio.sleep(0.5)
        assert tried == [BAD]
        assert suspects.deaths == {suspect: DEATHS - 1}


class TestTrouble:
    async def test_what_cannot_be_written_holds_for_this_worker_and_is_written_later(self, fleet: Fleet) -> None:
        faults = Faults(unavailable=True)
        beginning = asyncio.create_task(fleet.worker("a", death(BAD), faults=faults))
        await asyncio.sleep(5.0)
        assert not beginning.done()
        faults.unavailable = False
        suspects = await beginning
        assert (suspects.deaths, fleet.counted) == ({("websites", BAD): 1}, ["a"])

    async def test_who_is_told_to_stop_does_not_wait_for_a_server_that_is_away(self, fleet: Fleet) -> None:
        stop = asyncio.Event()
        beginning = asyncio.create_task(fleet.worker("a", death(BAD), faults=Faults(unavailable=True), stop=stop))
        await asyncio.sleep(1.0)
        stop.set()
        await asyncio.wait_for(beginning, 2.0)

    async def test_a_server_that_refuses_the_document_keeps_no_worker_from_its_work(
        self, fleet: Fleet, caplog: pytest.LogCaptureFixture
    ) -> None:
        await fleet.worker("a", death(OTHER))
        full = Forbidden(403, "Forbidden", "exceeded quota: configmaps")
        began = now()
        suspects = await asyncio.wait_for(fleet.worker("b", *deaths(3), refusal=full), 30.0)
        assert now() - began < 1.0
        assert suspects.deaths == {("websites", BAD): 3, ("websites", OTHER): 1}
        assert suspects.is_quarantined("websites", BAD, lambda _: None)
        caplog.clear()
        await asyncio.sleep(600.0)
        assert fleet.coordinations["b"].refused < 20, "it is not asked again and again"
        assert len(caplog.records) < 20
        await fleet.worker("c", death(OTHER))
        await asyncio.sleep(1.0)
        assert suspects.deaths == {("websites", BAD): 3, ("websites", OTHER): 2}, "what others write is followed"
        fleet.coordinations["b"].refusal = None
        await asyncio.sleep(60.0)
        assert await fleet.deaths() == 3

    async def test_a_server_that_answers_with_errors_is_waited_for_and_not_for_ever(self, fleet: Fleet) -> None:
        began = now()
        broken = ApiError(500, "InternalError", "failed calling webhook")
        suspects = await asyncio.wait_for(fleet.worker("a", death(BAD), refusal=broken), 60.0)
        assert PATIENCE_SECONDS <= now() - began < PATIENCE_SECONDS + 5.0
        assert suspects.deaths == {("websites", BAD): 1}

    async def test_a_document_that_somebody_spoilt_keeps_what_it_said(
        self, fleet: Fleet, caplog: pytest.LogCaptureFixture
    ) -> None:
        suspects = await fleet.worker("a", *deaths(3), shard=Shard())
        found = await fleet.others.read_document(DocumentName.QUARANTINE)
        assert found is not None
        await fleet.others.write_document(found._replace(text='{"keys": [3]}'))
        await asyncio.sleep(2.0)
        assert suspects.deaths == {("websites", BAD): 3}
        assert "keys[0]: write an object" in caplog.text

    async def test_a_write_whose_answer_was_lost_counts_once(self, fleet: Fleet) -> None:
        suspects = await fleet.worker("a", death(BAD), faults=Faults(lost_answers=2))
        assert await fleet.deaths() == 1
        assert suspects.deaths == {("websites", BAD): 1}

    async def test_two_that_count_at_once_lose_nothing(self, fleet: Fleet) -> None:
        await asyncio.gather(*(fleet.worker(f"w{n}", death(BAD)) for n in range(8)))
        assert await fleet.deaths() == 8

    async def test_a_full_quarantine_says_so(
        self, fleet: Fleet, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("fleet.records.quarantine.MOST_KEYS", 1)
        await fleet.worker("a", *deaths(3))
        caplog.set_level(logging.ERROR)
        await fleet.worker("b", death(OTHER))
        assert (await fleet.document()).deaths == {("websites", BAD): 3}
        assert "websites default/other is not counted" in caplog.text


def test_a_document_is_named_after_the_fleet() -> None:
    assert Document(DocumentName.QUARANTINE, "", "").name == "quarantine"
