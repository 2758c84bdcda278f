"""One file of HTML about one or several experiments, which needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from chaos.reports import said, tables
from chaos.reports.markup import Markup, element, joined
from chaos.reports.story import Story
from chaos.reports.timeline import timeline
from fleet import __version__

_STYLE, _SCRIPT = "page.css", "page.js"


def page_of(stories: Sequence[Story]) -> str:
    """In their order. An index stands on top where there are several."""
    style, script = _file(_STYLE), _file(_SCRIPT)
    # Nothing is loaded from anywhere, and only this script runs, whatever an experiment or an object is called.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src '{_digest(script)}'; base-uri 'none'"
    head = element(
        "head",
        Markup('<meta charset="utf-8"/>'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}"/>'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1"/>'),
        Markup('<meta name="color-scheme" content="light dark"/>'),
        element("title", _title(stories)),
        Markup(f"<style>{style}</style>"),
    )
    sections = [_section(story, number) for number, story in enumerate(stories, start=1)]
    body = element(
        "body",
        _header(stories),
        _index(stories) if len(stories) > 1 else "",
        element("main", *sections),
        element("footer", f"Made by fleet {__version__} from journals. Times are seconds since the start."),
        Markup(f"<script>{script}</script>"),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _file(name: str) -> str:
    return resources.files("chaos").joinpath("reports", name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _title(stories: Sequence[Story]) -> str:
    if len(stories) == 1:
        return f"{stories[0].name}: {stories[0].words.outcome}"
    return f"Chaos: {_held(stories)}"


def _held(stories: Sequence[Story]) -> str:
    return f"{sum(each.passed for each in stories)} of {said.counted(len(stories), 'experiment')} held"


def verdict_class(story: Story) -> str:
    """good, bad, or unshown."""
    if story.passed:
        return "good"
    return "bad" if story.status in ("failed", "completed") else "unshown"


def _header(stories: Sequence[Story]) -> Markup:
    first = stories[0] if stories else None
    when = f"{first.start[:19].replace('T', ' ')} UTC, target {first.target or 'unknown'}" if first else ""
    return element(
        "header",
        element("h1", "Chaos report"),
        element("p", _held(stories), class_="score"),
        element("p", when, class_="quiet"),
    )


def _index(stories: Sequence[Story]) -> Markup:
    rows = [
        (
            element("a", story.name, href=f"#run-{number}"),
            element("span", story.words.outcome, class_="outcome"),
            " ".join(each.id for each in story.broken) or "\N{EN DASH}",
            said.seconds(story.longest_lapse_seconds) if story.lapses else "none",
            said.seconds(story.load.p99),
            said.seconds(story.load.worst.p99 if story.load.worst else None),
            said.seconds(story.seconds),
            f"without {story.without}" if story.without else story.title,
        )
        for number, story in enumerate(stories, start=1)
    ]
    heads = ("Experiment", "Outcome", "Broken", "Longest gap", "p99", "Worst p99", "Took", "What must hold")
    classes = [verdict_class(story) for story in stories]
    return element("nav", tables.table(heads, rows, "index", classes), aria_label="Experiments")


def _section(story: Story, number: int) -> Markup:
    return element(
        "article",
        element(
            "h2",
            element("span", story.words.outcome, class_="badge"),
            " ",
            element("span", story.name, class_="of"),
        ),
        element("p", story.title, class_="title"),
        _lede(story, number),
        timeline(story, number),
        tables.lapses(story, number),
        tables.bands(story, number),
        tables.probes(story),
        tables.invariants(story, number),
        class_=verdict_class(story),
        id=f"run-{number}",
    )


def _lede(story: Story, number: int) -> Markup:
    """In words, for somebody who did not write the experiment; and where to look."""
    words = story.words
    came = element("ul", *(element("li", each) for each in words.came)) if len(words.came) > 1 else joined(words.came)
    parts = [
        ("What was done", words.done),
        ("What should have held", f"{words.wanted}{f' Promised instead: {story.promises}' if story.promises else ''}"),
        ("What came of it", came),
        ("Where to look", _first_places(story, number)),
        ("Why it was tried", story.description),
    ]
    return element("dl", *(joined([element("dt", name), element("dd", said_)]) for name, said_ in parts if said_))


def _first_places(story: Story, number: int) -> Markup:
    """The first finding of each kind, and the longest gap, as links into the timeline."""
    first = {place.id: place for place in reversed(story.places)}
    links = [
        joined([f"{place.id} at ", tables.moment(place.at, place.at - 0.5, place.at + 0.5, number)])
        for place in sorted(first.values(), key=lambda each: each.at)
    ]
    for lapse in story.lapses[:1]:
        at, until = lapse.began, lapse.began + lapse.seconds
        links.append(joined(["the longest gap at ", tables.moment(at, at, until, number, lapse.range)]))
    return joined(part for index, link in enumerate(links) for part in ([", "] if index else []) + [link])
