"""The import contracts catch what they are there to catch: an oracle that never fired proves nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("shards", "fleet", "chaos")


class Mistake(NamedTuple):
    """A line that somebody adds to a file, and what the report says about it."""

    file: str
    line: str
    contract: str
    reported: str


MISTAKES = {
    "an import upwards": Mistake(
        "shards/stores/store.py",
        "import fleet.records.coordination",
        "chaos uses fleet, fleet uses shards, never the other way",
        "shards.stores.store -> fleet.records.coordination",
    ),
    "vocabulary that knows the machinery": Mistake(
        "shards/objects.py",
        "import shards.informers.informer",
        "the layers of shards",
        "shards.objects -> shards.informers.informer",
    ),
    "a decision that knows a process": Mistake(
        "fleet/rules/planner.py",
        "import fleet.workers.worker",
        "the layers of fleet",
        "fleet.rules.planner -> fleet.workers.worker",
    ),
    "a decision that looks at the clock": Mistake(
        "fleet/rules/handover.py",
        "import time",
        "what decides has no clock, loop, thread or process",
        "fleet.rules.handover -> time",
    ),
    "a supervisor that could reach a client": Mistake(
        "fleet/processes/children.py",
        "import shards.transport.kube",
        "the supervisor reaches no client, no foreign loop and no metrics, however indirectly",
        "shards.transport.kube -> kubernetes",
    ),
    "a second door to a library": Mistake(
        "fleet/office/coordinator.py",
        "import kubernetes",
        "one door to kubernetes: shards.transport.kube",
        "fleet.office.coordinator -> kubernetes",
    ),
    "production code on the embedded server": Mistake(
        "fleet/workers/worker.py",
        "import fleet.devcluster.storage.storage",
        "only development and chaos use the embedded API server",
        "fleet.workers.worker -> fleet.devcluster.storage.storage",
    ),
    "a storage that knows what answers": Mistake(
        "fleet/devcluster/storage/tables.py",
        "import fleet.devcluster.reads.lists",
        "the layers of the embedded API server",
        "fleet.devcluster.storage.tables -> fleet.devcluster.reads.lists",
    ),
    "two files that import each other": Mistake(
        "shards/clock.py", "import shards.ownership.tenure", "no cycles", "No cycles are allowed in shards."
    ),
    "a room that knows a room above it": Mistake(
        "shards/stores/bodies.py",
        "import shards.gates.parking",
        "the layers of shards",
        "shards.stores.bodies -> shards.gates.parking",
    ),
    "a file that knows a file above it in its room": Mistake(
        "shards/stores/postings.py",
        "import shards.stores.store",
        "the layers of shards.stores",
        "shards.stores.postings -> shards.stores.store",
    ),
    "an oracle that knows what plays it": Mistake(
        "chaos/simulation/oracles/scene.py",
        "import chaos.simulation.protocol.run",
        "the layers of chaos.simulation",
        "chaos.simulation.oracles.scene -> chaos.simulation.protocol.run",
    ),
    "a file that nobody placed in its room": Mistake(
        "fleet/rules/misc.py", "", "the layers of fleet.rules", "- fleet.rules.misc"
    ),
    "a file that nobody placed in shards": Mistake("shards/helpers.py", "", "the layers of shards", "- shards.helpers"),
    "a file that nobody placed in fleet": Mistake("fleet/misc.py", "", "the layers of fleet", "- fleet.misc"),
    "a file that nobody placed in the embedded API server": Mistake(
        "fleet/devcluster/misc.py", "", "the layers of the embedded API server", "- fleet.devcluster.misc"
    ),
}


def lint_imports(directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=directory,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "1000"},  # no line of the report is wrapped
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the check says about a copy of the packages with every mistake in it."""
    copy = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "pyproject.toml", copy)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    for mistake in MISTAKES.values():
        with (copy / mistake.file).open("a") as file:
            file.write(f"{mistake.line}\n")
    checked = lint_imports(copy)
    assert checked.returncode == 1, checked.stdout + checked.stderr
    return checked.stdout


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_broken_rule_is_reported(mistake: Mistake, report: str) -> None:
    overview, _, details = report.partition("Broken contracts")

    assert f"{mistake.contract} BROKEN" in overview
    assert mistake.reported in details.split(f"\n{mistake.contract}\n---")[1].split("\n---")[0]


def test_the_supervisor_loads_no_client_and_no_metrics() -> None:
    """What the import graph promises, in a fresh interpreter."""
    script = "import sys, fleet.processes.supervisor; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True).stdout

    assert "fleet.processes.supervisor" in loaded.split()
    assert not {"kubernetes", "aiohttp", "uvloop", "kazoo", "prometheus_client"} & set(loaded.split())
