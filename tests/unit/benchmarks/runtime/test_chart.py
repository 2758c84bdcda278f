"""A chart says in SVG what the figures are."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from benchmarks.runtime.chart import Bar, bars

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*found: Bar, **more: object) -> ElementTree.Element:
    return ElementTree.fromstring(bars('CPU of a "sync" & more', "s", found, **more))  # type: ignore[arg-type]


def widths(chart: ElementTree.Element) -> list[float]:
    return [float(each.attrib["width"]) for each in chart.iter(f"{SVG}rect") if each.attrib["class"] != "page"]


def test_bars_are_as_long_as_their_values() -> None:
    ours, theirs = widths(drawn(Bar("ours", 1.0, ours=True), Bar("theirs", 4.0)))

    assert theirs == pytest.approx(4 * ours, abs=0.2)


def test_a_target_stands_where_a_bar_of_that_value_would_end() -> None:
    chart = drawn(Bar("ours", 4.0), targets=[("target", 2.0)])
    [line] = chart.iter(f"{SVG}line")
    [bar] = [each for each in chart.iter(f"{SVG}rect") if each.attrib["class"] != "page"]
    middle = float(bar.attrib["x"]) + float(bar.attrib["width"]) / 2

    assert float(line.attrib["x1"]) == pytest.approx(middle, abs=0.2)


def test_texts_are_escaped_and_shown() -> None:
    chart = drawn(Bar("<a>", 1234.5), note="fleet 0.1.0")
    texts = ["".join(each.itertext()) for each in chart.iter(f"{SVG}text")]

    assert texts == ['CPU of a "sync" & more, s', "<a>", "1,234", "fleet 0.1.0"]


def test_nothing_at_all_can_be_drawn() -> None:
    assert widths(drawn(Bar("none", 0.0))) == [1.0]
