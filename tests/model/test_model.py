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

from tests.model.__main__ import PROCESSES, explored
from tests.model.explorer import NOTHING, Found
from tests.model.rules import PAGE, REMOVALS, Removal
from tests.model.scenarios import MAIN, SCENARIOS

UNEXPLORED = {"forget-without-retiring", "acts-out-of-office", "older-config-reshards"}
"""Removals that have too many states."""

Job = tuple[str, tuple[str, ...]]


@pytest.fixture(scope="module")
def running() -> Iterator[dict[Job, Future[Found]]]:
    """Every exploration, in the background, the longest first."""
    jobs: list[Job] = [(name, ()) for name in sorted(MAIN, key=lambda each: MAIN[each].states, reverse=True)]
    jobs += [(each.scenario, each.names) for each in REMOVALS]
    context = multiprocessing.get_context("spawn")  # nothing of pytest's own state is carried over
    with ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        yield {job: pool.submit(explored, job) for job in jobs}


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
