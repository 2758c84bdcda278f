"""Every transcript says what its commands say today. `REWRITE=1` writes it down anew; the diff is for a reviewer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.scenarios.script import Script
from tests.scenarios.transcript import rewritten

pytestmark = pytest.mark.filterwarnings(
    "ignore:coroutine .* was never awaited", "ignore::pytest.PytestUnraisableExceptionWarning"
)
"""Of processes that were killed while they waited."""

HERE = Path(__file__).parent
TRANSCRIPTS = sorted(HERE.glob("*.txt"))


def played(text: str) -> str:
    script = Script()
    try:
        return rewritten(text, lambda block: script.carry_out(block.commands))
    finally:
        script.close()


@pytest.mark.parametrize("file", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_scenario_goes_as_it_is_written(file: Path) -> None:
    text = file.read_text()
    now = played(text)
    if os.environ.get("REWRITE"):
        file.write_text(now)
    else:
        assert now == text, f"{file.name} goes otherwise now; REWRITE=1 writes it down, and git diff shows how"


@pytest.mark.parametrize("file", TRANSCRIPTS, ids=lambda path: path.stem)
def test_no_scenario_breaks_a_promise_or_waits_in_vain(file: Path) -> None:
    text = file.read_text()

    assert "BROKEN" not in text
    assert "NOT within" not in text
