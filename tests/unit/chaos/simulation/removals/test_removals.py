"""Removals: each patches what is there, and leaves nothing behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chaos.simulation.oracles.jury import ORACLES
from chaos.simulation.removals import REMOVALS
from chaos.simulation.removals.catches import MARKS, PAGE, SCENARIOS, Catch, table, with_table
from fleet.office import registrar
from fleet.rules import handover
from fleet.workers.member import Member
from shards.ownership.tenure import Tenure

OWNERSHIP_RULES = Path(__file__).parents[5] / "docs" / "ownership-rules.md"

PARTS = {"no-map-check", "ignore-strays", "any-watermark", "watermark-of-a-holder"}
"""Of the model's, which take several names to break something: here they are parts of one removal."""


@pytest.mark.parametrize("name", REMOVALS)
def test_a_removal_patches_names_that_are_there_and_puts_them_back(name: str) -> None:
    before = (handover.is_free, vars(registrar)["fence"], vars(Member)["_renew"], vars(Tenure)["deadline"])
    with REMOVALS[name].remove():
        pass
    assert (handover.is_free, vars(registrar)["fence"], vars(Member)["_renew"], vars(Tenure)["deadline"]) == before


def test_while_it_lasts_the_rule_is_not_there() -> None:
    with REMOVALS["claim-on-target-alone"].remove():
        assert handover.is_free(None, None) is True  # type: ignore[arg-type]  # whatever it is asked


def test_each_expects_oracles_that_there_are_or_says_why_nothing_shows() -> None:
    known = {each.id for each in ORACLES}
    for removal in REMOVALS.values():
        if "protocol" in removal.depths:
            assert set(removal.expects) <= known, removal.name
            assert bool(removal.expects) is not bool(removal.covered), removal.name


def test_every_removal_of_the_model_is_one_of_the_real_code() -> None:
    rows = [line for line in OWNERSHIP_RULES.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    names = {name for line in rows if ", in *" in line for name in re.findall("`([a-z-]+)`", line)}
    assert names - PARTS <= REMOVALS.keys()


def test_the_table_says_what_found_a_removal_and_after_how_many_seeds() -> None:
    rows = table(
        {
            "act-after-deadline": Catch("act-after-deadline", 23, 22, "I1", "two act"),
            "outlived": Catch("outlived", 1000),
        }
    ).splitlines()
    assert rows[2] == "| R2 | Nothing is done after the deadline. | I1 | 23 | two act: `--break act-after-deadline` |"
    assert rows[3].startswith(
        "| R14 | A worker ends when its name is known at a later epoch. | nothing | none in 1,000 |"
    )


def test_a_table_takes_the_place_of_the_one_before() -> None:
    (begin, end), (first, last) = MARKS["protocol"], MARKS["stack"]
    page = f"# Rules\n\n{begin}\nold\n{end}\n\n{first}\nold\n{last}\nrest\n"
    page = with_table(page, "new")
    assert page == f"# Rules\n\n{begin}\nnew\n{end}\n\n{first}\nold\n{last}\nrest\n"
    page = with_table(page, "newer", "stack")
    assert page == f"# Rules\n\n{begin}\nnew\n{end}\n\n{first}\nnewer\n{last}\nrest\n"
    with pytest.raises(ValueError, match="no table between its marks"):
        with_table("# Rules\n", "new")


def test_rows_of_removals_that_were_not_searched_stay() -> None:
    known = table({"act-after-deadline": Catch("act-after-deadline", 23, 22, "I1", "two act")})
    rows = table({"outlived": Catch("outlived", 1000)}, known).splitlines()
    assert [row.split("`")[-2] for row in rows[2:]] == ["--break act-after-deadline", "outlived"]


def test_each_depth_has_a_table_of_its_own() -> None:
    catches = {name: Catch(name, 5, 4, "I3", "old") for name in ("no-gate", "watermark-off")}
    of_the_protocol, of_the_stack = table(catches).splitlines(), table(catches, depth="stack").splitlines()
    assert [row.split("`")[-2] for row in of_the_protocol[2:]] == ["--break no-gate"]
    assert [row.split("`")[-2] for row in of_the_stack[2:]] == ["--break watermark-off"]


def test_every_removal_that_something_is_expected_of_has_a_scenario() -> None:
    kept = {path.stem for path in SCENARIOS.glob("*.yaml")}
    assert {name for name, each in REMOVALS.items() if each.expects} <= kept


def test_the_page_has_a_row_for_every_removal() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for depth in MARKS:
        rows = table({}, page, depth).splitlines()[2:]
        names = {row.split("`")[-2].removeprefix("--break ") for row in rows}
        assert names == {name for name, each in REMOVALS.items() if each.depth == depth}
