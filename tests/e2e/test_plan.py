"""`fleet plan` as a user runs it, on a `fleet dev`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.e2e.test_dev import ask_status, home, report_of, start_dev, usual_signals
from tests.integration.pods import FLEET
from tests.integration.waiting import wait_for

__all__ = ["home", "usual_signals"]


def fleet(*arguments: str) -> str:
    """Standard output of a command that must end well."""
    done = subprocess.run([FLEET, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def whole() -> bool:
    said = ask_status()
    return said is not None and bool(said.status["shards"]) and not said.status["unowned"]


@pytest.mark.timeout(180)
def test_a_running_fleet_says_what_it_would_move_and_why_it_does_not(home: Path) -> None:
    dev = start_dev("--objects", "20", "--for", "40")
    wait_for(whole, within_seconds=30, what="the fleet is whole")
    shown = msgspec.json.decode(fleet("plan", "-o", "json"))
    assert sum(row["shards"] for row in shown["loads"]) == 16
    assert shown["cuts"] == []

    fleet("freeze", "--why", "a demonstration")
    lines = fleet("plan").splitlines()
    assert lines[0].startswith("fleet dev in default, map version ")
    assert "of fair share" in lines[1]
    assert lines[-1].startswith("nothing would move: the fleet is frozen since ")
    assert lines[-1].endswith(": a demonstration")
    assert report_of(dev)["overlap_violations"] == 0
