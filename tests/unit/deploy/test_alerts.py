"""Each alert fires on what it is for, after its time and not before, and not on a fleet that is well."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.deploy.promql import STEP_SECONDS, Labels, Samples, fires, seconds

ROOT = Path(__file__).parents[3]
[GROUP] = yaml.safe_load((ROOT / "deploy/prometheus/shardfleet.rules.yaml").read_text())["groups"]
RULES: dict[str, dict[str, Any]] = {rule["alert"]: rule for rule in GROUP["rules"]}

WELL_SECONDS = 1800
"""How long the fleet is well before anything happens."""
ENOUGH_SECONDS = 1800
"""After it: longer than any window and any `for` together."""

Sample = tuple[str, float, dict[str, str]]
PODS = ("web-0", "web-1")
NAMES = {"name": "sites", "controller": "sites"}
GATED = {"controller": "sites", "shard": "s1", "worker": "worker-0"}


def well(now: float) -> Iterable[Sample]:
    """What the pods of a fleet show while it has work and nothing is wrong. now: seconds."""
    yield "shardfleet_unowned_ranges", 0, {"worker": "agent"}
    yield "shardfleet_worker_restarts_total", 1, {"worker": "worker-0"}
    yield "shardfleet_failing_keys", 0, GATED
    yield "shardfleet_waiting_keys", float(now % 300 == 0), GATED
    yield "shardfleet_view_age_seconds", now % 60, {"view": "v1/sites", "shard": "s1", "worker": "worker-0"}
    yield "shardfleet_hook_failures_total", 3, {"hook": "transform", "resource": "v1/sites"}
    yield "workqueue_depth", 40 + now % 120, NAMES | {"shard": "s1", "priority": "0", "worker": "worker-0"}
    yield "shardfleet_breaker_open", 0, {"controller": "sites", "worker": "worker-0"}
    yield "rest_client_rate_limiter_duration_seconds_sum", now * 0.2, {"verb": "GET", "host": "api"}
    yield "rest_client_rate_limiter_duration_seconds_count", now * 5, {"verb": "GET", "host": "api"}


def scraped(trouble: Callable[[float], dict[str, float]], lasting: float = ENOUGH_SECONDS) -> Samples:
    """Of two pods, the second of which is in trouble after a while. trouble: values instead of the usual ones, by the
    time that has passed since."""
    samples = Samples()
    for now in range(0, int(WELL_SECONDS + lasting) + 1, STEP_SECONDS):
        changed = trouble(now - WELL_SECONDS) if now >= WELL_SECONDS else {}
        for pod in PODS:
            common = {"namespace": "default", "job": "web", "instance": pod}
            office = changed.get("shardfleet_coordinator", 1) if pod == PODS[1] else 0
            samples.add(now, "shardfleet_coordinator", office, **common, worker="agent")
            for name, value, labels in well(now):
                samples.add(now, name, changed.get(name, value) if pod == PODS[1] else value, **common, **labels)
    return samples


TROUBLES: dict[str, Callable[[float], dict[str, float]]] = {
    "ShardfleetRangesUnowned": lambda _: {"shardfleet_unowned_ranges": 2},
    "ShardfleetNoCoordinator": lambda _: {"shardfleet_coordinator": 0},
    "ShardfleetWorkerRestarts": lambda passed: {"shardfleet_worker_restarts_total": 1 + passed // 60},
    "ShardfleetKeysKeepFailing": lambda _: {"shardfleet_failing_keys": 1},
    "ShardfleetKeysWait": lambda _: {"shardfleet_waiting_keys": 2},
    "ShardfleetViewStale": lambda passed: {"shardfleet_view_age_seconds": passed},
    "ShardfleetHooksFail": lambda passed: {"shardfleet_hook_failures_total": 3 + passed // 60},
    "ShardfleetQueueGrows": lambda passed: {"workqueue_depth": 40 + 5 * passed},
    "ShardfleetDeletionsPaused": lambda _: {"shardfleet_breaker_open": 1},
    "ShardfleetRequestsHeldBack": lambda passed: {
        "rest_client_rate_limiter_duration_seconds_sum": (WELL_SECONDS * 0.2) + passed * 20
    },
}
"""What is scraped instead when it happens that an alert is for."""


def firing(alert: str, samples: Samples, until: float) -> dict[Labels, float]:
    return fires(RULES[alert]["expr"], RULES[alert].get("for", "0s"), samples, until)


def test_every_alert_has_a_trouble() -> None:
    assert TROUBLES.keys() == RULES.keys()


@pytest.mark.parametrize("alert", RULES)
def test_no_alert_fires_while_the_fleet_is_well(alert: str) -> None:
    assert not firing(alert, scraped(lambda _: {}), WELL_SECONDS + ENOUGH_SECONDS)


@pytest.mark.parametrize("alert", RULES)
def test_an_alert_fires_on_what_it_is_for(alert: str) -> None:
    [labels] = firing(alert, scraped(TROUBLES[alert]), WELL_SECONDS + ENOUGH_SECONDS)
    assert {("namespace", "default"), ("job", "web")} <= labels
    used = set(re.findall(r"\$labels\.(\w+)", str(RULES[alert]["annotations"])))
    assert used <= dict(labels).keys()


@pytest.mark.parametrize("alert", [alert for alert in RULES if "for" in RULES[alert]])
def test_an_alert_does_not_fire_before_its_time(alert: str) -> None:
    before = seconds(RULES[alert]["for"]) - STEP_SECONDS
    assert not firing(alert, scraped(TROUBLES[alert], before), WELL_SECONDS + before)


@pytest.mark.parametrize("alert", RULES)
def test_an_alert_ends_with_its_trouble(alert: str) -> None:
    def over(passed: float) -> dict[str, float]:
        kept = {name: value for name, value in TROUBLES[alert](600.0).items() if not _is_gauge(name)}
        return TROUBLES[alert](passed) if passed < 600 else kept

    assert not firing(alert, scraped(over, 3600), WELL_SECONDS + 3600)


def _is_gauge(name: str) -> bool:
    return not name.endswith(("_total", "_sum", "_count"))


def test_every_alert_has_a_line_in_the_runbook() -> None:
    rows = re.findall(r"^\| `(Shardfleet\w+)` \| [^|]{20,} \| [^|]{20,} \|$", _operations(), re.MULTILINE)
    assert rows == list(RULES)


def test_the_runbook_has_a_line_for_no_other_alert() -> None:
    assert set(re.findall(r"`(Shardfleet\w+)`", _operations())) == RULES.keys()


def _operations() -> str:
    return (ROOT / "docs/operations.md").read_text()
