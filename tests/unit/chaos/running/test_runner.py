"""The order of things, with functions on paper and a clock that only pauses move."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from chaos.documents.experiment import Activity, Experiment, Hypothesis
from chaos.documents.provider import Provider
from chaos.documents.settings import parse_settings
from chaos.documents.tolerance import Equal
from chaos.running.journal import Journal
from chaos.running.lines import activity_line, verdict_line
from chaos.running.runner import Runner

SETTINGS = parse_settings({}, "target")


class Stage:
    """Runs experiments and writes down what happened when."""

    def __init__(self) -> None:
        self.time = 0.0
        self.events: list[str] = []
        self.lines: list[str] = []

    def function(self, name: str, *answers: Any) -> Callable[..., Any]:
        """Answers in turn, then with the last one for ever; an exception is raised."""
        waiting = list(answers)

        def call() -> Any:
            self.events.append(f"{name}@{self.time:g}")
            answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            if isinstance(answer, BaseException):
                raise answer
            return answer

        return call

    def action(self, name: str, *answers: Any, before: float = 0, after: float = 0) -> Activity:
        function = self.function(name, *(answers or (None,)))
        return Activity("action", name, Provider("m", name, {}, function, False), before, after, None)

    def probe(self, name: str, *answers: Any, wanted: int = 0) -> Activity:
        return Activity(
            "probe", name, Provider("m", name, {}, self.function(name, *answers), False), 0, 0, Equal(wanted)
        )

    def run(self, probes: list[Activity], method: list[Activity], rollbacks: list[Activity]) -> Journal:
        hypothesis = Hypothesis("steady", tuple(probes))
        document = {"title": "t", "rollbacks": [{"name": each.name} for each in rollbacks]}
        experiment = Experiment("t", "d", hypothesis, tuple(method), tuple(rollbacks), SETTINGS, (), "", document)

        def sleep(seconds: float) -> None:
            self.time += seconds

        journal = Runner(
            experiment,
            None,
            clock=lambda: self.time,
            today=lambda: self.time,
            sleep=sleep,
            heard=lambda phase, run: self.lines.append(activity_line(phase, run)),
        ).run()
        assert json.loads(json.dumps(journal.as_dict())) == journal.as_dict()
        return journal


def test_the_hypothesis_stands_before_and_after_the_method_and_rollbacks_come_last() -> None:
    stage = Stage()

    journal = stage.run(
        [stage.probe("steady", 0)],
        [stage.action("kill", before=1, after=2), stage.action("wait", after=3)],
        [stage.action("undo")],
    )

    assert stage.events == ["steady@0", "kill@1", "wait@3", "steady@6", "undo@6"]
    assert (journal.status, journal.deviated, journal.passed, journal.duration) == ("completed", False, True, 6.0)
    assert journal.start == "1970-01-01T00:00:00+00:00"
    assert journal.as_dict()["experiment"]["title"] == "t"
    assert verdict_line(journal) == "completed after 6.0 s: all 1 probes held before and after"


def test_a_fleet_that_is_not_steady_is_not_attacked_but_rolled_back() -> None:
    stage = Stage()

    journal = stage.run([stage.probe("steady", 1)], [stage.action("kill")], [stage.action("undo")])

    assert stage.events == ["steady@0", "undo@0"]
    assert (journal.status, journal.deviated, journal.steady_states.after) == ("failed", False, None)
    assert verdict_line(journal) == "failed after 0.0 s: the steady state held not even before the method: steady"


def test_a_steady_state_that_is_lost_is_a_deviation() -> None:
    stage = Stage()

    journal = stage.run([stage.probe("steady", 0, 3)], [stage.action("kill")], [stage.action("undo")])

    assert (journal.status, journal.deviated, journal.passed) == ("failed", True, False)
    assert journal.steady_states.after is not None
    assert stage.lines[-2:] == ["after   FAIL steady: 3 (must be 0)", "undo    ok   undo: None"]
    assert verdict_line(journal).endswith("the steady state held no more after the method: steady")


def test_every_probe_is_asked_even_after_one_failed() -> None:
    stage = Stage()

    journal = stage.run([stage.probe("broken", OSError("no answer")), stage.probe("other", 0)], [], [])

    before = journal.steady_states.before
    assert before is not None
    assert [(run.name, run.status, run.exception, run.tolerance_met) for run in before.probes] == [
        ("broken", "failed", "OSError: no answer", False),
        ("other", "succeeded", "", True),
    ]
    assert stage.lines[0] == "before  FAIL broken: OSError: no answer"


def test_an_action_that_fails_ends_the_method_because_nothing_would_be_shown() -> None:
    stage = Stage()

    journal = stage.run(
        [stage.probe("steady", 0)],
        [stage.action("kill", OSError("gone")), stage.action("more")],
        [stage.action("undo")],
    )

    assert stage.events == ["steady@0", "kill@0", "undo@0"]
    assert (journal.status, journal.passed) == ("aborted", False)


def test_an_interrupted_method_is_rolled_back() -> None:
    stage = Stage()

    journal = stage.run([stage.probe("steady", 0)], [stage.action("kill", KeyboardInterrupt())], [stage.action("undo")])

    assert stage.events == ["steady@0", "kill@0", "undo@0"]
    assert journal.status == "interrupted"


def test_a_rollback_that_fails_keeps_no_other_from_running_and_is_not_passed_over() -> None:
    stage = Stage()

    journal = stage.run(
        [stage.probe("steady", 0)], [], [stage.action("one", OSError("stuck")), stage.action("two", before=1)]
    )

    assert stage.events[-2:] == ["one@0", "two@1"]
    assert (journal.status, journal.passed) == ("completed", False)
    assert verdict_line(journal).endswith("; not everything was put back")


def test_rollbacks_that_a_second_ctrl_c_ended_are_named() -> None:
    stage = Stage()

    journal = stage.run(
        [stage.probe("steady", 0)],
        [stage.action("kill", KeyboardInterrupt())],
        [stage.action("one"), stage.action("two", KeyboardInterrupt()), stage.action("three")],
    )

    assert (journal.status, journal.put_back) == ("interrupted", False)
    assert verdict_line(journal) == (
        "interrupted after 0.0 s: it was told to stop; not everything was put back (not carried out: two, three)"
    )


def test_an_answer_that_json_does_not_have_is_kept_as_text() -> None:
    stage = Stage()

    journal = stage.run([stage.probe("steady", 0)], [stage.action("odd", object)], [])

    assert journal.run[0].output == "<class 'object'>"
