"""An experiment in sentences, for somebody who did not write it: what was done, what should have held, what did not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chaos.reports import said
from chaos.reports.bands import answer_of
from chaos.reports.story import Lapse, Load, Place, Question, Words
from chaos.running.journal import ActivityRun, Journal
from fleet.devcluster.evidence.verdict import Judgement, Verdict

_TARGETS = {
    "dev": "on the embedded API server",
    "real": "on a real kube-apiserver",
    "kube": "in a cluster",
}
_ACTIONS_TOLD = 12
_BESIDE = frozenset({"pid", "number", "fault"})
"""Of what actions return: for the table, not for sentences."""


def outcome_of(journal: Journal) -> str:
    """A few words."""
    if journal.status == "completed" and journal.trouble:
        return "It held as far as could be seen, and was not judged to the end"
    if journal.status == "completed":
        return "It held" if journal.passed else "It held, but not everything was put back"
    if journal.status == "failed":
        return "It did not hold" if journal.deviated else "It did not hold even before anything was done"
    return "Nothing was shown" if journal.status == "aborted" else "It was stopped"


def words_of(
    journal: Journal,
    verdict: Verdict,
    *,
    questions: Sequence[Question],
    places: Sequence[Place],
    lapses: Sequence[Lapse],
    load: Load,
    members: int,
    ranges: int,
    excused: Sequence[str],
) -> Words:
    """All of it. lapses: longest first."""
    came = [
        *_troubles(journal, questions),
        *_refuted(verdict, places, excused),
        *_acts(verdict),
        *_figures(journal, lapses, load, ranges),
    ]
    return Words(outcome_of(journal), _done(journal, members, ranges), _wanted(journal), tuple(came))


def _done(journal: Journal, members: int, ranges: int) -> str:
    if journal.trouble and journal.steady_states.before is None:
        return "Nothing was done."
    fleet = f"A fleet of {said.counted(members, 'worker')} and {said.counted(ranges, 'shard')} ran"
    rule = f", built without the rule {quoted(journal.without)} on purpose" if journal.without else ""
    actions = [run for run in journal.run if run.type == "action"]
    if not actions:
        return f"{fleet} {_TARGETS.get(journal.target, '')}{rule}. Nothing was done to it."
    told = [_action(run) for run in actions[:_ACTIONS_TOLD]]
    more = len(actions) - len(told)
    rest = f"; and {said.counted(more, 'more action')}" if more else ""
    where = _TARGETS.get(journal.target, "")
    return f"{fleet}{f' {where}' if where else ''}{rule}. What was done: {'; '.join(told)}{rest}."


def _action(run: ActivityRun) -> str:
    answer = run.exception
    if not answer and isinstance(run.output, dict):
        plain = {name: value for name, value in run.output.items() if isinstance(value, (str, int, float, bool))}
        answer = said.said({name: value for name, value in plain.items() if name not in _BESIDE})
    answer = said.shortened(answer, 120)
    return f"{quoted(run.name)}{f' ({answer})' if answer else ''}"


def _wanted(journal: Journal) -> str:
    hypothesis = journal.experiment.get("steady-state-hypothesis")
    title = str(hypothesis.get("title", "")) if isinstance(hypothesis, dict) else ""
    text = title or "the steady state"
    return f"{text[0].upper()}{text[1:].rstrip('.')}: before anything was done, and after."


def _troubles(journal: Journal, questions: Sequence[Question]) -> Iterator[str]:
    """By the runner."""
    if journal.trouble:
        yield f"{journal.trouble[0].upper()}{journal.trouble[1:]}."
    if journal.status == "aborted":
        failed = journal.run[-1] if journal.run else None
        if failed is not None:
            yield (f"The action {quoted(failed.name)} failed, so that nothing was shown either way: {failed.exception}")
    elif journal.status == "interrupted":
        yield f"Somebody told it to stop{'; what it had done was undone' if journal.put_back else ''}."
    elif journal.status == "failed":
        yield _missed(journal, questions)
    elif journal.status == "completed":
        yield f"All of it held: {said.counted(len(questions), 'probe')} before, and the same after."
    for run in journal.rollbacks:
        if run.status == "failed":
            yield f"{quoted(run.name)} could not be undone: {run.exception}"
    for name in journal.left:
        yield f"{quoted(name)} was not carried out, which would have put something back: it was told to stop twice."


def _missed(journal: Journal, questions: Sequence[Question]) -> str:
    asked = [(each, each.after if journal.deviated else each.before) for each in questions]
    missed = [(each, run) for each, run in asked if run is not None and not run.tolerance_met]
    parts = [
        f"{quoted(each.name)} was {said.shortened(answer_of(run) or said.said(run.output), 200)},"
        f" and had to be {run.tolerance}"
        for each, run in missed
    ]
    when = "after the method, though it did before" if journal.deviated else "even before anything was done"
    return f"{len(missed)} of {said.counted(len(questions), 'probe')} did not hold {when}: {'; '.join(parts)}."


def _refuted(verdict: Verdict, places: Sequence[Place], excused: Sequence[str]) -> Iterator[str]:
    """By the judge."""
    for judgement in verdict.broken_invariants:
        first = next((each for each in places if each.id == judgement.id), None)
        taken = " (which the experiment takes away, and does not hold against the fleet)"
        yield (
            f"The recording refutes {judgement.id}, \N{LEFT DOUBLE QUOTATION MARK}{judgement.sentence}"
            f"\N{RIGHT DOUBLE QUOTATION MARK}, {said.times(judgement.broken)}"
            f"{taken if judgement.id in excused else ''}{_first(judgement, first)}"
        )


def _first(judgement: Judgement, place: Place | None) -> str:
    if place is None:
        return "."
    where = f", {place.where}" if place.where else ""
    begin = "first at" if judgement.broken > 1 else "at"
    return f", {begin} {said.at(place.at)}{where}: {place.what}."


def _figures(journal: Journal, lapses: Sequence[Lapse], load: Load, ranges: int) -> Iterator[str]:
    if lapses:
        worst = lapses[0]
        lasting = " and nobody did until the end" if worst.ended is None else ""
        yield (
            f"The longest time in which nobody worked on a shard was {said.seconds(worst.seconds)}:"
            f" shard {worst.short} from {said.at(worst.began)} on ({worst.why}){lasting}."
        )
    elif journal.status != "interrupted" and ranges:
        yield "Every shard had somebody at work on it all the time."
    if load.reconciles:
        yield (
            f"{said.counted(load.reconciles, 'reconcile')} ended, half of them within {said.seconds(load.p50)} of the"
            f" moment at which they could start, 99 % within {said.seconds(load.p99)}, the slowest after"
            f" {said.seconds(load.longest)}.{_worst(load)}"
        )


def _worst(load: Load) -> str:
    if load.worst is None:
        return ""
    return (
        f" Worst were the {said.seconds(load.bucket_seconds)} from {said.at(load.worst.at)} on: 99 % within"
        f" {said.seconds(load.worst.p99)}."
    )


def _acts(verdict: Verdict) -> Iterator[str]:
    """Whether two acted on one key, by the recording alone."""
    if not verdict.fleet_writes:
        return
    counts = (
        (verdict.overlap_violations, "write or claim beside the owner", "writes or claims beside the owner"),
        (verdict.writes_after_release, "write after a release", "writes after a release"),
        (verdict.duplicate_child_posts, "child posted twice", "children posted twice"),
        (verdict.duplicate_status_writes, "status written twice", "statuses written twice"),
    )
    found = said.listed(said.counted(number, one, many) for number, one, many in counts if number)
    writes = said.counted(verdict.fleet_writes, "write")
    held = f"{said.counted(verdict.takeovers, 'takeover')} without a release"
    yield f"The fleet made {writes} and {held}: {found or 'no double act, no write by who did not own the key'}."


def quoted(text: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{text}\N{RIGHT DOUBLE QUOTATION MARK}"
