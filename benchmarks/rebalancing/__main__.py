"""What it costs a fleet to be moved about: planned handovers, deaths, rolling restarts, resharding, plans.

    make bench-rebalancing                          all of it: a table
    JSON=1 make bench-rebalancing                   one object a line
    ROWS=handovers,steady make bench-rebalancing    some of it; a wrong name lists them
    SERVERS=embedded make bench-rebalancing         on one of embedded, real
    QUICK=1 make bench-rebalancing                  as little as shows that it works; no target is judged
    DOCS=1 make bench-rebalancing                   writes docs/benchmarks/rebalancing.md as well

Every quantity is measured on both servers in one run. Logs and journals are left in $LAB, by default
`$XDG_CACHE_HOME/shardfleet/bench-rebalancing`, which is emptied first.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from benchmarks.rebalancing.bench import Bench, Measure, say
from benchmarks.rebalancing.report import DOCUMENT, Section, write
from benchmarks.rebalancing.servers import BenchServer, embedded, real
from benchmarks.table import Row, conclude
from tests.cluster.gobuild import BuildFailed, cache_root
from tests.cluster.server import StartFailed

MEASUREMENTS = ("handovers", "worker_killed", "pod_killed", "writes", "steady", "rolling")
"""Modules of `benchmarks.rebalancing.measurements`, in the order of the table; each has a `measure`."""

SERVERS = ("embedded", "real")


def main() -> int:
    names, servers = _chosen("ROWS", MEASUREMENTS), _chosen("SERVERS", SERVERS)
    directory = Path(os.environ.get("LAB") or cache_root() / "bench-rebalancing")
    shutil.rmtree(directory, ignore_errors=True)
    quick, began = bool(os.environ.get("QUICK")), time.strftime("%Y-%m-%d %H:%M")
    load_before = os.getloadavg()[0]
    try:
        with ExitStack() as open_servers:
            made = [_started(name, directory, open_servers) for name in servers]
            sections = [_measured(name, Bench(made, directory, quick)) for name in names]
    except (BuildFailed, StartFailed) as failure:
        say(str(failure))
        return 1
    if os.environ.get("DOCS"):
        loads = f"load {load_before:.1f} before and {os.getloadavg()[0]:.1f} after"
        write(DOCUMENT, sections, f"Measured {began}, {os.cpu_count()} cores, {loads}.")
    return conclude([row for section in sections for row in section.rows])


def _chosen(variable: str, known: Sequence[str]) -> list[str]:
    """Raises SystemExit for a name that is not known."""
    wanted = [each for each in (os.environ.get(variable) or ",".join(known)).split(",") if each]
    for name in wanted:
        if name not in known:
            sys.exit(f"{variable}: {name!r} is none of {', '.join(known)}")
    return wanted


def _started(name: str, directory: Path, open_servers: ExitStack) -> BenchServer:
    if name == "embedded":
        return open_servers.enter_context(embedded(directory / "embedded"))
    return open_servers.enter_context(real(directory / "real", say))


def _measured(name: str, bench: Bench) -> Section:
    measure: Measure = importlib.import_module(f"benchmarks.rebalancing.measurements.{name}").measure
    say(f"{name} begins; load {os.getloadavg()[0]:.1f}")
    began = time.monotonic()
    rows = asyncio.run(_awaited(measure, bench))
    if bench.quick:
        rows = [msgspec.structs.replace(row, target=None) if row.unit else row for row in rows]
    say(f"{name} took {time.monotonic() - began:.0f} s")
    return Section(name, tuple(rows))


async def _awaited(measure: Measure, bench: Bench) -> list[Row]:
    return await measure(bench)


if __name__ == "__main__":
    sys.exit(main())
