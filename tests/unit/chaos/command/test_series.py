"""What becomes of a series when one of its targets does not start, or can no longer be asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaos.command import series
from chaos.command.asked import Asked
from chaos.documents.experiment import Experiment, load_experiment, parse_document
from chaos.running.lines import verdict_line
from chaos.running.session import carry_out
from chaos.targets.target import TargetFailed
from fleet.devcluster.evidence.verdict import BROKEN, Judgement, Verdict
from shards.errors import Unreachable
from tests.unit.chaos.targets.paper import PaperEvidence, PaperTarget


class Evidence(PaperEvidence):
    """asked: how often the judge was, in whole. silent_from, broken_from: at which time, counted from 1."""

    asked = 0
    silent_from = broken_from = 10**6

    def whole(self) -> Verdict:
        self.asked += 1
        if self.asked >= self.silent_from:
            raise Unreachable("GET /-/journal: timed out")
        if self.asked < self.broken_from:
            return super().whole()
        return Verdict(invariants=[Judgement("I23", "It is fenced.", outcome=BROKEN, broken=1)])


def experiment(**arguments: Any) -> Experiment:
    """Waits, and asks for broken invariants."""
    document = dict(load_experiment("worker-sigkill").document)

    probe = {"type": "python", "module": "chaos.probes.promises", "func": "broken_invariants", "arguments": arguments}
    document["steady-state-hypothesis"] = {
        "title": "kept",
        "probes": [{"type": "probe", "name": "broken invariants", "tolerance": "none", "provider": probe}],
    }
    heal = {"type": "python", "module": "chaos.actions.server", "func": "heal"}
    document["method"] = []
    document["rollbacks"] = [{"type": "action", "name": "heal", "provider": heal}]
    return parse_document(document)


def target(**when: int) -> PaperTarget:
    found = PaperTarget()
    found.evidence = Evidence()
    vars(found.evidence).update(when)
    return found


def carried_out(found: PaperTarget, wanted: Experiment) -> Any:
    return carry_out(wanted, found, heard=lambda phase, run: None, judging=lambda: None)


def test_what_is_refuted_once_all_was_put_back_was_not_kept() -> None:
    journal = carried_out(target(broken_from=3), experiment())
    assert (journal.status, journal.deviated, journal.passed) == ("failed", True, False)
    assert verdict_line(journal).endswith("the steady state held no more after the method: broken invariants")


def test_what_an_experiment_takes_away_is_not_held_against_it_at_the_end_either() -> None:
    assert carried_out(target(broken_from=3), experiment(without=["I23"])).passed


def test_a_server_that_does_not_answer_at_the_end_costs_the_verdict_and_not_the_journal() -> None:
    journal = carried_out(target(silent_from=3), experiment())
    assert (journal.status, journal.verdict, journal.passed) == ("completed", None, False)
    assert verdict_line(journal).endswith("cannot be judged to the end: GET /-/journal: timed out")


def test_a_ctrl_c_after_the_last_probe_costs_no_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    found = target()
    monkeypatch.setattr(found, "sleep", interrupt)
    journal = carried_out(found, experiment())
    assert (journal.status, journal.put_back, journal.verdict is None) == ("interrupted", True, False)


def asked(tmp_path: Path, *names: str) -> Asked:
    wanted = {name: experiment() for name in names}
    return Asked(wanted, "dev", None, None, "", "", None, False, tmp_path / "r.html", tmp_path / "r.md", None, "")


def test_a_target_that_does_not_start_keeps_no_other_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def start(asked: Asked, name: str, *_: object) -> Iterator[PaperTarget]:
        if name == "one":
            raise TargetFailed("the fleet is not settled after 60 seconds")
        yield target()

    monkeypatch.setattr(series, "_target", start)
    assert series.run_series(asked(tmp_path, "one", "two")) == 1
    said = capsys.readouterr().out
    assert "  aborted after 0.0 s: nothing was shown; the target did not start: the fleet is not settled" in said
    assert "  completed after" in said
    assert "1 of 2 experiments held" in (tmp_path / "r.html").read_text()
    assert "The target did not start: the fleet is not settled after 60 seconds." in (tmp_path / "r.md").read_text()


def test_a_series_reports_what_could_not_be_judged_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def start(*_: object) -> Iterator[PaperTarget]:
        yield target(silent_from=3)

    monkeypatch.setattr(series, "_target", start)
    assert series.run_series(asked(tmp_path, "one")) == 1
    text = (tmp_path / "r.md").read_text()
    assert "What was recorded cannot be judged to the end" in text
    assert "Every shard had somebody at work" not in text


class Somebodys(PaperTarget):
    host = "https://production.example"

    def __enter__(self) -> PaperTarget:
        return self

    def __exit__(self, *error: object) -> None: ...


def test_whose_fleet_is_broken_is_said_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(series, "KubeFleet", lambda *_, **__: Somebodys())
    names = {"target": "kube", "namespace": "shop", "fleet": "web"}
    series.run_series(replace(asked(tmp_path, "one"), **names))  # type: ignore[arg-type]
    _, said, *_ = capsys.readouterr().out.splitlines()
    assert said == "  the fleet web in shop of https://production.example: 3 ranges, pods a, b"
