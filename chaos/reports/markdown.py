"""A text for a pull request about one or several experiments. GitHub's Markdown; other people's text stays text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from chaos.reports import said
from chaos.reports.bands import answer_of
from chaos.reports.story import Story
from fleet.devcluster.evidence.verdict import BROKEN, HELD

_SPECIAL = frozenset("\\`*_{}[]<>|~&$")
_CALLING = frozenset("@#")
"""Begin mentions and links to issues, even in plain text: a space without width stands behind each."""
_APART = "\N{ZERO WIDTH SPACE}"


def markdown_of(stories: Sequence[Story]) -> str:
    """In their order."""
    held = sum(each.passed for each in stories)
    lines = [f"## Chaos: {held} of {said.counted(len(stories), 'experiment')} held", ""]
    lines += _table(
        ("", "Experiment", "Outcome", "Broken", "Longest gap", "p99 of reconciles", "Worst p99"),
        (
            (
                "\N{WHITE HEAVY CHECK MARK}" if each.passed else "\N{CROSS MARK}",
                plain(each.name) + (f", without the rule {code(each.without)}" if each.without else ""),
                plain(each.words.outcome),
                ", ".join(judgement.id for judgement in each.broken) or "none",
                said.seconds(each.longest_lapse_seconds) if each.lapses else "none",
                said.seconds(each.load.p99),
                said.seconds(each.load.worst.p99 if each.load.worst else None),
            )
            for each in stories
        ),
    )
    for story in stories:
        lines += ["", *_section(story)]
    return "\n".join(lines) + "\n"


def _section(story: Story) -> Iterator[str]:
    words = story.words
    yield f"### {plain(story.name)}: {plain(words.outcome)}"
    yield ""
    yield f"*{plain(story.title)}*"
    yield ""
    yield f"**What was done.** {plain(words.done)}"
    yield ""
    yield f"**What should have held.** {plain(words.wanted)}"
    if story.promises:
        yield ""
        yield f"**Promised instead.** {plain(story.promises)}"
    yield ""
    yield "**What came of it.**"
    yield ""
    yield from (f"- {plain(each)}" for each in words.came)
    yield from _details("What had to hold", _questions(story))
    yield from _details("The ten longest gaps", _lapses(story))
    yield from _details(_judged(story), _invariants(story))


def _questions(story: Story) -> Iterator[str]:
    rows = []
    for question in story.questions:
        run = question.after or question.before
        answers = [
            "not asked"
            if each is None
            else f"{'' if each.tolerance_met else '**missed** '}{code(said.shortened(answer_of(each) or 'nothing'))}"
            for each in (question.before, question.after)
        ]
        rows.append((plain(question.name), code(run.tolerance) if run else "", *answers))
    if rows:
        yield from _table(("Probe", "Must be", "Before", "After"), rows)


def _lapses(story: Story) -> Iterator[str]:
    if story.lapses:
        yield from _table(
            ("Shard", "From", "For", "Why", "Whose it was", "Who came"),
            (
                (
                    code(each.short),
                    said.at(each.began),
                    said.seconds(each.seconds) + (" (to the end)" if each.ended is None else ""),
                    plain(each.why),
                    plain(each.before),
                    plain(each.after),
                )
                for each in story.lapses
            ),
        )


def _judged(story: Story) -> str:
    held = sum(each.outcome == HELD for each in story.invariants)
    unsaid = len(story.invariants) - held - len(story.broken)
    return f"Invariants: {held} held, {len(story.broken)} broken, {unsaid} not judged"


def _invariants(story: Story) -> Iterator[str]:
    rows = []
    for each in sorted(story.invariants, key=lambda judgement: judgement.outcome != BROKEN):
        outcome = f"**broken {said.times(each.broken)}**" if each.outcome == BROKEN else each.outcome
        checked = f"{each.checks:,} {each.what}" if each.outcome in (HELD, BROKEN) else each.why
        attacked = " (attacked)" if each.id in story.attacks else ""
        rows.append((each.id, f"{plain(each.sentence)}{attacked}", outcome, plain(checked)))
    if rows:
        yield from _table(("Id", "Promise", "Verdict", "Checked"), rows)


def _details(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield from ("", f"<details><summary>{title}</summary>", "", *found, "", "</details>")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def plain(text: str) -> str:
    """Somebody's text, on one line, where nothing in it means anything."""
    found = []
    for character in " ".join(said.visible(text).split()):
        if character in _SPECIAL:
            found.append(f"\\{character}")
        else:
            found.append(f"{character}{_APART}" if character in _CALLING else character)
    return "".join(found).replace("://", f":{_APART}//").replace("www.", f"www{_APART}.")


def code(text: str) -> str:
    """The same as code, for cells of tables too."""
    line = " ".join(said.visible(text).split()).replace("|", "\\|")
    longest = max((len(run) for run in "".join(each if each == "`" else " " for each in line).split()), default=0)
    fence = "`" * (longest + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}" if line else ""
