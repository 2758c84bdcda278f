"""Building once per set of inputs, with a toy in place of Kubernetes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cluster import build

TOY = 'package main\n\nfunc main() { println("toy") }\n'


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "source"
    directory.mkdir()
    (directory / "main.go").write_text(TOY)
    (directory / "go.mod").write_text("module toy\n\ngo 1.26.0\n")
    (directory / "go.sum").write_text("")
    monkeypatch.setattr(build, "SOURCE", directory)
    monkeypatch.setattr(build, "cache_directory", lambda: tmp_path / "cache")
    return directory


def test_the_binary_is_built_once_and_found_again(source: Path) -> None:
    said: list[str] = []

    first = build.ensure(said.append)
    told = len(said)
    second = build.ensure(said.append)

    assert first == second
    assert (told, len(said)) == (2, 2)
    assert subprocess.run([first], check=True, capture_output=True).stderr == b"toy\n"


def test_changed_sources_make_another_binary(source: Path) -> None:
    first = build.ensure(print)
    (source / "main.go").write_text(TOY.replace("toy", "other"))

    second = build.ensure(print)

    assert first != second
    assert first.exists()


def test_a_build_that_fails_says_why_and_leaves_nothing_that_looks_built(source: Path) -> None:
    (source / "main.go").write_text("package main\n\nfunc main() { nonsense }\n")

    with pytest.raises(build.BuildFailed, match="undefined: nonsense"):
        build.ensure(print)

    assert not list(build.cache_directory().rglob("kube-cluster"))


def test_a_machine_without_go_is_told_what_to_install(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(build.BuildFailed, match=r"install Go 1\.26"):
        build.ensure(print)
