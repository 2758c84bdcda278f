"""The slice of the simulation that every run of the tests plays: fresh seeds each time, which are printed, and all
scenarios in which something was found once.

SIM_SECONDS: real seconds of fresh histories, three quarters of them at protocol depth; 120 by default.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaos.simulation.command.history import quiet_logs
from chaos.simulation.depths import run
from chaos.simulation.scenario_file import read

ROOT = Path(__file__).parents[2]
REGRESSIONS = sorted((Path(__file__).parent / "regressions").glob("*.yaml"))
SECONDS = float(os.environ.get("SIM_SECONDS", "120"))
SHARE = {"protocol": 0.75, "stack": 0.25}
FLEET = [sys.executable, "-c", "import sys; from fleet.cli import main; sys.exit(main())"]

Show = Callable[[str], None]


@pytest.fixture
def show(request: pytest.FixtureRequest) -> Show:
    """Prints a line whether the test fails or not: with its seed a history can be played again."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    reporter = request.config.pluginmanager.getplugin("terminalreporter")
    assert capture is not None
    assert reporter is not None

    def write(text: str) -> None:
        with capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line(text)

    return write


def sim(*options: str) -> tuple[int, dict[str, Any], list[str]]:
    """Exit code, figures, and what was said."""
    done = subprocess.run([*FLEET, "sim", *options, "--json"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr.splitlines()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("depth", SHARE)
def test_fresh_histories_keep_every_promise(depth: str, show: Show) -> None:
    seconds = SECONDS * SHARE[depth]
    code, figures, said = sim("--depth", depth, "--seconds", f"{seconds:g}", "--keep-going")

    for line in said:
        show(line)
    assert figures["failures"] == []
    assert code == 0
    assert figures["seeds"] > 0


@pytest.mark.timeout(300)
@pytest.mark.parametrize("file", REGRESSIONS, ids=lambda path: path.stem)
def test_what_was_found_once_does_not_come_back(file: Path) -> None:
    with quiet_logs():
        outcome = run(read(file))

    assert outcome.breaches == ()
    assert outcome.settled_seconds is not None


@pytest.mark.parametrize("depth", SHARE)
def test_a_seed_is_one_history_byte_for_byte_whatever_the_hash_seed(depth: str) -> None:
    traces = {
        subprocess.run(
            [*FLEET, "sim", "--seed", "4711", "--depth", depth, "--trace"],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=False,
        ).stdout
        for seed in ("1", "2", "random")
    }

    assert len(traces) == 1
    assert next(iter(traces)).count(b"\n") > 20
