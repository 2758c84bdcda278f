"""The ownership protocol, explored exhaustively; what takes longer is in `make test-long`.

The numbers of states are part of the expectation: a change of the protocol shows here even where nothing breaks, and an
exploration that was cut short cannot pass for a proof.
"""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor

import pytest

from tests.model import ownership_model as model

Budget = tuple[int, ...]

STATES: dict[Budget, int] = {
    (1, 1, 0, 0, 1, 0, 0, 0, 0): 555_203,
    (0, 0, 0, 0, 1, 1, 0, 0, 0): 34_003,
    (1, 0, 0, 0, 1, 0, 1, 0, 0): 405_880,
    (0, 0, 0, 0, 1, 0, 0, 1, 0): 5_262,
    (1, 0, 0, 1, 0, 0, 0, 0, 0): 609_284,
    (0, 0, 0, 1, 0, 0, 0, 1, 0): 84_342,
    (0, 0, 0, 0, 1, 0, 0, 0, 1): 4_792,
    (1, 0, 0, 0, 1, 0, 0, 0, 1): 93_230,
}
LONG = {(0, 0, 0, 1, 0, 1, 0, 0, 0), (0, 0, 1, 1, 0, 0, 0, 0, 0)}
"""839,082 and 1,365,225 states: not here."""
CAP = 1_000_000
PROCESSES = 2

Explored = dict[tuple[Budget, str], Future[tuple[int, str | None, list[str]]]]


@pytest.fixture(scope="module")
def explored() -> Iterator[Explored]:
    """Every exploration, running in the background, the longest first. Keys: budget and removed rule, "" for none."""
    runs = [(budget, "") for budget in sorted(STATES, key=STATES.__getitem__, reverse=True)]
    runs += [(budget, rule) for rule, budget in model.MUTATIONS.items()]
    context = multiprocessing.get_context("spawn")  # nothing of pytest's own state is carried over
    with ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        yield {(budget, rule): pool.submit(model.explore, budget, rule, True, CAP) for budget, rule in runs}


def test_every_budget_is_explored_here_or_in_the_long_run() -> None:
    assert set(STATES) | LONG == set(model.BUDGETS)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("budget", STATES)
def test_the_protocol_holds(budget: Budget, explored: Explored) -> None:
    states, violation, trace = explored[budget, ""].result()

    assert violation is None, "\n".join([violation or "", *trace])
    assert states == STATES[budget]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("rule", model.MUTATIONS)
def test_without_one_of_its_rules_it_breaks(rule: str, explored: Explored) -> None:
    _, violation, trace = explored[model.MUTATIONS[rule], rule].result()

    assert violation is not None
    assert violation.startswith(("S1:", "S2:", "L1:"))
    assert trace
