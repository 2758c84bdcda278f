"""What benchmarks print, and when they fail."""

from __future__ import annotations

import msgspec
import pytest

from benchmarks.table import Row, conclude

GOOD = Row("ratio", 1.2, "", 1.35)
MISSED = Row("takeover", 2.5, "s", 2.0)
NEVER = Row("takeover", None, "s", 2.0)
UNJUDGED = Row("objects", 2000)


@pytest.mark.parametrize(
    ("rows", "code"), [([GOOD, UNJUDGED], 0), ([GOOD, MISSED], 1), ([NEVER, GOOD], 1), ([Row("exact", 0, "", 0)], 0)]
)
def test_one_missed_target_is_a_failure(rows: list[Row], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert conclude(rows) == code


def test_people_get_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    conclude([GOOD, MISSED, NEVER, UNJUDGED])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["ratio", "1.2", "<=", "1.35", "ok"] in lines
    assert ["takeover", "2.5", "s", "<=", "2", "MISSED"] in lines
    assert ["takeover", "never", "s", "<=", "2", "MISSED"] in lines
    assert ["objects", "2000"] in lines


def test_programs_get_one_object_a_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JSON", "1")
    conclude([MISSED, NEVER, UNJUDGED])
    assert [msgspec.json.decode(line) for line in capsys.readouterr().out.splitlines()] == [
        {"quantity": "takeover", "value": 2.5, "unit": "s", "target": 2.0, "ok": False},
        {"quantity": "takeover", "value": None, "unit": "s", "target": 2.0, "ok": False},
        {"quantity": "objects", "value": 2000, "unit": "", "target": None, "ok": True},
    ]
