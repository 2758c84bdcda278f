"""Journals of a fleet that keeps every promise, with pieces of them missing: nobody is accused. In virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Iterator

import pytest

from fleet.devcluster.evidence.verdict import Verdict
from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayEvents, ExpireWatch, LateLanding, LostAck, Refuse, Word
from fleet.devcluster.judging.judge import judge
from fleet.devcluster.recording.journal import Entry, Level
from shards.journal import Note
from shards.objects import Resource
from tests.integration.rule_histories import Author, pages
from tests.integration.small_fleet import WEBSITES, SmallFleet, running, website

pytestmark = pytest.mark.looptime

LEASES = Resource.parse("coordination.k8s.io/v1/leases")
CUTS = 30


async def eventful_life() -> tuple[list[Entry], list[Note]]:
    """Joins, a leave, a crash and a return, changes, deletions, faults, and a hand."""
    author = Author(pages)
    fleet = SmallFleet(author.controller, shards=4)
    assert fleet.server.recorder is not None
    fleet.server.recorder.level = Level.DELIVERIES
    async with running(fleet, "a", "b"):
        for number in range(8):
            await fleet.client.create(WEBSITES, "default", website(f"site-{number}", replicas=2))
        await asyncio.sleep(5.0)
        fleet.join("c")
        await asyncio.sleep(8.0)
        await replicas(fleet, 1)
        faults: list[Word] = [
            LostAck(match=Match(verbs=("create", "patch"), user_agent="fleet/"), times=3),
            LateLanding(match=Match(verbs=("create",), user_agent="fleet/"), seconds=2.0, times=2),
            Refuse(match=Match(verbs=("patch",), user_agent="fleet/"), status=503, times=3),
            DelayEvents(match=Match(resource=str(WEBSITES)), seconds=1.0),
            ExpireWatch(match=Match(member="b", resource=str(WEBSITES)), times=1),
        ]
        struck = [fleet.server.faults.inject(each) for each in faults]
        await replicas(fleet, 3)
        await asyncio.sleep(10.0)
        for each in struck:
            each.release()
        await fleet.crash("a")
        await asyncio.sleep(15.0)
        fleet.join("a")
        await asyncio.sleep(10.0)
        await fleet.leave("b")
        await replicas(fleet, 0)
        for number in range(4):
            await fleet.client.delete(WEBSITES, "default", f"site-{number}")
        await fleet.client.create(WEBSITES, "default", website("site-0", replicas=2))
        await asyncio.sleep(80.0)
    return list(fleet.server.recorder.entries), [note for each in fleet.journals.values() for note in each.notes]


async def replicas(fleet: SmallFleet, count: int) -> None:
    for number in range(8):
        await fleet.client.merge_patch(WEBSITES, "default", f"site-{number}", {"spec": {"replicas": count}})


def torn(entries: list[Entry], rng: random.Random) -> list[Entry]:
    """Without some stretches, of one entry or many."""
    missing: set[int] = set()
    for _ in range(rng.randint(1, 4)):
        first = rng.randrange(len(entries) - 1)
        missing |= set(range(first, first + rng.choice((1, 2, 5, 20, 100, 1000))))
    # What is missing at the end nobody can know of.
    return [each for index, each in enumerate(entries) if index not in missing or index == len(entries) - 1]


def scratched(notes: Iterable[Note], rng: random.Random) -> Iterator[Note]:
    """With some stretches that could not be written, as each worker's journal says behind them."""
    missing: dict[str, int] = {}
    until: dict[str, int] = {}
    for note in sorted(notes, key=lambda note: note.time):
        member = note.member
        if note.what != "begin" and not until.get(member) and rng.random() < 0.005:
            until[member] = rng.choice((1, 5, 50))
        if note.what != "begin" and until.get(member):
            until[member] -= 1
            missing[member] = missing.get(member, 0) + 1
            continue
        until[member] = 0
        if missing.get(member):
            yield Note("lost", note.time, member, count=missing.pop(member))
        yield note


def accusations(verdict: Verdict) -> list[str]:
    found = [f"{each.id}: {found.what}" for each in verdict.broken_invariants for found in each.findings]
    return [*found, *(f"{each.rule}: {each.what}" for each in verdict.findings)]


async def test_whatever_a_journal_lost_accuses_nobody() -> None:
    entries, notes = await eventful_life()
    assert accusations(judge(entries, notes)) == []
    for seed in range(CUTS):
        rng = random.Random(seed)
        some, told = torn(entries, rng), list(scratched(notes, rng))
        cases = {"entries": (some, notes), "notes": (entries, told), "both": (some, told), "no notes": (some, [])}
        for what, (kept, beside) in cases.items():
            verdict = judge(kept, beside)
            assert accusations(verdict) == [], (seed, what)
            assert verdict.partial or what == "notes", (seed, what)


async def test_a_journal_may_begin_and_end_anywhere() -> None:
    entries, notes = await eventful_life()
    for seed in range(CUTS):
        rng = random.Random(seed)
        first, last = sorted(rng.sample(range(len(entries)), 2))
        some = entries[first:last]
        beside = [note for note in notes if note.time <= entries[last].time]
        for kept in (some, [_renumbered(each, first) for each in some]):
            assert accusations(judge(kept, beside)) == [], (seed, first, last)


def _renumbered(entry: Entry, first: int) -> Entry:
    """As of a recorder that began there: it does not know what was before."""
    fields = {name: getattr(entry, name) for name in entry.__struct_fields__}
    return Entry(**{**fields, "seq": entry.seq - first})
