"""How much of the protocol the histories of many seeds reach: which strikes met something, which paths were taken.

    python -m chaos.simulation.reach --seeds 10000 --jobs 2
    python -m chaos.simulation.reach --seeds 200 --depth stack --first 1000

Exit code 0: every strike and every path was reached. 1: something was not; the table says what.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys
from collections import Counter
from dataclasses import dataclass, field
from itertools import repeat
from typing import get_args

from chaos.simulation.depths import run
from chaos.simulation.paths import PATHS, Paths
from chaos.simulation.plan import Depth
from chaos.simulation.scenario_file import WORDS
from chaos.simulation.strikes import ONLY_AT_PROTOCOL
from chaos.simulation.swarm import draw

_CHUNK = 20


@dataclass(slots=True)
class Reach:
    """Of each: how often in all, and in how many histories. drawn, hit: by the words of strikes. breaches: by oracle.

    settled: how long the histories took to be as they should be after the healing, in seconds.
    """

    depth: Depth = "protocol"
    histories: int = 0
    drawn: Counter[str] = field(default_factory=Counter)
    hit: Counter[str] = field(default_factory=Counter)
    hit_in: Counter[str] = field(default_factory=Counter)
    taken: Counter[str] = field(default_factory=Counter)
    taken_in: Counter[str] = field(default_factory=Counter)
    breaches: Counter[str] = field(default_factory=Counter)
    settled: list[float] = field(default_factory=list)

    def add(self, other: Reach) -> None:
        self.histories += other.histories
        for name in ("drawn", "hit", "hit_in", "taken", "taken_in", "breaches"):
            getattr(self, name).update(getattr(other, name))
        self.settled += other.settled

    @property
    def missing(self) -> list[str]:
        words = [word for word, kind in WORDS.items() if self.depth == "protocol" or kind not in ONLY_AT_PROTOCOL]
        return [*(word for word in words if not self.hit[word]), *(path for path in PATHS if not self.taken[path])]


def reach_of(seed: int, depth: Depth) -> Reach:
    """One history's."""
    plan = draw(seed, depth)
    paths = Paths()
    outcome = run(plan, hear=paths.hear)
    return Reach(
        histories=1,
        drawn=Counter(str(each.__struct_config__.tag) for each in plan.strikes),
        hit=Counter(outcome.hits),
        hit_in=Counter(outcome.hits.keys()),
        taken=paths.counts,
        taken_in=Counter(paths.counts.keys()),
        breaches=Counter(each.oracle for each in outcome.breaches),
        settled=[outcome.settled_seconds] if outcome.settled_seconds is not None else [],
    )


def table(reach: Reach) -> str:
    """Two tables in Markdown, and a line about the ends of the histories."""
    lines = [
        f"{reach.histories:,} histories",
        "",
        "| strike | drawn | met something | histories |",
        "|---|---:|---:|---:|",
    ]
    lines += [f"| `{word}` | {reach.drawn[word]:,} | {reach.hit[word]:,} | {reach.hit_in[word]:,} |" for word in WORDS]
    lines += ["", "| path | rule | taken | histories |", "|---|---|---:|---:|"]
    lines += [f"| {path} | {rule} | {reach.taken[path]:,} | {reach.taken_in[path]:,} |" for path, rule in PATHS.items()]
    times = sorted(reach.settled)
    if times:
        middle, late = times[len(times) // 2], times[int(len(times) * 0.99)]
        lines += [
            "",
            f"Settled after the healing: {middle:.1f} s (median), {late:.1f} s (99 %), {times[-1]:.1f} s (most).",
        ]
    if reach.breaches:
        lines += ["", "Breaches: " + ", ".join(f"{oracle} {count}" for oracle, count in sorted(reach.breaches.items()))]
    if reach.missing:
        lines += ["", f"Not reached: {', '.join(reach.missing)}"]
    return "\n".join(lines) + "\n"


def _reach_of(job: tuple[int, Depth]) -> Reach:
    return reach_of(*job)


def _quiet() -> None:
    """What a simulated fleet logs is for its operators."""
    logging.disable(logging.CRITICAL)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--depth", choices=get_args(Depth), default="protocol")
    args = parser.parse_args(arguments)
    total = Reach(args.depth)
    jobs = zip(range(args.first, args.first + args.seeds), repeat(args.depth), strict=False)
    with multiprocessing.get_context("spawn").Pool(args.jobs, _quiet) as pool:
        for each in pool.imap(_reach_of, jobs, chunksize=_CHUNK):
            total.add(each)
    sys.stdout.write(table(total))
    return 1 if total.missing else 0


if __name__ == "__main__":
    sys.exit(main())
