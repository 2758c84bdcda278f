"""How many seeds it takes until each removal is caught, and by which oracle.

`python -m chaos.simulation.removals.search` plays seeds for every removal, and prints what found it. `--write` keeps
what was found: a short scenario of each in `SCENARIOS`, for the tests, and the tables in `PAGE`. Each is played at the
depth at which it can be seen.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from chaos.simulation.depths import run
from chaos.simulation.outcome import Breach
from chaos.simulation.plan import Depth, Plan
from chaos.simulation.removals import REMOVALS
from chaos.simulation.removals.catches import MARKS, PAGE, SCENARIOS, Catch, table, with_table
from chaos.simulation.removals.removal import Removal
from chaos.simulation.scenario_file import text_of
from chaos.simulation.shrinking import shrink
from chaos.simulation.swarm import draw

MOST_SEEDS = 10_000
REDUNDANT_SEEDS = 1_000
"""Of removals of which nothing is expected: enough to see that they do not break the next best history."""
SHORTENING_RUNS: Mapping[Depth, int] = {"protocol": 200, "stack": 60}
"""Histories of the stack take long."""


class Caught(NamedTuple):
    """plan: the seed's. breach: the first one; None when no seed of all that were played showed any."""

    removal: Removal
    seeds: int
    plan: Plan | None = None
    breach: Breach | None = None


def breach_of(plan: Plan, removal: Removal | None = None) -> Breach | None:
    """The first promise that the history breaks, with that rule removed or with none."""
    if removal is None:
        return next(iter(run(plan).breaches), None)
    with removal.remove():
        return next(iter(run(plan).breaches), None)


def search(removal: Removal, *, first: int = 0, most: int = MOST_SEEDS) -> Caught:
    """Seeds from `first` on, until one breaks what is expected, or anything where nothing is, and passes on the whole
    build."""
    for seed in range(first, first + most):
        plan = draw(seed, removal.depth)
        breach = breach_of(plan, removal)
        expected = breach is not None and breach.oracle in (removal.expects or (breach.oracle,))
        if breach is not None and expected and breach_of(plan) is None:
            return Caught(removal, seed - first + 1, plan, breach)
    return Caught(removal, most)


def shortest(caught: Caught) -> Plan:
    """The least that shows the same breach, and passes on the whole build."""
    assert caught.plan is not None, "something was caught"
    assert caught.breach is not None, "something was caught"
    oracle, removal = caught.breach.oracle, caught.removal

    def fails(plan: Plan) -> bool:
        found = breach_of(plan, removal)
        return found is not None and found.oracle == oracle and breach_of(plan) is None

    return shrink(caught.plan, fails, most_runs=SHORTENING_RUNS[removal.depth])


def _job(name: str, first: int, most: int | None, write: bool) -> tuple[Catch, str]:
    """Of one removal: the row of the table, and the scenario that shows it."""
    logging.disable(logging.CRITICAL)
    removal = REMOVALS[name]
    caught = search(removal, first=first, most=most or (MOST_SEEDS if removal.expects else REDUNDANT_SEEDS))
    if caught.plan is None or caught.breach is None:
        return Catch(name, caught.seeds), ""
    text = text_of(shortest(caught)) if write else ""
    return Catch(name, caught.seeds, caught.plan.seed, caught.breach.oracle, caught.breach.what), text


def found(
    names: Iterable[str], *, first: int = 0, most: int | None = None, jobs: int = 1, write: bool = False
) -> Iterator[tuple[Catch, str]]:
    """In the order in which they are found."""
    job = partial(_job, first=first, most=most, write=write)
    if jobs == 1:
        yield from map(job, names)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(job, names)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="removals; without any, all")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=None, help=f"most for each (default {MOST_SEEDS})")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--write", action="store_true", help="keep scenarios and table")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.names) - REMOVALS.keys())
    if unknown:
        parser.error(f"no removal is called {unknown[0]!r}; known are {', '.join(sorted(REMOVALS))}")
    names = given.names or list(REMOVALS)
    catches: dict[str, Catch] = {}
    for catch, scenario in found(names, first=given.first, most=given.seeds, jobs=given.jobs, write=given.write):
        catches[catch.name] = catch
        click.echo(catch.sentence)
        if given.write and scenario:
            (SCENARIOS / f"{catch.name}.yaml").write_text(scenario, encoding="utf-8")
    if given.write:
        page = Path(PAGE)
        said = page.read_text(encoding="utf-8")
        for depth in MARKS:
            said = with_table(said, table(catches, said, depth), depth)
        page.write_text(said, encoding="utf-8")
    missed = [name for name, each in catches.items() if REMOVALS[name].expects and not each.oracle]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
