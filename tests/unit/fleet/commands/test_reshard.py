from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest

from fleet import look, orders, resharding
from fleet.cli import main
from fleet.commands.exit_codes import EXIT_CONFIG, EXIT_INTERRUPTED
from fleet.resharding import Resharder

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


def at(act_on: Resharder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command meets this one, wherever it is sent."""

    def at_fleet(*asked: Any) -> Any:
        return asyncio.run(asked[-1](None, None))

    monkeypatch.setattr(look, "at_fleet", at_fleet)
    monkeypatch.setattr(orders, "coordination_of", lambda *_: None)
    monkeypatch.setattr(resharding, "Resharder", lambda _: act_on)


class Foreseen:
    """Knows what would change."""

    async def dry_run(self, wishes: object) -> list[str]:
        return ["0000-0fff leaves the layout", "15 of 16 ranges stay as they are"]


def test_a_dry_run_is_told_to_machines_one_object_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at(cast(Resharder, Foreseen()), monkeypatch)
    assert main(["reshard", "--count", "8", "--dry-run", "-o", "json"]) == 0
    first, last = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert first == {"phase": "dry-run", "what": "0000-0fff leaves the layout"}
    assert last["what"] == "15 of 16 ranges stay as they are"
