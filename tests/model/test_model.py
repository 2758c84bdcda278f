"""The ownership protocol, explored exhaustively; larger budgets are in `make test-long`.

The numbers of states are part of the expectation: a change of the protocol shows here even where nothing breaks, and an
exploration that was cut short cannot pass for a proof.
"""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

import pytest

from tests.model.__main__ import PROCESSES, explored, mutated
from tests.model.explorer import steps
from tests.model.mutations import MUTATIONS
from tests.model.rules import PAGE, REMOVALS, Removal
from tests.model.scenarios import MAIN, SCENARIOS
from tests.model.search import NOTHING, Found

UNEXPLORED = {"forget-without-retiring", "acts-out-of-office", "older-config-reshards"}
"""Removals that have too many states."""

AS_WRITTEN = (
    "moves to and fro",
    "leaving for good",
    "the store restored",
    "useless members",
    "a brown-out",
    "nobody in office",
    "there and back",
)
"""Where the code does not do in one write what is written here as several, and gives up nothing that could be done."""

Job = tuple[str, tuple[str, ...]]


@pytest.fixture(scope="module")
def running() -> Iterator[dict[Job, Future[Found]]]:
    """Every exploration, in the background, the longest first."""
    jobs: list[Job] = [(name, ()) for name in sorted(MAIN, key=lambda each: MAIN[each].states, reverse=True)]
    jobs += [(each.scenario, each.names) for each in REMOVALS]
    context = multiprocessing.get_context("spawn")  # nothing of pytest's own state is carried over
    with ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        futures = {job: pool.submit(explored, job) for job in jobs}
        yield {**futures, **{(name, ()): pool.submit(mutated, name) for name in MUTATIONS}}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", MAIN)
def test_the_protocol_holds(name: str, running: dict[Job, Future[Found]]) -> None:
    found = running[name, ()].result()

    assert found.breaks == NOTHING, "\n".join([found.what, *found.path])
    assert (found.whole, found.states) == (True, MAIN[name].states)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("removal", REMOVALS, ids=lambda each: "+".join(each.names))
def test_without_one_of_its_rules_exactly_this_breaks(removal: Removal, running: dict[Job, Future[Found]]) -> None:
    found = running[removal.scenario, removal.names].result()

    assert (found.breaks, found.whole) == (removal.breaks, True), "\n".join([found.what, *found.path])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", MUTATIONS)
def test_code_that_is_wrong_is_found_out(name: str, running: dict[Job, Future[Found]]) -> None:
    found = running[name, ()].result()

    assert (found.breaks, found.whole) == (MUTATIONS[name].breaks, True), "\n".join([found.what, *found.path])


@pytest.mark.parametrize("name", AS_WRITTEN)
def test_the_code_makes_no_move_that_the_rules_as_they_are_written_here_do_not_know(name: str) -> None:
    """So a rule that is removed from what is written here would be missed in the code, too."""
    scenario = SCENARIOS[name]
    by_code, as_written = scenario.world(), scenario.world(frozenset(("nothing",)))
    start = by_code.start()
    seen, todo = {start}, [start]
    while todo:
        state = todo.pop()
        known = {step.state for step in steps(as_written, state)}
        for step in steps(by_code, state):
            assert step.state in known or step.state == state, step.label
            if step.state not in seen:
                seen.add(step.state)
                todo.append(step.state)

    assert len(seen) == scenario.states


def test_each_removal_is_listed_once_and_has_a_scenario() -> None:
    names = [each.names for each in REMOVALS]
    assert len(names) == len(set(names))
    assert {each.scenario for each in REMOVALS} <= set(SCENARIOS)


def test_every_removal_that_the_moves_know_is_in_the_table() -> None:
    known = {name for each in REMOVALS for name in each.names}
    sources = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("*.py"))
    asked = set(re.findall(r'"([a-z-]+)"(?: not)? in w.without', sources))
    assert asked - known == UNEXPLORED


def test_the_page_shows_the_figures_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name, each in MAIN.items() if f"| {each.states:,} |" not in page] == []
    assert f"{sum(each.states for each in MAIN.values()):,} states" in page
    wrong = [
        each for each in MUTATIONS.values() if f"| {each.function.__name__} | {each.what} | {each.breaks} |" not in page
    ]
    assert wrong == []
