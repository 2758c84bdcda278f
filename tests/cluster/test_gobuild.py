"""Building once per set of inputs, with a toy in place of Kubernetes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cluster.gobuild import BuildFailed, GoProgram

TOY = 'package main\n\nfunc main() { println("toy") }\n'


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GoProgram:
    directory = tmp_path / "source"
    directory.mkdir()
    (directory / "main.go").write_text(TOY)
    (directory / "go.mod").write_text("module toy\n\ngo 1.26.0\n")
    (directory / "go.sum").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return GoProgram("toy", "toys", directory, ("main.go", "go.mod", "go.sum"), "building a toy")


def test_the_binary_is_built_once_and_found_again(toy: GoProgram) -> None:
    said: list[str] = []

    first = toy.ensure(said.append)
    told = len(said)
    second = toy.ensure(said.append)

    assert first == second
    assert (told, len(said)) == (2, 2)
    assert subprocess.run([first], check=True, capture_output=True).stderr == b"toy\n"


def test_changed_sources_make_another_binary(toy: GoProgram) -> None:
    first = toy.ensure(print)
    (toy.source / "main.go").write_text(TOY.replace("toy", "other"))

    second = toy.ensure(print)

    assert first != second
    assert first.exists()


def test_a_build_that_fails_says_why_and_leaves_nothing_that_looks_built(toy: GoProgram) -> None:
    (toy.source / "main.go").write_text("package main\n\nfunc main() { nonsense }\n")

    with pytest.raises(BuildFailed, match="undefined: nonsense"):
        toy.ensure(print)

    assert not list(toy.directory.rglob("toy"))


def test_a_machine_without_go_is_told_what_to_install(toy: GoProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(BuildFailed, match=r"install Go 1\.26"):
        toy.ensure(print)
