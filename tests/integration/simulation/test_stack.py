"""Histories of the stack drawn from seeds: nothing breaks, and they are the same bytes in every process."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest

from chaos.simulation.stack.run import run_stack
from chaos.simulation.swarm import draw
from tests.integration.pods import ROOT

SEEDS = (8, 21, 69)


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_no_promise_is_broken(first: int) -> None:
    for seed in range(first, first + 10):
        outcome = run_stack(draw(seed, "stack"))
        assert outcome.breaches == (), seed


def digest() -> str:
    """Of everything that is said of a few histories."""
    said = hashlib.sha256()
    for seed in SEEDS:
        outcome = run_stack(draw(seed, "stack"), say=lambda at, what: said.update(f"{at!r} {what}\n".encode()))
        said.update(repr(outcome).encode())
    return said.hexdigest()


def digest_in_a_process(hash_seed: int) -> str:
    command = [sys.executable, "-c", "from tests.integration.simulation.test_stack import digest; print(digest())"]
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_a_history_is_the_same_in_processes_with_other_hash_seeds() -> None:
    assert digest_in_a_process(1) == digest_in_a_process(2)
