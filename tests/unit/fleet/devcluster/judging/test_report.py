"""Journals in files become a table, or JSON, and an exit code."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from fleet.devcluster.doors.control import Control
from fleet.devcluster.evidence.verdict import Verdict
from fleet.devcluster.faults import Faults
from fleet.devcluster.judging.report import Unreadable, main, read_journals
from fleet.devcluster.recording.journal import encode_lines
from fleet.devcluster.recording.recorder import Recorder
from shards.journal import Note, encode_notes
from tests.unit.fleet.devcluster.chronicle import LOWER, UPPER, Chronicle, two_members, uid_in

LOW, HIGH = uid_in(LOWER), uid_in(UPPER)


@pytest.fixture
def journals(tmp_path: Path) -> Path:
    """A directory with a server's journal that keeps every promise, and one of a worker."""
    story = two_members()
    story.write("create", LOW, "a@1", name="child", uid="c1", owner_uid=LOW)
    save(tmp_path, story)
    notes = [Note("begin", 1.0, "a"), Note("started", 2.0, "a", key="default/site", seconds=0.1)]
    (tmp_path / "a-1.jsonl").write_bytes(encode_notes(notes))
    return tmp_path


def save(directory: Path, story: Chronicle) -> None:
    (directory / "server.jsonl").write_bytes(encode_lines(story.entries))


def test_a_directory_is_read_whole_and_told_apart(journals: Path) -> None:
    entries, notes = read_journals([journals])
    assert (len(entries), [note.what for note in notes]) == (7, ["begin", "started"])


def test_two_servers_journals_are_refused(journals: Path) -> None:
    (journals / "other.jsonl").write_bytes((journals / "server.jsonl").read_bytes())
    with pytest.raises(Unreadable, match=r"server\.jsonl is a second server's journal, beside .*other\.jsonl"):
        read_journals([journals])
    assert main([str(journals)]) == 2


def test_a_line_that_is_none_is_named_with_its_file(journals: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("server.jsonl", "a-1.jsonl"):
        file = journals / name
        whole = file.read_bytes()
        lines = whole.splitlines(keepends=True)
        file.write_bytes(b"".join([lines[0], b'{"seq":\n', *lines[1:]]))
        assert main([str(journals)]) == 2
        assert f"{file}, line 2 is no line of a journal" in capsys.readouterr().err
        file.write_bytes(whole)


@pytest.mark.parametrize("name", ["server.jsonl", "a-1.jsonl"])
def test_a_last_line_that_was_not_finished_is_counted_as_missing(
    journals: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    file = journals / name
    file.write_bytes(file.read_bytes()[:-5])
    assert main([str(journals)]) == 0
    assert "1 more are missing: partial" in capsys.readouterr().out


def test_a_file_that_begins_with_an_unfinished_line_is_partial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "server.jsonl").write_bytes(b'{"seq":1,"ti')
    assert main([str(tmp_path)]) == 0
    assert "0 entries, 1 more are missing: partial" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"), [(["absent"], "cannot read absent"), (["."], "no journal"), (["--table", "x"], "python -m")]
)
def test_bad_usage_costs_two(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert told in capsys.readouterr().err


def test_the_table_says_what_held_what_broke_and_what_was_not_judged(
    journals: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(journals)]) == 0
    told = capsys.readouterr().out
    assert "I1   At most one owner acts on a key at any instant." in told
    assert "     held: 1 accepted writes" in told
    assert "     held: 1 starts of reconciles" in told
    assert "     not judged: the journals lack reads" in told
    assert told.count("\nI") == 27


def test_a_break_is_told_with_its_entry_and_costs_the_exit_code(
    journals: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = two_members()
    story.write("create", HIGH, "a@1", name="child")
    save(journals, story)
    assert main([str(journals)]) == 1
    told = capsys.readouterr().out
    assert "BROKEN 1 times" in told
    assert "at 7.000, entry 7: v1/configmaps default/child was written by a@1, which does not hold" in told


def test_a_journal_with_gaps_is_called_partial(journals: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story = two_members()
    del story.entries[2:4]
    save(journals, story)
    main([str(journals)])
    assert "4 entries, 2 more are missing: partial" in capsys.readouterr().out


def test_json_is_the_verdict(journals: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", str(journals)]) == 0
    verdict = msgspec.json.decode(capsys.readouterr().out)
    assert [each["id"] for each in verdict["invariants"]] == [f"I{number}" for number in range(1, 28)]
    assert (verdict["clean"], verdict["partial"]) == (True, False)


def test_without_a_journal_the_usage_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "python -m fleet.devcluster.judging.report" in capsys.readouterr().err


def test_a_running_server_shows_the_table_and_the_same_in_its_verdict() -> None:
    control = Control(Recorder(clock=lambda: 0.0), Faults())
    told = control.answer("GET", "/-/invariants", {}, None)
    assert told.body.count(b"\nI") == 27
    verdict = msgspec.json.decode(control.answer("GET", "/-/verdict", {}, None).body, type=Verdict)
    assert [each.id for each in verdict.invariants] == [f"I{number}" for number in range(1, 28)]
    control.close()
