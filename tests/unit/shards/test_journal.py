"""What a worker notes of its shards, and that it notes nothing where nobody reads it."""

from __future__ import annotations

import asyncio

import pytest

from shards import Context, Controller, Request
from shards.journal import NO_JOURNAL, KeptJournal, Note, decode_notes, encode_notes, on_wall_clock
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, World

pytestmark = pytest.mark.looptime


def page_maker() -> Controller:
    """Makes a page for each Website, and fails at those that are called "bad"."""
    websites = Controller("websites", primary=str(WEBSITES))
    websites.owns(str(CONFIGMAPS))

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        if request.name == "bad":
            raise ValueError("a bug")
        if ctx.store.get() is not None:
            await ctx.client.ensure("v1/configmaps", {"metadata": {"name": request.name}, "data": {"a": "b"}})

    return websites


async def noted(seconds: float = 2.0) -> tuple[World, list[Note]]:
    """A shard with one good and one bad Website, for so long; then it is drained and stopped."""
    world, journal = World(), KeptJournal("worker-0")
    world.runtime.journal = journal
    world.website("good")
    world.website("bad")
    shard = await world.running(page_maker())
    await asyncio.sleep(seconds)
    shard.pulse()
    await shard.drain(1.0)
    await world.close()
    return world, journal.notes


async def test_reconciles_are_noted_with_their_views_and_how_they_ended() -> None:
    _, notes = await noted()
    started = [note for note in notes if note.what == "started" and note.key == "default/good"]
    ended = [note.outcome for note in notes if note.what == "ended" and note.key == "default/good"]
    assert set(ended) == {"success"}
    assert len(ended) == len(started)
    assert all(note.member == "worker-0" and note.uid and note.controller == "websites" for note in started)
    views = started[0].views
    assert views is not None
    assert set(views) == {str(WEBSITES), str(CONFIGMAPS)}
    assert all(views.values())


async def test_retries_are_noted_with_their_growing_delays() -> None:
    _, notes = await noted()
    retries = [note for note in notes if note.what == "retry"]
    assert [note.count for note in retries] == list(range(len(retries)))
    assert len(retries) > 3
    assert retries[3].seconds > retries[0].seconds > 0


async def test_lists_and_changes_of_views_are_noted_with_what_told_of_them() -> None:
    _, notes = await noted()
    first = [note.what for note in notes if note.resource == str(WEBSITES) and note.what in ("list", "listed")]
    assert first[:2] == ["list", "listed"]
    changes = {(note.resource, note.key, note.cause, note.outcome) for note in notes if note.what == "change"}
    assert (str(WEBSITES), "default/good", "added", "list") in changes
    assert (str(CONFIGMAPS), "default/good", "added", "event") in changes


async def test_the_life_of_a_shard_is_noted_in_order() -> None:
    _, notes = await noted()
    life = ("opened", "draining", "drained", "stopped")
    assert tuple(note.what for note in notes if note.what in life) == life


async def test_a_pulse_notes_what_the_views_hold() -> None:
    _, notes = await noted()
    views = {note.resource: note for note in notes if note.what == "view"}
    assert len(views[str(WEBSITES)].objects or {}) == 2
    assert views[str(WEBSITES)].outcome == "whole"
    assert views[str(CONFIGMAPS)].outcome == ""


async def test_a_key_that_waits_for_its_own_write_is_noted() -> None:
    world, journal = World(), KeptJournal("worker-0")
    world.runtime.journal = journal
    shard = await world.running(page_maker())
    release = world.lag(CONFIGMAPS)
    world.website("good")
    await asyncio.sleep(0.1)
    world.website("other")
    await asyncio.sleep(0.1)
    await world.kubectl.merge_patch(WEBSITES, "default", "good", {"spec": {"x": 1}})
    await asyncio.sleep(3.0)
    release()
    await shard.drain(1.0)
    await world.close()
    parked = [note for note in journal.notes if note.what == "parked"]
    assert parked[0].key == "default/good"
    assert parked[0].cause
    assert any(note.what == "live" and note.cause == "gate" for note in journal.notes)


async def test_without_a_journal_nothing_is_made_of_reconciles_and_views(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Note] = []
    monkeypatch.setattr(type(NO_JOURNAL), "write", lambda _, note: made.append(note))
    world = World()
    world.website("good")
    shard = await world.running(page_maker())
    await asyncio.sleep(1.0)
    await shard.drain(1.0)
    await world.close()
    assert [note.what for note in made] == ["opened", "draining", "drained", "stopped"]


def test_notes_survive_their_encoding_and_a_line_that_was_cut() -> None:
    notes = [Note("begin", 1.0, "a"), Note("started", 2.0, "a", key="n/x", views={"v1/pods": "7"})]
    encoded = encode_notes(notes)
    assert list(decode_notes(encoded)) == notes
    assert list(decode_notes(encoded[:-5])) == notes[:1]


def test_notes_of_several_processes_come_onto_one_clock() -> None:
    notes = [
        Note("begin", 5.0, "a", figures={"wall": 1005.0}),
        Note("begin", 7.0, "b", figures={"wall": 1006.0}),
        Note("started", 8.0, "a"),
        Note("started", 8.0, "b"),
    ]
    assert [note.time for note in on_wall_clock(notes)] == [1005.0, 1006.0, 1008.0, 1007.0]
