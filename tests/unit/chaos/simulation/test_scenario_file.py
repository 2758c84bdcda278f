"""A scenario file reads back as the plan that it was written from; what is wrong in one is named with its field."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.simulation.plan import Plan, Shape
from chaos.simulation.scenario_file import parse, read, text_of
from chaos.simulation.strikes import Crash, Partition, Storm
from chaos.simulation.swarm import draw
from shards.errors import ConfigError


@pytest.mark.parametrize("depth", ["protocol", "stack"])
def test_what_was_written_reads_back_as_it_was(depth: str) -> None:
    for seed in range(150):
        plan = draw(seed, depth)  # type: ignore[arg-type]
        assert parse(text_of(plan)) == plan


def test_a_file_has_one_line_a_strike_and_leaves_nothing_to_defaults() -> None:
    plan = Plan(
        seed=7,
        shape=Shape(workers=2),
        strikes=(
            Crash(at=1.0, process="a", back_after=None),
            Partition(at=2.5, process="agent-1", way="both", seconds=1),
        ),
    )
    assert text_of(plan) == (
        "seed: 7\n"
        "depth: protocol\n"
        "shape: {workers: 2, agents: 2, shards: 4, replicas: 2, objects: 8, lease_seconds: 2.0,"
        " standby_deadline_seconds: 6.0}\n"
        "chaos_seconds: 6.0\n"
        "strikes:\n"
        "- {strike: crash, at: 1.0, process: a, back_after: null, after_write: false, reaped: true}\n"
        "- {strike: partition, at: 2.5, process: agent-1, way: both, seconds: 1}\n"
    )


def test_people_leave_out_what_is_default_and_write_comments() -> None:
    assert parse("# found nothing\nseed: 7\n") == Plan(seed=7)
    assert parse("seed: 7\nstrikes:\n- {strike: crash, at: 1, process: b}\n").strikes == (Crash(at=1.0, process="b"),)


def test_workers_of_a_storm_and_twins_can_be_struck() -> None:
    plan = parse(
        "seed: 7\nshape: {workers: 1}\nstrikes:\n"
        "- {strike: storm, at: 1, workers: 2, seconds: 1}\n"
        "- {strike: crash, at: 2, process: c}\n"
        "- {strike: crash, at: 2, process: a-twin}\n"
    )
    assert plan.strikes[0] == Storm(at=1.0, workers=2, seconds=1.0)


@pytest.mark.parametrize(
    ("text", "path", "what"),
    [
        ("", "", "not a mapping of fields"),
        ("{", "", "not valid YAML in line"),
        ("seed: 1\nseed: 2", "", "the field 'seed' is given twice"),
        ("seed: 2001-13-01", "", "put it in quotes"),
        ("depth: protocol", "seed", "this field is required"),
        ("seed: x", "seed", "expected `int`"),
        ("seed: -1", "seed", ">= 0"),
        ("seed: 1\ndepth: protocoll", "depth", "did you mean protocol?"),
        ("seed: 1\nshapes: {}", "shapes", "did you mean shape?"),
        ("seed: 1\nshape: {workers: 0}", "shape.workers", ">= 1"),
        ("seed: 1\nshape: {worker: 1}", "shape.worker", "did you mean workers?"),
        ("seed: 1\n3: 3", "", "the name 3 is not text"),
        ("seed: 1\nchaos_seconds: .inf", "chaos_seconds", "<= 3600"),
        ("seed: 1\nstrikes: {}", "strikes", "not a list"),
        ("seed: 1\nstrikes: [3]", "strikes[0]", "not a mapping of fields"),
        ("seed: 1\nstrikes: [{at: 1}]", "strikes[0].strike", "this field is required"),
        ("seed: 1\nstrikes: [{strike: crush}]", "strikes[0].strike", "did you mean crash?"),
        ("seed: 1\nstrikes: [{strike: crash}]", "strikes[0].at", "this field is required"),
        ("seed: 1\nstrikes: [{strike: crash, at: .nan, process: a}]", "strikes[0].at", ">= 0"),
        ("seed: 1\nstrikes: [{strike: crash, at: 1, process: a, after: 1}]", "strikes[0].after", "no such field"),
        ("seed: 1\nstrikes: [{strike: crash, at: 1, process: x}]", "strikes[0].process", "nobody here"),
        (
            "seed: 1\nstrikes: [{strike: partition, at: 1, process: a, seconds: 1, way: up}]",
            "strikes[0].way",
            "write both, to_server, to_client",
        ),
        (
            "seed: 1\ndepth: stack\nstrikes: [{strike: useless, at: 1, process: a}]",
            "strikes[0].strike",
            "'useless' is not played there; write depth: protocol",
        ),
        (
            "seed: 1\nstrikes: [{strike: stale-replica, at: 1, replica: 2, seconds: 1, lag_seconds: 1}]",
            "strikes[0].replica",
            "write 0 to 1",
        ),
        (
            "seed: 1\nchaos_seconds: 4\nstrikes: [{strike: leave, at: 4, process: a}]",
            "strikes[0].at",
            "write less than chaos_seconds, which is 4",
        ),
        (
            "seed: 1\nshape: {workers: 1}\nstrikes: [{strike: leave, at: 1, process: a}]",
            "strikes[0].back_after",
            "no worker would be left",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_field(text: str, path: str, what: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse(text)
    assert raised.value.path == path
    assert what in str(raised.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the scenario .*missing\.yaml"):
        read(tmp_path / "missing.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"seed: \xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read(tmp_path / "latin.yaml")
    (tmp_path / "wrong.yaml").write_text("seed: 1\nshapes: {}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"wrong\.yaml: shapes: there is no such field"):
        read(tmp_path / "wrong.yaml")


def test_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(text_of(draw(3)), encoding="utf-8")
    assert read(file) == draw(3)
