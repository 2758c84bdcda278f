"""The slice of the simulation that every run of the tests plays: fresh seeds each time, which are printed, and all
scenarios in which something was found once.

SIM_SECONDS: real seconds of fresh histories, nearly all of them at protocol depth; 20 by default. `make sim-long`
plays thousands of the stack's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.simulation.command.history import quiet_logs
from chaos.simulation.depths import run
from chaos.simulation.scenario_file import read
from tests.simulation.fleet_sim import campaign, interrupted, trace

REGRESSIONS = sorted((Path(__file__).parent / "regressions").glob("*.yaml"))
SECONDS = float(os.environ.get("SIM_SECONDS", "20"))
SHARE = {"protocol": 0.9, "stack": 0.1}

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


@pytest.mark.timeout(600)
@pytest.mark.parametrize("depth", SHARE)
def test_fresh_histories_keep_every_promise(depth: str, show: Show) -> None:
    seconds = SECONDS * SHARE[depth]
    code, figures, said = campaign("--depth", depth, "--seconds", f"{seconds:g}", "--keep-going")

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


@pytest.mark.timeout(300)
@pytest.mark.parametrize("depth", SHARE)
def test_a_seed_is_one_history_byte_for_byte_whatever_the_hash_seed(depth: str) -> None:
    traces = {trace(4711, depth, hash_seed) for hash_seed in ("1", "2", "random")}

    assert len(traces) == 1
    assert next(iter(traces)).count(b"\n") > 20


@pytest.mark.timeout(120)
def test_a_campaign_that_is_stopped_by_hand_tells_what_it_has() -> None:
    told = interrupted("--seeds", "1000000", "--jobs", "2", "--keep-going")

    assert told.code == 130
    assert told.figures["interrupted"]
    assert 0 < told.figures["seeds"] < 1_000_000
    assert "it was stopped by hand" in told.said[-1]
    assert not any("Traceback" in line for line in told.said)


@pytest.mark.timeout(120)
def test_the_same_seeds_come_to_the_same_however_many_processes_play_them() -> None:
    one, two = (
        campaign("--first-seed", "100", "--seeds", "40", "--keep-going", "--jobs", jobs).figures for jobs in ("1", "2")
    )

    for name in ("seeds", "checks", "hits", "settled", "simulated_seconds"):
        assert one[name] == two[name]
