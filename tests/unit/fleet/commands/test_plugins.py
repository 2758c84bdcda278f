from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import click
import pytest

from fleet import cli
from fleet.commands.plugins import GROUP

ROOT = Path(__file__).parents[4]

MODULE = """
import click

@click.command(short_help="Says hello.")
@click.option("--name", default="you")
def hello(name: str) -> int:
    click.echo(f"hello {name}")
    return 3

thing = 5
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of packages, as pip fills it: each with what it says about itself."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "greeting.py").write_text(MODULE)
    yield tmp_path
    sys.modules.pop("greeting", None)


def add(directory: Path, package: str, entry_point: str) -> None:
    about = directory / f"{package}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\n{entry_point}\n")


def test_a_package_adds_a_command(install: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(install, "greeting", "hello = greeting:hello")

    assert cli.main(["hello", "--name", "world"]) == 3
    assert capsys.readouterr().out == "hello world\n"


def test_the_list_of_commands_names_it_without_an_import(install: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(install, "greeting", "hello = greeting:hello")
    add(install, "no-such", "broken = no_such_module:command")

    assert cli.main(["--help"]) == 0
    shown = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "hello Comes with greeting (greeting)." in shown
    assert "broken Comes with no-such (no_such_module)." in shown
    assert "version Print the version." in shown
    assert "greeting" not in sys.modules


BROKEN = {
    "its module is not there": (
        "x = no_such_module:command",
        "(ModuleNotFoundError: No module named 'no_such_module')",
    ),
    "its module lacks it": ("x = greeting:goodbye", "(AttributeError: module 'greeting' has no attribute 'goodbye')"),
    "it is no command": ("x = greeting:thing", "is of type int, not click.Command"),
}


@pytest.mark.parametrize(("entry_point", "why"), BROKEN.values(), ids=BROKEN)
def test_a_broken_package_is_named_in_one_sentence(
    entry_point: str, why: str, install: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(install, "greeting", entry_point)

    assert cli.main(["x"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"fleet: the command x: {entry_point[4:]}, from the package greeting, ")
    assert why in told
    assert told.count("\n") == 1


def test_two_packages_with_one_command_are_named(install: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(install, "greeting", "hello = greeting:hello")
    add(install, "salute", "hello = greeting:hello")

    assert cli.main(["hello"]) == 2
    assert "the command hello: greeting and salute both add it; uninstall one of them" in capsys.readouterr().err


def test_the_commands_of_fleet_come_first(install: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(install, "greeting", "version = greeting:hello")

    assert cli.main(["version"]) == 0
    assert capsys.readouterr().out.startswith("fleet ")


def test_a_command_that_nobody_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["simm"]) == 2
    assert "simm" in capsys.readouterr().err


def test_the_simulation_is_a_command_of_this_package() -> None:
    """Fails after a change of the entry points until `make setup` has renewed what pip knows."""
    points = metadata.entry_points(group=GROUP, name="sim")

    assert [point.value for point in points] == ["chaos.simulation.command.sim:sim"]


def test_help_of_fleet_imports_no_chaos() -> None:
    code = (
        "import sys; from fleet.cli import main; main(['--help']);"
        "print([name for name in sys.modules if name.partition('.')[0] == 'chaos'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)

    assert done.stdout.splitlines()[-1] == "[]"
    assert any(line.split()[:1] == ["sim"] for line in done.stdout.splitlines())


def test_an_entry_point_is_a_click_command() -> None:
    (point,) = metadata.entry_points(group=GROUP, name="sim")

    assert isinstance(point.load(), click.Command)
