"""A controller runtime, measured beside others on one real API server: time, CPU, memory, requests.

    N=20000 ROUNDS=3 make bench-runtime          a quarter of an hour; the targets of a cold sync are not judged
    N=100000 ROUNDS=2 make bench-runtime         all of it, as the targets mean it

PHASES: those of queue, work, failover, sync, latency that are wanted, by default all. WIDGETS: of the phase work.
SPAN: seconds of writes at each rate. DOCS=1 writes docs/benchmarks.md. Where:
`$XDG_CACHE_HOME/shardfleet/bench-runtime`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.runtime import quantities as wanted
from benchmarks.runtime.comparison import conclude
from benchmarks.runtime.lab import ROOT, Lab, lab
from benchmarks.runtime.quantities import Plan, quantities
from benchmarks.runtime.report import write
from benchmarks.runtime.results import Results, read
from benchmarks.runtime.versions import versions
from tests.cluster.gobuild import BuildFailed, cache_root
from tests.cluster.server import StartFailed

PHASES = ("queue", "work", "failover", "sync", "latency")
STEADY = 20_000
"""Objects while writes are measured, at most: an event costs the same in a larger cluster."""
KEYS = 200_000
RATES = "50,200"

COLD = (wanted.OURS, wanted.U, wanted.T, wanted.R)
FLEETS = (wanted.FOUR, wanted.FOUR_LOCAL)
WRITTEN = (wanted.FLOOR, wanted.OURS, wanted.U, wanted.R)
WORKING = (wanted.OURS, wanted.U, wanted.R)
LEADERS = (wanted.PODS, wanted.CLIENT_GO, wanted.U)
FAILOVER_WIDGETS = 200
QUEUES = (wanted.OURS, wanted.U, wanted.CLIENT_GO, wanted.R)


def number(name: str, default: int) -> int:
    return int(os.environ.get(name) or default)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def measure(lab: Lab, plan: Plan, phases: list[str], rounds: int, span: int) -> None:
    """Fills the server up in steps, so that it has to be filled only once."""

    def run(phase: str, peers: tuple[str, ...], *arguments: str) -> None:
        say(f"{time.strftime('%H:%M:%S')} {phase} {' '.join(arguments)}")
        lab.measure(phase, "--peers", ",".join(peers), "--rounds", str(rounds), *arguments)

    def profile(phase: str, *arguments: str) -> None:
        lab.measure(
            phase, "--peers", "shardfleet-profiled", "--rounds", "1", *arguments, profile=f"profile-{phase}.txt"
        )

    def latency() -> None:
        run("latency", WRITTEN, "--n", str(plan.steady), "--rates", RATES, "--span", str(span))
        profile("latency", "--n", str(plan.steady), "--rates", "200", "--span", str(span))

    if "queue" in phases:
        run("queue", QUEUES, "--keys", str(KEYS))
    if "work" in phases:
        run("work", WORKING, "--n", str(plan.widgets))
        profile("work", "--n", str(plan.widgets))
        lab.clear()
    if "failover" in phases:
        lab.populate(FAILOVER_WIDGETS)
        run("failover", LEADERS, "--repeats", str(rounds))
        lab.clear()
    if "sync" in phases:
        lab.populate(plan.small)
        run("sync", COLD, "--n", str(plan.small))
    if "latency" in phases and plan.steady < plan.large:
        lab.populate(plan.steady)
        latency()
    if {"sync", "latency"} & set(phases):
        lab.populate(plan.large)
    if "sync" in phases:
        run("sync", (*COLD, *FLEETS), "--n", str(plan.large))
        profile("sync", "--n", str(plan.large))
    if "latency" in phases and plan.steady == plan.large:
        latency()


def main() -> int:
    large = number("N", 20_000)
    plan = Plan(large, large // 5, min(large, STEADY), number("WIDGETS", 2_000))
    rounds, span = number("ROUNDS", 3), number("SPAN", 12)
    phases = (os.environ.get("PHASES") or ",".join(PHASES)).split(",")
    directory = Path(os.environ.get("LAB") or cache_root() / "bench-runtime")
    began = time.strftime("%Y-%m-%d %H:%M")
    try:
        with lab(directory, say) as found:
            found.results.unlink(missing_ok=True)
            measure(found, plan, phases, rounds, span)
    except (BuildFailed, StartFailed, subprocess.CalledProcessError) as failure:
        say(str(failure))
        return 1
    results = Results(read(found.results.read_bytes().splitlines()))
    for each in results.failures:
        say(f"failed: {each['phase']} of {each['peer']}, round {each['round']}: {each['error']}")
    rows = quantities(results, plan)
    if os.environ.get("DOCS"):
        how = f"Measured {began}, {rounds} interleaved rounds, {large:,} objects, {os.cpu_count()} cores."
        write(ROOT / "docs" / "benchmarks.md", rows, versions(), how)
    return conclude(rows) or int(bool(results.failures))


if __name__ == "__main__":
    sys.exit(main())
