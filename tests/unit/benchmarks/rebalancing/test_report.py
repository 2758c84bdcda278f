"""The page of figures."""

from __future__ import annotations

from pathlib import Path

from benchmarks.rebalancing.report import BEGIN, DOCUMENT, END, Section, write
from benchmarks.table import Row


def test_the_figures_are_replaced_and_what_people_wrote_stays(tmp_path: Path) -> None:
    page = tmp_path / "rebalancing.md"
    page.write_text(f"# Moves\n\nBefore.\n{BEGIN}\nold\n{END}\n\nAfter.\n")
    rows = Row("unowned, p50", 40.0, "ms", 100.0), Row("death", None, "s", 1.0), Row("moves", 12, "moves")
    write(page, [Section("handovers", rows)], "Measured today.")
    text = page.read_text()
    assert text.startswith("# Moves\n\nBefore.\n")
    assert text.endswith(f"{END}\n\nAfter.\n")
    assert "\nold\n" not in text
    assert "Measured today.\n\n`handovers`\n" in text
    assert "| unowned, p50 | 40 ms | <= 100 |" in text
    assert "| death | never | <= 1, MISSED |" in text
    assert "| moves | 12 moves |  |" in text


def test_the_page_has_a_place_for_them() -> None:
    text = DOCUMENT.read_text()
    assert BEGIN in text
    assert END in text.partition(BEGIN)[2]
