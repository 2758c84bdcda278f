"""What a line of the runtime's benchmark says, and when it fails."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from benchmarks.runtime.comparison import Comparison, cells, conclude

GOOD = Comparison("sync", 2.0, "s", "U", 26.0, 0.08, "ratio", 0.1)
MISSED = Comparison("latency", 3.0, "ms", "U", 1.0, 2.0, "difference", 1.0)
TOLD = Comparison("floor", None, "ms", "floor", 0.2)
LATER = Comparison("sync", 2.0, "s", "U", 4.0, 0.5, "ratio", 0.1, judged=False)


@pytest.mark.parametrize(
    ("bound", "measured", "ok"),
    [
        ("at most", 2.0, True),
        ("at most", 2.1, False),
        ("at least", 2.0, True),
        ("at least", 1.9, False),
        ("exactly", 2.0, True),
        ("exactly", 2.1, False),
        ("exactly", 1.9, False),
    ],
)
def test_a_target_is_held_or_missed(bound: Any, measured: float, ok: bool) -> None:
    row = Comparison("quantity", measured, measured=measured, target=2.0, bound=bound)

    assert (row.ok, row.verdict) == (ok, "ok" if ok else "MISSED")


def test_what_was_not_measured_misses_its_target() -> None:
    assert not Comparison("quantity", None, target=2.0).ok


def test_a_target_for_a_larger_cluster_is_shown_and_not_judged() -> None:
    assert LATER.ok
    assert cells(LATER) == ("sync", "2 s", "U", "4 s", "0.5", "<= 0.1 x", "not judged")


def test_a_difference_has_a_unit() -> None:
    assert cells(MISSED) == ("latency", "3 ms", "U", "1 ms", "2", "<= 1 ms", "MISSED")


def test_what_is_only_told_has_no_verdict() -> None:
    assert cells(TOLD) == ("floor", "- ms", "floor", "0.2 ms", "", "", "")


@pytest.mark.parametrize(("rows", "code"), [([GOOD, TOLD, LATER], 0), ([GOOD, MISSED], 1)])
def test_one_missed_target_is_a_failure(rows: list[Comparison], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert conclude(rows) == code


def test_programs_get_one_object_a_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JSON", "1")
    conclude([GOOD, MISSED])
    lines = [msgspec.json.decode(line) for line in capsys.readouterr().out.splitlines()]

    assert [(line["quantity"], line["ok"]) for line in lines] == [("sync", True), ("latency", False)]
    assert lines[0]["measured"] == 0.08
