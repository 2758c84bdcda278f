"""An experiment in sentences that somebody understands who did not write it."""

from __future__ import annotations

from typing import Any

import pytest

from chaos.reports import said
from chaos.reports.story import Story
from chaos.reports.telling import story_of
from chaos.running.journal import Journal, SteadyState
from fleet.devcluster.evidence.verdict import Verdict
from tests.unit.chaos.reports.recorded import asked, covered, failing_story, journal, judgement, ran, span


def story(**more: object) -> Story:
    where = covered(1)[0]
    return story_of(journal(Verdict(timeline={where: [span(where, "a-0@1", 2, -5.0)]}), **more), ())


def test_a_story_says_what_was_done_and_what_should_have_held() -> None:
    words = story().words
    assert words.done == (
        "A fleet of 1 worker and 1 shard ran on the embedded API server. What was done: “kill a worker” (worker a-0)."
    )
    assert words.wanted == "Every key has one owner: before anything was done, and after."
    assert words.outcome == "It held"


def test_a_failing_story_says_what_did_not_hold_and_where() -> None:
    words = failing_story().words
    assert words.outcome == "It did not hold"
    assert words.came[0] == (
        "1 of 2 probes did not hold after the method, though it did before:"
        " “double acts” was somebody, and had to be 0."
    )
    assert words.came[1].startswith(
        "The recording refutes I1, “The promise I1.”, once, at 5.50 s, 1.50 s after “fails”"
    )
    assert "which is fenced" in words.came[1]
    assert words.came[2].startswith("The longest time in which nobody worked on a shard was 3.00 s")


def test_double_acts_are_counted_even_where_no_invariant_says_so() -> None:
    def acts(**counts: Any) -> str:
        return next(
            each for each in story_of(journal(Verdict(fleet_writes=9, **counts)), ()).words.came if "made" in each
        )

    assert acts().endswith("no double act, no write by who did not own the key.")
    assert acts(duplicate_child_posts=1, overlap_violations=2, takeovers=1) == (
        "The fleet made 9 writes and 1 takeover without a release: 2 writes or claims beside the owner and"
        " 1 child posted twice."
    )


def test_a_story_that_was_stopped_says_whether_what_it_had_done_was_undone() -> None:
    def stopped(*names: str) -> Story:
        experiment = journal(Verdict()).experiment | {"rollbacks": [{"name": name} for name in names]}
        return story(status="interrupted", experiment=experiment)

    assert stopped().words.came[0] == "Somebody told it to stop; what it had done was undone."
    assert stopped("heal").words.came[:2] == (
        "Somebody told it to stop.",
        "“heal” was not carried out, which would have put something back: it was told to stop twice.",
    )


def test_an_aborted_story_says_which_action_failed_and_that_nothing_was_shown() -> None:
    words = story(
        status="aborted", run=[ran("kill", 1.0, status="failed", exception="TargetFailed: owns nothing")]
    ).words
    assert words.outcome == "Nothing was shown"
    assert "“kill” failed" in words.came[0]
    assert "owns nothing" in words.came[0]


def test_a_fleet_that_runs_without_a_rule_is_named_as_such() -> None:
    assert "built without the rule “no-drain” on purpose" in story(without="no-drain").words.done


def test_what_was_not_put_back_is_no_success() -> None:
    words = story(rollbacks=[ran("heal", 9.0, status="failed", exception="Oh: no")]).words
    assert words.outcome == "It held, but not everything was put back"
    assert "“heal” could not be undone: Oh: no" in words.came


def test_a_state_that_did_not_hold_before_is_told_as_that() -> None:
    made: Journal = journal(Verdict(), status="failed", run=[])
    made.steady_states.before = SteadyState(False, [asked("double acts", 2, met=False)])
    made.steady_states.after = None
    words = story_of(made, ()).words
    assert words.outcome == "It did not hold even before anything was done"
    assert "even before anything was done: “double acts” was 2, and had to be 0" in words.came[0]


def test_a_broken_invariant_that_the_experiment_takes_away_is_told_as_that() -> None:
    made = journal(Verdict(invariants=[judgement("I25", "broken", (1.0, "grew"))]))
    arguments = {"without": ["I25"]}
    made.experiment["steady-state-hypothesis"]["probes"] = [{"provider": {"arguments": arguments}}]
    found = story_of(made, ())
    assert found.excused == ("I25",)
    assert any("takes away" in each for each in found.words.came)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "\N{EN DASH}"), (0.0, "0 ms"), (0.00043, "0.4 ms"), (0.052, "52 ms"), (1.2391, "1.24 s"), (12.34, "12.3 s"),
     (200.0, "3 min 20 s"), (7260.0, "2 h 1 min")],
)  # fmt: skip
def test_times_are_as_short_as_they_can_be(value: float | None, text: str) -> None:
    assert said.seconds(value) == text


def test_answers_are_said_for_people() -> None:
    assert said.said({"owned_share": 1.0, "struck": {"1": 3}, "pods": ["a", "b"]}) == (
        "owned share 1, struck (1: 3), pods a and b"
    )
    assert len(said.said("x" * 1000)) == said.LONGEST
