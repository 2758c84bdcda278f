"""The gates of `shards`, explored exhaustively; larger budgets are in `make test-long`.

The numbers of states are part of the expectation, as those of `tests.model.test_model` are.
"""

from __future__ import annotations

import pytest

from shards.gates.barrier import Barrier
from shards.versions import Incomparable
from tests.model.gates.explorer import explore
from tests.model.gates.mutations import MUTATIONS, in_force
from tests.model.gates.parts import CHILDREN, KEY, NAME, OTHERS, Parts
from tests.model.gates.scenarios import MAIN, SCENARIOS
from tests.model.rules import PAGE
from tests.model.search import NOTHING


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", MAIN)
def test_no_key_runs_on_less_than_was_written_for_it_and_none_waits_for_ever(name: str) -> None:
    found = explore(MAIN[name].world())

    assert found.breaks == NOTHING, "\n".join([found.what, *found.path])
    assert (found.whole, found.states) == (True, MAIN[name].states)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_gate_that_is_wrong_is_found_out(name: str) -> None:
    mutation = MUTATIONS[name]
    with in_force(mutation):
        found = explore(SCENARIOS[mutation.scenario].world())

    assert (found.breaks, found.whole) == (mutation.breaks, True), "\n".join([found.what, *found.path])


def test_a_gate_refuses_to_be_asked_about_the_view_of_another_resource() -> None:
    barrier = Barrier(KEY, CHILDREN, NAME, "u1", "4")

    with pytest.raises(Incomparable, match="others"):
        barrier.seen(Parts(100).other.reader)
    assert Parts(100).other.reader.resource == OTHERS


def test_the_page_shows_the_figures_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [
        name for name, each in MAIN.items() if f"| {name} |" not in page or f"| {each.states:,} |" not in page
    ] == []
    assert [each.what for each in MUTATIONS.values() if f"| {each.what} | {each.breaks} |" not in page] == []
