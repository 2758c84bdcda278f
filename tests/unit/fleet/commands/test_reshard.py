from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fleet import look
from fleet.cli import main
from fleet.commands.exit_codes import EXIT_CONFIG, EXIT_INTERRUPTED

PAIR = "0000-0fff,1000-1fff"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "say what to change: --count N, --partition-by KEY, or both; or --split RANGE, --merge RANGE,RANGE"),
        (["--count", "8", "--merge", PAIR], "single shards are cut afterwards"),
        (["--merge", "0000-0fff"], "'0000-0fff' is no pair; write two neighbours, such as 0000-0fff,1000-1fff"),
        (["--merge", f"{PAIR},2000-2fff"], "is no pair"),
    ],
)
def test_a_command_line_that_asks_for_nothing_or_too_much_is_refused_in_one_sentence(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reshard", *arguments]) == EXIT_CONFIG
    said = capsys.readouterr().err
    assert why in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--count", "0"], ["--count", "4097"], ["--partition-by", "colour"]])
def test_what_no_fleet_can_have_is_refused_by_its_option(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reshard", *arguments]) == EXIT_CONFIG
    assert f"Invalid value for '{arguments[0]}'" in capsys.readouterr().err


def test_a_command_that_is_interrupted_before_it_wrote_anything_does_not_speak_of_a_reshard(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*asked: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(look, "at_fleet", interrupted)
    assert main(["reshard", "--count", "8", "--kubeconfig", str(Path("nowhere"))]) == EXIT_INTERRUPTED
    assert capsys.readouterr().err == ""
