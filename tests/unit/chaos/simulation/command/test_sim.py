"""`fleet sim` as somebody types it. Campaigns of several processes are tried in tests/simulation."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from chaos.simulation import depths
from chaos.simulation.command import history, shorter
from chaos.simulation.command.asked import LARGEST_FRESH, Asked
from chaos.simulation.command.sim import sim
from chaos.simulation.outcome import Breach, Outcome, Say
from chaos.simulation.plan import Plan
from chaos.simulation.scenario_file import read
from chaos.simulation.strikes import Crash
from fleet.commands.exit_codes import EXIT_CONFIG, EXIT_INTERRUPTED
from shards.errors import ConfigError


class Told(NamedTuple):
    code: int
    out: str
    err: str


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Told:
    try:
        code = sim.main(arguments, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except ConfigError as error:
        click.echo(str(error), err=True)
        code = EXIT_CONFIG
    captured = capsys.readouterr()
    return Told(code, captured.out, captured.err)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """A simulation in which a fleet that has a crash breaks I1. What was played, in order."""
    plans: list[Plan] = []

    def run(plan: Plan, *, say: Say | None = None) -> Outcome:
        plans.append(plan)
        if say is not None:
            say(0.5, "a/1 starts")
        crashes = [each for each in plan.strikes if isinstance(each, Crash)]
        breaches = (Breach("I1", 2.0, "two act"),) if crashes else ()
        return Outcome(seed=plan.seed, breaches=breaches, seconds=9.0, settled_seconds=None if breaches else 3.0)

    for module in (depths, history, shorter):
        monkeypatch.setattr(module, "run", run)
    return plans


SCENARIO = """\
seed: 5
chaos_seconds: 4.0
strikes:
- {strike: crash, at: 1.0, process: a}
- {strike: pause, at: 2.0, process: b, seconds: 1.0}
"""

REFUSED = {
    "a trace of many": (["--trace"], "--trace needs --seed or --scenario"),
    "many of one": (["--seed", "1", "--jobs", "2"], "--jobs is for many histories"),
    "two histories": (["--seed", "1", "--scenario", "x.yaml"], "exclude each other"),
    "no end and an end": (["--keep-going", "--stop-at", "2"], "exclude each other"),
    "a file for nothing": (["--seed", "1", "--output", "x.yaml"], "--output needs --shrink"),
    "figures of what is sought": (["--seed", "1", "--shrink", "--json"], "--shrink and --json exclude each other"),
    "a depth beside the one in the file": (["--scenario", "x.yaml", "--depth", "stack"], "a scenario file says itself"),
    "a file in no directory": (["--seed", "1", "--shrink", "--output", "none/x.yaml"], "--output: none/x.yaml cannot"),
    "a trace of what is sought": (["--seed", "1", "--shrink", "--trace"], "shrink first"),
    "a rule that is none": (["--seed", "1", "--break", "claim-retire"], "did you mean claim-retired?"),
    "a rule of the other depth": (["--depth", "stack", "--break", "claim-retired"], "at protocol depth only"),
    "a depth that is none": (["--depth", "deep"], "'deep' is not one of"),
    "a seed below nothing": (["--seed", "-1"], "not in the range"),
}


@pytest.mark.parametrize(("arguments", "why"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_go_together_is_refused(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str], played: list[Plan]
) -> None:
    outcome = told(capsys, *arguments)

    assert outcome.code == 2
    assert why in " ".join(outcome.err.split())
    assert played == []


def test_the_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = told(capsys, "--break", "list")

    assert outcome.code == 0
    assert any(line.startswith("claim-retired ") for line in outcome.out.splitlines())


def test_a_seed_is_played_and_told(capsys: pytest.CaptureFixture[str], played: list[Plan]) -> None:
    outcome = told(capsys, "--seed", "5")

    assert [plan.seed for plan in played] == [5]
    assert outcome.out.splitlines()[-1].endswith("s after the healing") or outcome.code == 1


def test_a_scenario_is_traced_after_its_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], played: list[Plan]
) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(SCENARIO)
    outcome = told(capsys, "--scenario", str(file), "--trace")

    assert outcome.code == 1
    lines = outcome.out.splitlines()
    assert "# - {strike: pause, at: 2.0, process: b, seconds: 1.0}" in lines
    assert lines[-2:] == ["    0.500  a/1 starts", "    2.000  I1 is broken: two act"]


def test_the_outcome_is_one_object_on_standard_output(capsys: pytest.CaptureFixture[str], played: list[Plan]) -> None:
    outcome = told(capsys, "--seed", "5", "--json")

    assert json.loads(outcome.out)["seed"] == 5
    assert outcome.err


def test_a_failing_history_is_shrunk_into_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], played: list[Plan]
) -> None:
    file, found = tmp_path / "one.yaml", tmp_path / "two.yaml"
    file.write_text(SCENARIO)
    outcome = told(capsys, "--scenario", str(file), "--shrink", "--output", str(found))

    assert outcome.code == 1
    assert [type(each) for each in read(found).strikes] == [Crash]
    assert outcome.out.splitlines()[-2:] == [
        f"2 strikes became 1, in {found}",
        f"  replay: fleet sim --scenario {found} --trace",
    ]
    assert found.read_text().startswith("# I1 is broken at 2.000 s: two act\nseed: ")


def test_the_scenario_that_is_shrunk_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], played: list[Plan]
) -> None:
    file = tmp_path / "seed-5.yaml"
    file.write_text(SCENARIO)
    told(capsys, "--scenario", str(file), "--shrink")

    assert file.read_text() == SCENARIO
    assert len(read(tmp_path / "seed-5-shorter.yaml").strikes) == 1


def test_ctrl_c_ends_the_search_with_the_shortest_that_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], played: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, found = tmp_path / "one.yaml", tmp_path / "two.yaml"
    file.write_text(SCENARIO)
    run = depths.run

    def impatient(plan: Plan) -> Outcome:
        if any([type(each) for each in other.strikes] == [Crash] for other in played):
            raise KeyboardInterrupt
        return run(plan)

    monkeypatch.setattr(shorter, "run", impatient)
    outcome = told(capsys, "--scenario", str(file), "--shrink", "--output", str(found))

    assert outcome.code == EXIT_INTERRUPTED
    assert [type(each) for each in read(found).strikes] == [Crash]


def test_a_history_that_breaks_nothing_cannot_be_shrunk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], played: list[Plan]
) -> None:
    file, found = tmp_path / "one.yaml", tmp_path / "two.yaml"
    file.write_text("seed: 5\n")
    outcome = told(capsys, "--scenario", str(file), "--shrink", "--output", str(found))

    assert (outcome.code, outcome.out) == (0, "nothing was broken: there is nothing to shrink\n")
    assert not found.exists()


def test_a_scenario_that_is_not_there_is_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from fleet import cli

    assert cli.main(["sim", "--scenario", str(tmp_path / "none.yaml")]) == 2
    assert capsys.readouterr().err.startswith("fleet: cannot read the scenario ")


def test_fresh_seeds_are_drawn_where_none_is_named() -> None:
    def asked(**given: object) -> Asked:
        nothing: dict[str, object] = dict.fromkeys(Asked.__dataclass_fields__)
        nothing |= {"depth": "protocol", "broken_rule": "", "keep_going": False}
        return Asked(**(nothing | given))  # type: ignore[arg-type]  # names and values of options

    drawn = {asked().campaign().first_seed for _ in range(5)}
    assert len(drawn) == 5
    assert max(drawn) < LARGEST_FRESH
    assert asked(first_seed=0).campaign().first_seed == 0
    assert asked().campaign().seeds == 1000
    assert asked(seconds=3.0).campaign().seeds is None
    assert asked(seeds=1, jobs=4).campaign().jobs == 1
    assert asked(keep_going=True).campaign().stop_at is None


def test_logs_of_simulated_processes_are_off_only_while_they_run() -> None:
    before = logging.root.manager.disable
    with history.quiet_logs():
        assert not logging.getLogger("fleet").isEnabledFor(logging.CRITICAL)
    assert logging.root.manager.disable == before


def test_a_reader_that_goes_away_does_not_end_the_history() -> None:
    shown: list[str] = []

    def show(text: str) -> None:
        if len(shown) == 2:
            raise BrokenPipeError
        shown.append(text)

    pages = history.Pages(show)
    for text in "abcd":
        pages.put(text)

    assert shown == ["a", "b"]
