"""The alerts name metrics and labels that exist, and what they say can be followed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from fleet.health.metrics import FleetMetrics, PodMetrics, snapshot
from shards.metrics import RequestMetrics, ShardMetrics

ROOT = Path(__file__).parents[3]
RULES = ROOT / "deploy/prometheus/shardfleet.rules.yaml"
[GROUP] = yaml.safe_load(RULES.read_text())["groups"]
ALERTS = [rule for rule in GROUP["rules"] if "alert" in rule]
RECORDS = {rule["record"] for rule in GROUP["rules"] if "record" in rule}
EXPRESSIONS = {rule.get("alert") or rule["record"]: rule["expr"] for rule in GROUP["rules"]}

SCRAPED = {"namespace", "job", "worker"}
"""Labels that a scrape, or the pod's page, puts on everything or on gauges."""

_WORDS = {
    "max",
    "sum",
    "by",
    "on",
    "rate",
    "increase",
    "deriv",
    "histogram_quantile",
    "max_over_time",
    "min_over_time",
    "without",
    "unless",
    "and",
    "or",
}
_MATCHERS = re.compile(r"\{([^}]*)\}")
_BY = re.compile(r"(?:by|on|without) \(([^)]*)\)")
_NAME = re.compile(r"\b[a-z_][a-z0-9_:]*\b")


def series() -> set[str]:
    """Every name that a pod's page can show."""
    registry = CollectorRegistry()
    for made in (ShardMetrics, RequestMetrics, FleetMetrics):
        made(registry)
    pod = PodMetrics()
    pod.update("worker-0", 1, snapshot(registry))
    found = set()
    for family in [*registry.collect(), *pod.collect()]:
        ends = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(family.type, [""])
        found |= {f"{family.name}{end}" for end in ends}
    return found


def labels_of(names: set[str]) -> set[str]:
    """What the metrics behind these names are divided by."""
    found: set[str] = set()
    shards = ShardMetrics()
    for holder in (shards, shards.gate, shards.acts, RequestMetrics(), FleetMetrics(CollectorRegistry())):
        for metric in vars(holder).values():
            if any(name.startswith(getattr(metric, "_name", "-")) for name in names):
                found.update(getattr(metric, "_labelnames", ()) or getattr(metric, "_labels", ()))
    return found


def names_in(expression: str) -> set[str]:
    bare = re.sub(r"\[\w+\]", "", _BY.sub("", _MATCHERS.sub("", expression)))
    return set(_NAME.findall(bare)) - _WORDS


def labels_in(expression: str) -> set[str]:
    matched = re.findall(r"(\w+)\s*[=!]", " ".join(_MATCHERS.findall(expression)))
    return set(matched).union(*(each.replace(" ", "").split(",") for each in _BY.findall(expression)))


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_names_metrics_and_labels_that_exist(expression: str) -> None:
    assert names_in(expression)
    assert names_in(expression) - series() <= RECORDS
    named = names_in(expression) | {name for record in RECORDS for name in names_in(EXPRESSIONS[record])}
    assert labels_in(expression) <= SCRAPED | {"le"} | labels_of(named)


def test_a_metric_that_does_not_exist_would_be_found() -> None:
    wrong = 'sum by (job) (rate(shardfleet_typo_total{shard!=""}[5m])) > 1'
    assert names_in(wrong) - series() == {"shardfleet_typo_total"}
    assert labels_in(wrong) == {"job", "shard"}


@pytest.mark.parametrize("rule", ALERTS, ids=[rule["alert"] for rule in ALERTS])
def test_an_alert_says_how_bad_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"].keys() == {"summary", "description"}
    assert rule["annotations"]["description"].endswith(".")
    used = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
    by = {label for each in _BY.findall(rule["expr"]) for label in each.replace(" ", "").split(",")}
    recorded = {label for record in RECORDS if record in rule["expr"] for label in record.partition(":")[0].split("_")}
    assert used <= (by | recorded or SCRAPED)


def test_keys_that_keep_failing_have_an_alert() -> None:
    assert "shardfleet_failing_keys" in EXPRESSIONS["ShardfleetKeysKeepFailing"]


def test_every_alert_has_a_line_in_the_runbook() -> None:
    rows = re.findall(r"^\| `(Shardfleet\w+)` \| [^|]{20,} \| [^|]{20,} \|$", _operations(), re.MULTILINE)
    assert rows == [rule["alert"] for rule in ALERTS]


def test_the_runbook_has_a_line_for_no_other_alert() -> None:
    assert set(re.findall(r"`(Shardfleet\w+)`", _operations())) == {rule["alert"] for rule in ALERTS}


def _operations() -> str:
    return (ROOT / "docs/operations.md").read_text()
