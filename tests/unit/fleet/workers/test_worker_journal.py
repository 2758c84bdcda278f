"""The journal of a worker as a file, and its pulse."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fleet.workers.worker_journal import FileJournal, observed, open_journal, process_figures
from shards.errors import ConfigError
from shards.journal import NO_JOURNAL, KeptJournal, Note, decode_notes
from tests.unit.fleet.disks import Disk
from tests.unit.fleet.ownership import Fleet, running


def read(path: Path) -> list[Note]:
    return list(decode_notes(path.read_bytes()))


def test_each_note_is_in_the_file_at_once_with_its_author(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "journals", "web-0-1", 3, clock=lambda: 7.0)
    journal.write(Note("started", 8.0, key="default/a"))
    assert journal.path.name == "web-0-1-3.jsonl"
    begin, started = read(journal.path)
    assert (begin.what, begin.time, begin.cause) == ("begin", 7.0, "web-0-1/3")
    assert (started.member, started.key) == ("web-0-1", "default/a")


def test_a_pod_that_comes_back_and_its_twin_write_over_nobodys_lines(tmp_path: Path) -> None:
    """The first one was killed in the middle of a line."""
    first = FileJournal(tmp_path, "a-0", 1, clock=lambda: 7.0)
    with first.path.open("ab") as file:
        file.write(b'{"what":"sta')
    back, twin = (FileJournal(tmp_path, "a-0", 1, clock=lambda: 9.0) for _ in range(2))
    for number, journal in enumerate((back, twin, back)):
        journal.write(Note("started", 10.0 + number))
    assert [each.path.name for each in (first, back, twin)] == ["a-0-1.jsonl", "a-0-1.2.jsonl", "a-0-1.3.jsonl"]
    assert [note.time for note in read(back.path)] == [9.0, 10.0, 12.0]
    assert [note.time for note in read(twin.path)] == [9.0, 11.0]
    assert first.path.read_bytes().endswith(b'\n{"what":"sta')


def test_a_full_disk_costs_lines_that_are_told_of_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    journal = FileJournal(tmp_path, "a", 1, clock=lambda: 9.0)
    disk = Disk(monkeypatch)
    disk.limit = journal.path.stat().st_size
    for _ in range(3):
        journal.write(Note("started", 10.0, key="default/lost"))
    assert journal.lost == 4, "the marker took the place of a line"
    assert [(note.what, note.count) for note in read(journal.path)] == [("lost", 4)]
    disk.limit = 1 << 20
    journal.write(Note("started", 11.0, key="default/kept"))
    assert [(note.what, note.count, note.key) for note in read(journal.path)] == [
        ("lost", 4, ""),
        ("started", 0, "default/kept"),
    ]
    assert len([each for each in caplog.records if "cannot be written" in each.message]) == 1


def test_a_directory_that_cannot_be_written_is_refused_with_its_option(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="--journal"):
        open_journal(tmp_path / "file", "a", 1)


def test_without_a_directory_there_is_no_journal() -> None:
    assert open_journal(None, "a", 1) is NO_JOURNAL


def test_figures_of_a_process_are_above_zero() -> None:
    figures = process_figures()
    assert figures["rss_mib"] > 1
    assert figures["fds"] > 2
    assert figures["threads"] >= 1


@pytest.mark.looptime
async def test_a_worker_that_is_observed_notes_its_pulse_and_its_end() -> None:
    journal = KeptJournal("a")
    async with running(Fleet(), "a") as fleet, observed(fleet.workers["a"], journal, seconds=2.0):
        await asyncio.sleep(5.0)
    assert [note.what for note in journal.notes] == ["pulse", "pulse", "end"]
    figures = journal.notes[0].figures
    assert figures is not None
    assert (figures["owned"], figures["open"]) == (2.0, 2.0)
    assert (figures["view_age"], figures["longest_wait"]) == (0.5, 0.25)
    assert journal.notes[0].outcome == ""


@pytest.mark.looptime
async def test_a_worker_that_nobody_observes_notes_nothing() -> None:
    async with running(Fleet(), "a") as fleet, observed(fleet.workers["a"], NO_JOURNAL, seconds=0.1):
        await asyncio.sleep(1.0)
        assert not [task for task in asyncio.all_tasks() if task.get_name() == "journal"]
