"""What a series of experiments leaves, as it was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.command.reporting import Reporting, report_again, rooms
from chaos.reports.kept import keep
from fleet.devcluster.evidence.verdict import Verdict
from shards.errors import ConfigError
from tests.unit.chaos.reports.recorded import journal


def test_each_experiment_has_a_room_of_its_own_whatever_path_it_was_asked_for_by() -> None:
    names = ["worker-sigkill", "/tmp/worker-sigkill.yaml", "../mine/mine.json", "v1.2"]
    assert list(rooms(names).values()) == ["worker-sigkill", "worker-sigkill.2", "mine", "v1.2"]


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_broken(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--report"):
        Reporting(tmp_path, None, None)


def test_a_report_is_made_again_beside_what_was_kept(tmp_path: Path) -> None:
    keep(tmp_path / "killed", journal(Verdict()), ())
    said: list[str] = []
    report_again([tmp_path], None, None, said.append)
    assert "It held" in (tmp_path / "report.html").read_text()
    assert said == [str(tmp_path / "report.html")]


def test_a_report_is_made_again_where_somebody_wants_it(tmp_path: Path) -> None:
    keep(tmp_path / "killed", journal(Verdict()), ())
    report_again([tmp_path], tmp_path / "new" / "page.html", tmp_path / "text.md", lambda text: None)
    assert (tmp_path / "new" / "page.html").exists()
    assert (tmp_path / "text.md").read_text().startswith("## Chaos: 1 of 1 experiment held")
