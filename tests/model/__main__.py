"""Explores the ownership protocol on the command line.

python -m tests.model                     every scenario, the long ones too, and every removal; exit 0: as expected
python -m tests.model --main              without the long ones
python -m tests.model --removal NAME      one removal, with its shortest counterexample
python -m tests.model --mutation NAME     the same of one mutation of the code
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys

from tests.model.explorer import explore
from tests.model.gates import explorer as gates
from tests.model.gates.scenarios import MAIN as MAIN_GATES
from tests.model.gates.scenarios import SCENARIOS as GATES
from tests.model.mutations import MUTATIONS, in_force
from tests.model.rules import REMOVALS, Removal
from tests.model.scenarios import LONG, MAIN, SCENARIOS
from tests.model.search import NOTHING, Found

PROCESSES = 2


def explored(job: tuple[str, tuple[str, ...]]) -> Found:
    """job: a scenario's name, and what is removed."""
    name, without = job
    return explore(SCENARIOS[name].world(frozenset(without)))


def mutated(name: str) -> Found:
    """One mutation of the code, by its name."""
    mutation = MUTATIONS[name]
    with in_force(mutation):
        return explore(SCENARIOS[mutation.scenario].world())


def explored_gates(name: str) -> Found:
    """A scenario of the gates, by its name."""
    return gates.explore(GATES[name].world(), most=6_000_000)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--main", action="store_true")
    parser.add_argument("--removal", choices=sorted("+".join(each.names) for each in REMOVALS))
    parser.add_argument("--mutation", choices=sorted(MUTATIONS))
    args = parser.parse_args()
    if args.mutation:
        mutation = MUTATIONS[args.mutation]
        what = f"with {args.mutation}, in {mutation.scenario!r}"
        return _told(what, mutated(args.mutation), mutation.breaks, verbose=True)
    if args.removal:
        removal = next(each for each in REMOVALS if "+".join(each.names) == args.removal)
        found = explored((removal.scenario, removal.names))
        return _told(f"without {args.removal}, in {removal.scenario!r}", found, removal.breaks, verbose=True)
    scenarios = MAIN if args.main else {**MAIN, **LONG}
    jobs: list[tuple[str, tuple[str, ...]]] = [(name, ()) for name in scenarios]
    jobs += [(each.scenario, each.names) for each in REMOVALS]
    wrong = 0
    with multiprocessing.Pool(PROCESSES) as pool:
        for job, found in zip(jobs, pool.imap(explored, jobs), strict=True):
            expected = _removal(job)
            breaks = expected.breaks if expected is not None else NOTHING
            wrong += _told(" without ".join([job[0], *job[1]]), found, breaks)
        for name, found in zip(MUTATIONS, pool.imap(mutated, MUTATIONS), strict=True):
            wrong += _told(f"with {name}", found, MUTATIONS[name].breaks)
        names = tuple(MAIN_GATES if args.main else GATES)
        for name, found in zip(names, pool.imap(explored_gates, names), strict=True):
            wrong += _told(f"gates: {name}", found, NOTHING)
    return 1 if wrong else 0


def _removal(job: tuple[str, tuple[str, ...]]) -> Removal | None:
    return next((each for each in REMOVALS if each.names == job[1]), None)


def _told(what: str, found: Found, breaks: str, *, verbose: bool = False) -> int:
    """Prints one line. 1 where it is not as expected."""
    as_expected = found.whole and found.breaks == breaks
    size = f"{found.states:,} states, {found.seconds:.1f} s"
    sys.stdout.write(f"{what}: {found.breaks} {found.what} ({size}){'' if as_expected else f'; EXPECTED {breaks}'}\n")
    if verbose or not as_expected:
        sys.stdout.write("".join(f"    {step}\n" for step in found.path))
    sys.stdout.flush()
    return 0 if as_expected else 1


if __name__ == "__main__":
    sys.exit(main())
