"""Pods as tests start them: on the websites of the documentation, with what suits a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import yaml

from chaos.targets.pod import END_SECONDS, JOURNALS, Pod, PodStart
from shards.journal import Note, decode_notes, on_wall_clock

__all__ = [
    "END_SECONDS",
    "FLEET",
    "JOURNALS",
    "ROOT",
    "WEBSITES_FILE",
    "Pod",
    "PodStart",
    "fleet_config",
    "fleet_status",
    "notes",
]

ROOT = Path(__file__).parents[2]
WEBSITES_FILE = ROOT / "docs" / "examples" / "websites.py"
FLEET = str(Path(sys.executable).with_name("fleet"))


def fleet_config(directory: Path, **changes: object) -> Path:
    """A config file that suits a test: the defaults, but moves at once and no fixed port."""
    config = {
        "fleet": "web",
        "controller": f"{WEBSITES_FILE}:websites",
        "shards": {"count": 16},
        "workers": {"perPod": 2},
        "rebalance": {"churnPerRound": 1.0, "cooldownSeconds": 1.0},
        "agent": {"metricsPort": 0, "address": "127.0.0.1"},
    } | changes
    file = directory / "fleet.yaml"
    file.write_text(yaml.safe_dump(config))
    return file


def notes(directory: Path) -> list[Note]:
    """What all workers of pods in that directory have noted so far, with times since 1970."""
    files = sorted((directory / JOURNALS).rglob("*.jsonl"))
    return list(on_wall_clock(note for file in files for note in decode_notes(file.read_bytes())))


def fleet_status(kubeconfig: Path) -> dict[str, Any]:
    """What `fleet status -o json` says."""
    command = [FLEET, "status", "--kubeconfig", str(kubeconfig), "-n", "default", "-o", "json"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=END_SECONDS)
    answer: dict[str, Any] = msgspec.json.decode(done.stdout)
    return answer
