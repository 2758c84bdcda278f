"""The benchmark replaces the figures of its document and draws a chart of each quantity."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.runtime.comparison import Comparison
from benchmarks.runtime.report import BEGIN, END, slug, write
from benchmarks.runtime.versions import module, versions

ROWS = [
    Comparison("cold sync, CPU", 2.0, "s", "U", 26.0, 0.08, "ratio", 0.1),
    Comparison("cold sync, CPU", 2.0, "s", "R", 8.0, 0.25, "ratio", 0.33),
    Comparison("reads", 1.0),
]
VERSIONS = {"shardfleet": "0.1.0"}


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "benchmarks.md"
    path.write_text(f"# Figures\n\nBefore.\n{BEGIN}\nold\n{END}\n\nAfter.\n")
    return path


def test_the_figures_are_replaced_and_what_people_wrote_stays(document: Path) -> None:
    write(document, ROWS, VERSIONS, "Measured today.")
    text = document.read_text()

    assert text.startswith("# Figures\n\nBefore.\n")
    assert text.endswith(f"{END}\n\nAfter.\n")
    assert "\nold\n" not in text
    assert "Measured today.\n\nVersions: shardfleet 0.1.0." in text
    assert "| cold sync, CPU | 2 s | R | 8 s | 0.25 | <= 0.33 x | ok |" in text


def test_a_quantity_with_peers_gets_one_chart(document: Path) -> None:
    write(document, ROWS, VERSIONS, "")

    assert [path.name for path in (document.parent / "benchmarks").iterdir()] == ["cold-sync-cpu.svg"]
    assert "![cold sync, CPU](benchmarks/cold-sync-cpu.svg)" in document.read_text()


def test_the_strictest_target_is_drawn(document: Path) -> None:
    write(document, ROWS, VERSIONS, "")
    drawn = (document.parent / "benchmarks" / "cold-sync-cpu.svg").read_text()

    assert drawn.count("<line") == 1


def test_writing_twice_changes_nothing(document: Path) -> None:
    write(document, ROWS, VERSIONS, "")
    once = document.read_text()
    write(document, ROWS, VERSIONS, "")

    assert document.read_text() == once


def test_a_document_without_marks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.md"
    path.write_text("nothing")
    with pytest.raises(ValueError, match="has no <!-- figures -->"):
        write(path, ROWS, VERSIONS, "")


def test_names_of_charts_are_plain() -> None:
    assert slug("100,000 objects: CPU") == "100-000-objects-cpu"


def test_versions_come_from_where_they_are_pinned() -> None:
    found = versions()

    assert next(iter(found)) == "shardfleet"
    assert all(found.values())
    with pytest.raises(ValueError, match="no version of k8s"):
        module("require other v1.0.0", "k8s.io/kubernetes")
