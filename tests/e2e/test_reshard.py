"""`fleet reshard` as a user runs it, on a `fleet dev`."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.e2e.test_dev import ask_status, home, report_of, start_dev, usual_signals
from tests.integration.pods import FLEET
from tests.integration.waiting import wait_for

__all__ = ["home", "usual_signals"]


def shards() -> int:
    """How many the fleet has, when all of them have an owner; else 0."""
    said = ask_status()
    if said is None or said.status["unowned"] or any(row["state"] == "retiring" for row in said.status["shards"]):
        return 0
    return len(said.status["shards"])


def reshard(*options: str) -> subprocess.Popen[str]:
    return subprocess.Popen([FLEET, "reshard", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.timeout(200)
def test_a_running_fleet_is_resharded_and_an_interrupted_command_leaves_the_reshard_to_the_coordinator(
    home: Path,
) -> None:
    dev = start_dev("--objects", "100", "--for", "60")
    wait_for(lambda: shards() == 16, within_seconds=30, what="the fleet is whole")

    told = reshard("--count", "8", "--dry-run")
    assert told.communicate(timeout=60)[0].count("is new, made of 2 ranges") == 8
    assert shards() == 16

    out, err = (done := reshard("--count", "8", "-o", "json")).communicate(timeout=60)
    assert done.returncode == 0, err
    lines = [msgspec.json.decode(line) for line in out.splitlines()]
    assert [lines[0]["phase"], lines[-1]["phase"]] == ["asked", "done"]
    assert (lines[-1]["leaving"], lines[-1]["retired"], lines[-1]["owned"]) == (16, 16, 8)
    assert shards() == 8

    interrupted = reshard("--count", "40")
    assert interrupted.stdout is not None
    assert interrupted.stdout.readline() == "ConfigMap dev-config says shards.count: 40\n"
    interrupted.send_signal(signal.SIGINT)
    _, err = interrupted.communicate(timeout=60)
    assert interrupted.returncode == 130
    assert err == "fleet: the reshard goes on without this command; fleet status shows how far it is\n"
    wait_for(lambda: shards() == 40, within_seconds=60, what="the reshard went on")

    report = report_of(dev)
    assert (report["objects"], report["reconciled"]) == (100, 100)
    assert report["overlap_violations"] == report["writes_after_release"] == report["duplicate_child_posts"] == 0
