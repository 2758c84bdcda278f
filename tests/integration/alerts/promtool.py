"""Debian's promtool, and what it says about alert rules and recorded series."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.cluster.debian import program
from tests.cluster.gobuild import BuildFailed

RULES = Path(__file__).parents[3] / "deploy/prometheus/shardfleet.rules.yaml"

Labels = tuple[tuple[str, str], ...]
Series = Mapping[Labels, list[float | None]]
"""By labels, `__name__` among them: one sample a scrape, None where there was none."""

STEP_SECONDS = 15
"""Between two scrapes, and between two evaluations of the rules."""


def promtool() -> Path:
    """Raises BuildFailed where it cannot be had."""
    return program("prometheus", "promtool", lambda line: print(line, file=sys.stderr, flush=True))


@dataclass(frozen=True, slots=True)
class Expected:
    """At that time after the first scrape exactly these alerts fire. since_seconds: also those that fired at any time
    from then on; None for the moment alone."""

    at_seconds: int
    alerts: frozenset[str]
    since_seconds: int | None = None


def disagreement(series: Series, expected: Iterable[Expected], directory: Path, rules: Path = RULES) -> str:
    """What promtool has against it; "" where all is as expected."""
    test = {
        "interval": f"{STEP_SECONDS}s",
        "input_series": [{"series": _selector(labels), "values": _values(found)} for labels, found in series.items()],
        "promql_expr_test": [_question(each) for each in expected],
    }
    file = directory / "test.yaml"
    file.write_text(yaml.dump({"rule_files": [str(rules)], "evaluation_interval": f"{STEP_SECONDS}s", "tests": [test]}))
    ran = subprocess.run([promtool(), "test", "rules", file.name], cwd=directory, capture_output=True, text=True)
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


def check(rules: Path = RULES) -> str:
    """What promtool has against the file itself; "" for nothing."""
    ran = subprocess.run([promtool(), "check", "rules", str(rules)], capture_output=True, text=True)
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


def _question(expected: Expected) -> dict[str, object]:
    firing = 'ALERTS{alertstate="firing"}'
    if expected.since_seconds is not None:
        firing = f"max_over_time({firing}[{expected.at_seconds - expected.since_seconds}s])"
    return {
        "expr": f"group by (alertname) ({firing})",
        "eval_time": f"{expected.at_seconds}s",
        "exp_samples": [{"labels": f'{{alertname="{each}"}}', "value": 1} for each in sorted(expected.alerts)],
    }


def _selector(labels: Labels) -> str:
    named = dict(labels)
    name = named.pop("__name__")
    inside = ",".join(f'{label}="{_escaped(value)}"' for label, value in named.items())
    return f"{name}{{{inside}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _values(samples: list[float | None]) -> str:
    """As promtool's tests have them; runs of one value as `value x times`."""
    written: list[str] = []
    last: float | None = None
    runs: list[tuple[float | None, int]] = []
    for sample in samples:
        if runs and runs[-1][0] == sample:
            runs[-1] = sample, runs[-1][1] + 1
        else:
            runs.append((sample, 1))
    for sample, times in runs:
        if sample is not None:
            written.append(repr(float(sample)) + (f"x{times - 1}" if times > 1 else ""))
        else:
            # A series that a page has no more is marked by the scrape that misses it.
            missed = times if last is None else times - 1
            written += ["stale"] * (last is not None) + [f"_x{missed}"] * (missed > 0)
        last = sample
    return " ".join(written)


def main() -> int:
    """Gets it, where it is not there yet."""
    try:
        print(promtool())
    except BuildFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
