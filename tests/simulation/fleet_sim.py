"""`fleet sim` as a command of its own process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
FLEET = [sys.executable, "-c", "import sys; from fleet.cli import main; sys.exit(main())", "sim"]


class Campaign(NamedTuple):
    """code: of its exit. said: lines on standard error."""

    code: int
    figures: dict[str, Any]
    said: list[str]


def campaign(*options: str) -> Campaign:
    done = subprocess.run([*FLEET, *options, "--json"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return Campaign(done.returncode, json.loads(done.stdout), done.stderr.splitlines())


def interrupted(*options: str) -> Campaign:
    """It is stopped, as with Ctrl-C, when it has said for the first time how far it is."""
    with subprocess.Popen(
        [*FLEET, *options, "--json"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said: list[str] = []
        while " seeds, " not in (line := process.stderr.readline()) or line.startswith("0 "):
            assert line, said
            said.append(line.rstrip())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    return Campaign(process.returncode, json.loads(out), [*said, *err.splitlines()])


def trace(seed: int, depth: str, hash_seed: str) -> bytes:
    return subprocess.run(
        [*FLEET, "--seed", str(seed), "--depth", depth, "--trace"],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        check=False,
    ).stdout
