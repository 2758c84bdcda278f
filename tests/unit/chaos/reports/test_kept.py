"""What `--keep` leaves is enough to make the report again."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from chaos.reports.kept import JOURNAL, RECORDING, keep, kept_stories, kept_story
from chaos.targets.pod import JOURNALS
from fleet.devcluster.evidence.verdict import Verdict
from shards.errors import ConfigError
from shards.journal import encode_notes
from tests.unit.chaos.reports.recorded import covered, fault, journal, note, reconciled, span

WHERE = covered(1)[0]


def kept(directory: Path, **more: object) -> Path:
    made = journal(Verdict(timeline={WHERE: [span(WHERE, "a-0@1", 2, -5.0)]}), **more)
    keep(directory, made, fault('{"fault":"silence"}', 1.0, 2.0))
    notes = [
        note("begin", -6.0, "a-0", figures={"wall": time.time()}),
        *reconciled("a-0", "u", 3.0, waited=0, took=1.0),
    ]
    (directory / JOURNALS).mkdir()
    (directory / JOURNALS / "a-0-1.jsonl").write_bytes(encode_notes(notes))
    return directory


def test_a_kept_experiment_tells_the_same_story(tmp_path: Path) -> None:
    story = kept_story(kept(tmp_path / "killed"))
    assert [band.label for band in story.bands] == ["silence", "kill a worker"]
    assert story.load.reconciles == 1
    assert [phase.kind for phase in story.rows[0].phases] == ["opening"]


def test_a_directory_of_many_is_read_by_the_time_of_their_starts(tmp_path: Path) -> None:
    kept(tmp_path / "later", name="later", start="2026-12-01T10:00:00+00:00", end="2026-12-01T10:00:10+00:00")
    kept(tmp_path / "sooner", name="sooner", start="2026-12-01T09:00:00+00:00", end="2026-12-01T09:00:10+00:00")
    assert [story.name for story in kept_stories([tmp_path, tmp_path / "later"])] == ["sooner", "later"]


def test_a_journal_without_a_verdict_is_judged_anew(tmp_path: Path) -> None:
    made = journal(Verdict())
    made.verdict = None
    keep(tmp_path, made, ())
    assert len(kept_story(tmp_path).invariants) == 27


def test_the_servers_own_file_is_not_written_a_second_time(tmp_path: Path) -> None:
    (tmp_path / "server.jsonl").write_bytes(b"")
    keep(tmp_path, journal(Verdict()), fault("{}", 1.0, 2.0))
    assert not (tmp_path / RECORDING).exists()


def test_what_is_no_kept_experiment_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no journal\.json in"):
        kept_stories([tmp_path])
    (tmp_path / JOURNAL).write_text("[]")
    with pytest.raises(ConfigError, match="is no journal of an experiment"):
        kept_stories([tmp_path])
    keep(tmp_path, journal(Verdict()), ())
    (tmp_path / RECORDING).write_text("nonsense\n")
    with pytest.raises(ConfigError, match="a line of a journal in"):
        kept_stories([tmp_path])
