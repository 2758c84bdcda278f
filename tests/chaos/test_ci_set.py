"""Ten experiments on a real API server, each of which has to hold: what every run of the tests breaks."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

import msgspec
import pytest

from chaos.running.journal import Journal
from tests.integration.pods import FLEET, ROOT

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

CI_SET = (
    "worker-sigkill",
    "worker-sigstop-past-lease",
    "pod-lost",
    "coordinator-kill-mid-rebalance",
    "rolling-restart",
    "lease-deleted",
    "lease-stolen",
    "lost-ack-on-create",
    "watch-silent",
    "api-sigstop-20s",
)


@pytest.fixture(scope="module")
def journals() -> Mapping[str, Journal]:
    """By name; of one series, on one server."""
    command = [FLEET, "chaos", "run", *CI_SET, "--target", "real", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = [msgspec.json.decode(line, type=Journal) for line in done.stdout.splitlines()]
    assert len(found) == len(CI_SET), done.stderr
    return dict(zip(CI_SET, found, strict=True))


@pytest.mark.parametrize("name", CI_SET)
def test_the_steady_state_held_before_and_after(name: str, journals: Mapping[str, Journal]) -> None:
    journal = journals[name]
    looks = (journal.steady_states.before, journal.steady_states.after)
    missed = [
        f"{run.name}: {run.exception or run.output} (must be {run.tolerance})"
        for look in looks
        if look is not None
        for run in look.probes
        if not run.tolerance_met
    ]
    failed = [f"{run.name}: {run.exception}" for run in (*journal.run, *journal.rollbacks) if run.exception]
    assert journal.passed, [journal.status, *missed, *failed]


@pytest.mark.parametrize("name", CI_SET)
def test_the_judge_found_every_promise_kept_and_had_something_to_judge(
    name: str, journals: Mapping[str, Journal]
) -> None:
    verdict = journals[name].verdict
    assert verdict is not None
    assert [str(each) for each in verdict.broken_invariants] == []
    held = {each.id for each in verdict.invariants if each.outcome == "held"}
    assert held >= {"I1", "I2", "I3", "I8", "I9", "I11", "I15", "I27"}
