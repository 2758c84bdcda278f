"""Experiments on real processes, as their users run them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENT_SECONDS = 55


class Run:
    """`python -m chaos run ...`, with a directory of its own for what it makes."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.directory = directory
        self.process = subprocess.Popen(
            [sys.executable, "-m", "chaos", "run", *arguments],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(directory)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self) -> tuple[int, str, str]:
        """Exit code, standard output, standard error. Nothing may be left behind."""
        out, err = self.process.communicate(timeout=EXPERIMENT_SECONDS)
        assert list(self.directory.iterdir()) == []
        return self.process.returncode, out, err


@pytest.fixture
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Run]]:
    """Starts an experiment. One that a failed test left running is told to stop."""
    runs: list[Run] = []

    def start(*arguments: str) -> Run:
        # A short name: sockets live below it.
        runs.append(Run(tmp_path_factory.mktemp("c"), *arguments))
        return runs[-1]

    yield start
    for each in runs:
        if each.process.poll() is None:
            each.process.terminate()
            each.process.communicate()


def answers(journal: dict[str, Any], when: str) -> dict[str, Any]:
    return {probe["name"]: probe["output"] for probe in journal["steady_states"][when]["probes"]}


def test_a_killed_worker_costs_neither_a_key_nor_a_second_writer(run: Callable[..., Run]) -> None:
    code, out, err = run("worker-sigkill", "--json").finish()

    assert code == 0, err
    journal = json.loads(out)
    assert (journal["status"], journal["deviated"]) == ("completed", False)
    killed = next(each["output"] for each in journal["run"] if each["name"] == "kill a worker")
    assert killed["ranges"] == 4
    after = answers(journal, "after")
    assert after["ranges with a living owner"] == 16
    assert 0 < after["seconds until the ranges of the dead were owned again"] <= 2
    # 400 Websites: a ConfigMap and a Deployment each, and at least one status.
    assert after["writes of the fleet that the recorder saw"] >= 1200


def test_a_steady_state_that_is_lost_ends_with_1_and_names_the_probe(run: Callable[..., Run], tmp_path: Path) -> None:
    """No takeover takes no time: an oracle that could not say no would be none."""
    document = yaml.safe_load((ROOT / "chaos/experiments/worker-sigkill.yaml").read_text())
    probes = document["steady-state-hypothesis"]["probes"]
    impatient = next(probe for probe in probes if probe["provider"]["func"] == "longest_takeover_seconds")
    impatient["tolerance"] = 0
    document["steady-state-hypothesis"]["probes"] = [impatient]
    document["method"] = [each for each in document["method"] if each["provider"]["func"] == "kill_worker"]
    document["extensions"][0]["target"].update(workers=2, shards=4, objects=5)
    file = tmp_path / "impatient.json"
    file.write_text(json.dumps(document))

    code, out, err = run(str(file)).finish()

    assert code == 1, err
    said = out.splitlines()[-1]
    assert said.endswith(f"the steady state held no more after the method: {impatient['name']}"), out + err


def test_an_experiment_that_is_told_to_stop_leaves_nothing_behind(run: Callable[..., Run]) -> None:
    started = run("worker-sigkill")
    assert started.process.stdout is not None
    started.process.stdout.readline()
    line = started.process.stdout.readline()
    assert line.startswith("started fleet dev, pid "), line

    started.process.send_signal(signal.SIGTERM)
    code, _, err = started.finish()

    assert code == 130, err
    with pytest.raises(ProcessLookupError):
        os.kill(int(line.split()[-1]), 0)
