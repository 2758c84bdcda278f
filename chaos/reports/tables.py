"""The tables below a timeline, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chaos.reports import said
from chaos.reports.bands import answer_of
from chaos.reports.markup import Markup, element, joined
from chaos.reports.story import Lapse, Question, Story
from chaos.running.journal import ActivityRun
from fleet.devcluster.evidence.verdict import BROKEN, HELD, Judgement

_LONG = 40
"""Rows above which a table has a window of its own."""
_MARKS = {HELD: "\N{HEAVY CHECK MARK} held", BROKEN: "\N{HEAVY BALLOT X} broken"}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], kind: str, classes: Sequence[str] = ()) -> Markup:
    """On a narrow page every cell bears its head. classes: of the rows."""
    head = element("tr", *(element("th", each, scope="col") for each in heads))
    body = []
    for index, row in enumerate(rows):
        cells = [element("td", cell, data_head=name) for name, cell in zip(heads, row, strict=True)]
        body.append(element("tr", *cells, class_=classes[index] if classes else None))
    return element("table", element("thead", head), element("tbody", *body), class_=kind)


def probes(story: Story) -> Markup:
    """What the hypothesis asked, before and after."""
    rows, classes = [], []
    for question in story.questions:
        run = question.after or question.before
        rows.append((question.name, run.tolerance if run else "", _answer(question.before), _answer(question.after)))
        classes.append("" if _held(question) else "broken")
    heads = ("Probe", "Must be", "Before", "After")
    return element("section", element("h3", "What had to hold"), table(heads, rows, "probes", classes))


def _held(question: Question) -> bool:
    return all(run is None or run.tolerance_met is not False for run in (question.before, question.after))


def _answer(run: ActivityRun | None) -> Markup:
    if run is None:
        return element("span", "not asked", class_="quiet")
    mark = "\N{HEAVY CHECK MARK}" if run.tolerance_met else "\N{HEAVY BALLOT X}"
    return element("span", f"{mark} {said.shortened(answer_of(run)) or 'nothing'}")


def bands(story: Story, number: int) -> Markup:
    """Everything that was done and that was wrong, by its number on the timeline."""
    rows = [
        (
            str(index),
            moment(band.began, band.began, band.ended, number),
            said.seconds(band.ended - band.began) if band.ended > band.began else "at once",
            joined([element("b", band.label), f" \N{EN DASH} {band.detail}" if band.detail else ""]),
        )
        for index, band in enumerate(story.bands, start=1)
    ]
    classes = [f"{band.kind}{' broken' if band.failed else ''}" for band in story.bands]
    if not rows:
        return Markup("")
    made = table(("No.", "At", "For", "What was done, or was wrong"), rows, "bands", classes)
    if len(rows) > _LONG:
        made = element("div", made, class_="long", tabindex=0, role="region", aria_label="Everything that was done")
    return element("section", element("h3", "What was done, and what was wrong"), made)


def lapses(story: Story, number: int) -> Markup:
    """The longest times in which nobody worked on a shard."""
    title = element("h3", "The ten longest gaps")
    if not story.lapses:
        return element("section", title, element("p", "Every shard had somebody at work on it all the time."))
    rows = [_lapse(each, number) for each in story.lapses]
    note = element(
        "p",
        "A gap is a time in which nobody worked on a shard: held by nobody, or by a process that was dead or stood"
        " still. It ends when a living worker claims the shard; reconciles go on when that one has opened it: that is"
        " what \N{LEFT DOUBLE QUOTATION MARK}until open\N{RIGHT DOUBLE QUOTATION MARK} counts to.",
        class_="quiet",
    )
    heads = ("Shard", "From", "For", "Until open", "Why", "Whose it was", "Who came")
    return element("section", title, table(heads, rows, "lapses"), note)


def _lapse(each: Lapse, number: int) -> tuple[str, ...]:
    lasts = " (to the end)" if each.ended is None else ""
    return (
        each.short,
        moment(each.began, each.began, each.began + each.seconds, number, each.range),
        f"{said.seconds(each.seconds)}{lasts}",
        "\N{EN DASH}" if each.opened is None else said.seconds(each.opened - each.began),
        each.why,
        each.before or "\N{EN DASH}",
        each.after or "\N{EN DASH}",
    )


def invariants(story: Story, number: int) -> Markup:
    """Broken ones first, then those that the experiment is about."""
    ordered = sorted(
        story.invariants, key=lambda each: (each.outcome != BROKEN, each.id not in story.attacks, int(each.id[1:]))
    )
    rows = [(each.id, _sentence(each, story, number), _outcome(each), _checked(each)) for each in ordered]
    classes = [each.outcome.replace(" ", "-") for each in ordered]
    held = sum(each.outcome == HELD for each in story.invariants)
    unsaid = len(story.invariants) - held - len(story.broken)
    missing = f" {said.counted(story.missing, 'line')} of the recording are missing." if story.missing else ""
    counted = (
        f"{held} held, {len(story.broken)} broken, {unsaid} not judged, from"
        f" {said.counted(story.entries, 'recorded request')}.{missing}"
        " What was not judged is never counted as held."
    )
    heads = ("Id", "Promise", "Verdict", "Checked")
    return element(
        "section",
        element("h3", "Invariants"),
        element("p", counted, class_="quiet"),
        table(heads, rows, "invariants", classes),
    )


def _sentence(judgement: Judgement, story: Story, number: int) -> Markup:
    parts: list[str] = [judgement.sentence]
    if judgement.id in story.attacks:
        parts.append(element("em", "attacked", class_="tag"))
    if judgement.id in story.excused:
        parts.append(element("em", "taken away by the experiment", class_="tag"))
    found = [place for place in story.places if place.id == judgement.id]
    if found:
        items = [
            element("li", moment(each.at, each.at - 0.5, each.at + 0.5, number), f" {each.what}", _where(each.where))
            for each in found
        ]
        more = judgement.broken - len(found)
        if more > 0:
            items.append(element("li", f"and {more} more", class_="quiet"))
        parts.append(element("ul", *items, class_="findings"))
    return joined(parts)


def _where(words: str) -> Markup:
    return element("span", f" ({words})", class_="quiet") if words else Markup("")


def _outcome(judgement: Judgement) -> Markup:
    if judgement.outcome == BROKEN:
        return element("b", f"{_MARKS[BROKEN]} {said.times(judgement.broken)}")
    return element("span", _MARKS.get(judgement.outcome, "not judged"))


def _checked(judgement: Judgement) -> str:
    if judgement.outcome in _MARKS:
        return f"{judgement.checks:,} {judgement.what}"
    return judgement.why


def moment(at: float, began: float, ended: float, number: int, covered: str = "") -> Markup:
    """A time that leads to its place on the timeline. covered: the range that is to be shown."""
    return element(
        "a",
        said.at(at),
        href=f"#timeline-{number}",
        class_="goto",
        data_a=round(began, 3),
        data_b=round(ended, 3),
        data_range=covered or None,
    )
