"""The page as text: what a browser does with it is shown in tests/browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources

import pytest

from chaos.reports import drawing
from chaos.reports.markdown import code, markdown_of, plain
from chaos.reports.markup import Markup, element, embedded_json, text
from chaos.reports.page import page_of
from chaos.reports.story import Band
from chaos.reports.timeline import LANES, facts, laned
from tests.unit.chaos.reports.recorded import failing_story

HOSTILE = "</script><img src=x onerror=alert(1)>\"'`|@someone #12 [a](javascript:b) \u202e<b>"


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def elements(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Elements()
    parser.feed(page)
    return parser.found


def test_a_page_needs_nothing_but_itself() -> None:
    page = page_of([failing_story()])
    for tag, given in elements(page):
        assert tag not in ("link", "img", "iframe", "object")
        assert not {"src", "srcset", "action"} & given.keys()
        assert str(given.get("href", "#")).startswith("#")
    assert "url(" not in page
    assert "@import" not in page


def test_what_somebody_wrote_is_text_wherever_it_stands() -> None:
    harmless, hostile = (page_of([failing_story(text=each, title=each)]) for each in ("harmless", HOSTILE))
    assert [tag for tag, _ in elements(hostile)] == [tag for tag, _ in elements(harmless)]
    assert not any(name.startswith("on") for _, given in elements(hostile) for name in given)
    assert "\u202e" not in hostile


def test_only_the_scripts_own_digest_may_run() -> None:
    page = page_of([failing_story()])
    script = resources.files("chaos").joinpath("reports", "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page


def test_several_experiments_have_an_index_on_top() -> None:
    page = page_of([failing_story(), failing_story(4)])
    links = [str(given["href"]) for tag, given in elements(page) if tag == "a"]
    assert [each for each in links if each.startswith("#run")] == ["#run-1", "#run-2"]
    assert [given["id"] for tag, given in elements(page) if tag == "article"] == ["run-1", "run-2"]


def test_three_hundred_shards_make_a_page_of_a_few_hundred_kilobytes() -> None:
    page = page_of([failing_story(300)])
    assert len(page) < 300_000
    drawn = [
        given for tag, given in elements(page) if tag == "svg" and str(given.get("class", "")).startswith("shards")
    ]
    assert int(str(drawn[0]["data-height"])) <= 900


def test_data_for_the_script_cannot_end_its_element() -> None:
    embedded = embedded_json({"a": "</script><!--\u2028"})
    assert "<" not in embedded
    assert "\u2028" not in embedded
    assert json.loads(embedded) == {"a": "</script><!--\u2028"}


def test_text_is_escaped_and_markup_is_not_twice() -> None:
    assert text('<a b="c">&') == "&lt;a b=&quot;c&quot;&gt;&amp;"
    assert element("p", element("b", "<"), "&", data_x='"') == '<p data-x="&quot;"><b>&lt;</b>&amp;</p>'
    assert isinstance(element("p"), Markup)


def test_facts_tell_every_phase_with_who_held_it() -> None:
    told = facts(failing_story())
    rows = json.loads(json.dumps(told))["rows"]
    assert [phase[2] for phase in rows[0]["phases"]] == ["owned", "dead", "opening", "owned"]


def test_bands_that_would_cover_each_other_are_in_lanes() -> None:
    bands = [Band("action", "a long label of an action", index / 10, index / 10) for index in range(30)]
    found = laned(bands, 60.0)
    assert [lane for _, lane, _ in found[:LANES]] == list(range(LANES))
    assert not found[LANES][2]


@pytest.mark.parametrize(("began", "ended", "marks"), [(-1.0, 9.5, 11), (0.0, 3600.0, 13), (-1.0, 0.5, 8)])
def test_an_axis_has_a_dozen_round_marks(began: float, ended: float, marks: int) -> None:
    assert len(drawing.ticks(began, ended)) == marks


def test_a_text_for_a_pull_request_says_the_outcome_first() -> None:
    lines = markdown_of([failing_story()]).splitlines()
    assert lines[0] == "## Chaos: 0 of 1 experiment held"
    assert "| \N{CROSS MARK} | killed | It did not hold | I1 | 3.00 s |" in lines[4]


def test_nothing_in_a_text_for_a_pull_request_calls_anybody_or_makes_links() -> None:
    made = markdown_of([failing_story(text=HOSTILE, title=HOSTILE)])
    outside = re.sub(r"(`+).*?\1", "", made)
    for calling in ("@someone", "#12", "\u202e"):
        assert calling not in outside
    assert not re.search(r"(?<!\\)(<img|\]\()", outside)
    for line in made.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (5, 7, 8)


def test_code_holds_backticks_and_bars() -> None:
    assert code("a`b|c") == "``a`b\\|c``"
    assert code("`a") == "`` `a ``"
    assert plain("a\nb  c_d") == "a b c\\_d"
