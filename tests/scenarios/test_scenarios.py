"""Every transcript says what its commands say today. `REWRITE=1` writes it down anew; the diff is for a reviewer."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.scenarios.script import CommandError, Script
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


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("fleet of 2 ranges\nstrat worker a\n----\n", "'strat worker a' is no command"),
        ("start worker a\n----\n", "begin with `fleet of N ranges`"),
        ("fleet of 2 ranges\nkill worker a\n----\n", "a does not run; there are none"),
        ("fleet of 2 ranges\nwait until all is well\n----\n", "'all is well' is nothing to wait for"),
    ],
)
def test_a_command_that_cannot_be_carried_out_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(CommandError, match=re.escape(sentence)):
        played(text)


def test_a_wait_in_vain_says_so() -> None:
    text = "fleet of 1 range\nstart worker a\nwait until all ranges are owned within 3s\n----\n"

    assert played(text).splitlines()[-1] == "NOT within 3 s"


def test_the_same_commands_come_to_the_same() -> None:
    text = (HERE / "fence.txt").read_text()

    assert played(text) == played(text)
