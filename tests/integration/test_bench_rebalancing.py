"""`make bench-rebalancing` works: its quick form, on the embedded server, as CI bears it. Its seconds say nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

ROOT = Path(__file__).parents[2]
TOOK_SECONDS = 150.0


@pytest.mark.timeout(180)
def test_a_quick_run_measures_handovers_and_a_death_and_misses_nothing_that_can_be_counted(tmp_path: Path) -> None:
    variables = {"QUICK": "1", "JSON": "1", "SERVERS": "embedded", "ROWS": "handovers,worker_killed"}
    environment = os.environ | variables | {"LAB": str(tmp_path / "lab"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "benchmarks.rebalancing"]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=TOOK_SECONDS
    )
    assert done.returncode == 0, done.stderr
    rows = {row["quantity"]: row["value"] for row in map(msgspec.json.decode, done.stdout.splitlines())}
    assert rows["planned handovers, embedded"] == 4
    assert rows["writes of shard Leases for one, embedded"] == 3
    assert rows["writes of objects for all of them, embedded"] == 0
    assert rows["changes that no reconcile saw, embedded"] == 0
    assert rows["SIGKILL of a worker until its first key is reconciled, embedded, worst of 2"] is not None
