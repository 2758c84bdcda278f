"""Experiments on real processes, as their users run them."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.pods import FLEET, ROOT

pytestmark = pytest.mark.integration

EXPERIMENT_SECONDS = 55


class Run:
    """`fleet chaos run ...`, with a directory of its own for what it makes."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.directory = directory
        self.process = subprocess.Popen(
            ["env", f"TMPDIR={directory}", FLEET, "chaos", "run", *arguments],
            cwd=ROOT,
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
    """Starts experiments. What a failed test left running is told to stop."""
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


def test_a_killed_worker_costs_neither_a_key_nor_a_second_writer(run: Callable[..., Run], tmp_path: Path) -> None:
    page, text, kept = tmp_path / "page.html", tmp_path / "text.md", tmp_path / "kept"
    code, out, err = run(
        "worker-sigkill", "--json", "--report", str(page), "--markdown", str(text), "--keep", str(kept)
    ).finish()

    assert code == 0, err
    journal = json.loads(out)
    assert (journal["status"], journal["deviated"], journal["target"]) == ("completed", False, "dev")
    killed = next(each["output"] for each in journal["run"] if each["name"] == "kill a worker")
    assert killed["ranges"] == 2
    after = answers(journal, "after")
    assert after["keys with a living owner"] == 1
    assert 0 < after["seconds until the ranges of the dead were owned again"] <= 2
    judged = {each["id"]: each for each in journal["verdict"]["invariants"]}
    assert {"I1", "I2", "I7", "I9", "I11", "I23", "I27"} <= {
        name for name, each in judged.items() if each["outcome"] == "held" and each["checks"] > 0
    }
    for told in (page.read_text(), text.read_text()):
        assert "It held" in told
        assert f"{killed['worker']} was killed" in told  # why the longest gap was one

    subprocess.run([FLEET, "chaos", "report", str(kept)], cwd=ROOT, check=True, capture_output=True)
    assert (kept / "report.html").read_text() == page.read_text()


def test_a_steady_state_that_is_lost_ends_with_1_and_names_the_probe(run: Callable[..., Run], tmp_path: Path) -> None:
    """No takeover takes no time: an oracle that could not say no would be none."""
    document = yaml.safe_load((ROOT / "chaos/experiments/worker-sigkill.yaml").read_text())
    probes = document["steady-state-hypothesis"]["probes"]
    impatient = next(probe for probe in probes if probe["provider"]["func"] == "longest_takeover_seconds")
    impatient["tolerance"] = 0
    document["steady-state-hypothesis"]["probes"] = [impatient]
    file = tmp_path / "impatient.json"
    file.write_text(json.dumps(document))

    code, out, err = run(str(file)).finish()

    assert code == 1, err
    said = out.splitlines()[-1]
    assert said.endswith(f"the steady state held no more after the method: {impatient['name']}"), out + err


@pytest.mark.parametrize(
    ("experiment", "rule", "failing"),
    [
        ("pod-lost", "nobody-is-fenced", "leases until the ranges of the dead were owned again"),
        ("worker-sigkill", "dead-stay-dead", "seconds until the ranges of the dead were owned again"),
        ("poison-key", "nothing-is-set-aside", "worker processes that began again"),
        ("slow-handler", "reconciles-outlive-the-drain", "broken invariants"),
    ],
)
def test_a_build_without_a_rule_is_told_from_one_with_it(
    run: Callable[..., Run], experiment: str, rule: str, failing: str
) -> None:
    code, out, err = run(experiment, "--break", rule).finish()

    assert code == 1, err
    said = out.splitlines()[-1]
    assert f"after   FAIL {failing}" in out, out
    assert "the steady state held no more after the method" in said, "nothing was wrong before it"


def test_an_experiment_that_is_told_to_stop_leaves_nothing_behind(run: Callable[..., Run]) -> None:
    started = run("worker-sigkill")
    assert started.process.stdout is not None
    said = [started.process.stdout.readline(), started.process.stdout.readline()]
    assert said[1].startswith("a fleet of 2 pods settled after"), said
    running = fleets(started.process.pid)
    assert running

    started.process.send_signal(signal.SIGTERM)
    code, _, err = started.finish()

    assert code == 130, err
    assert not [pid for pid in running if Path(f"/proc/{pid}").exists()]


def fleets(parent: int) -> list[int]:
    """Processes that the experiment has started."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True, check=True)
    return [int(pid) for pid in found.stdout.split()]
