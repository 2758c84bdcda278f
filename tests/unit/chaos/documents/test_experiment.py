from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaos.documents.experiment import load_experiment, names, parse_experiment
from shards.errors import ConfigError
from tests.unit.chaos.documents.files import activity, document

Change = Callable[[dict[str, Any]], object]


def test_every_experiment_that_comes_with_the_package_is_valid() -> None:
    assert "worker-sigkill" in names()
    for name in names():
        assert load_experiment(name).method


def test_a_file_may_be_json_and_is_kept_as_it_was_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(document(tags=["mine"])))

    experiment = load_experiment(str(file))

    assert experiment.document == document(tags=["mine"])
    assert [each.name for each in experiment.method] == ["kill_worker"]
    assert experiment.settings.shards == 4


def test_pauses_and_tolerances_are_read() -> None:
    method = [activity("kill_worker", "action", pauses={"after": 1.5})]
    experiment = parse_experiment(json.dumps(document(method=method)))

    (kill,), (probe,) = experiment.method, experiment.hypothesis.probes
    assert (kill.pause_before, kill.pause_after, kill.tolerance) == (0.0, 1.5, None)
    assert probe.tolerance is not None
    assert probe.tolerance.met(2)


def test_extensions_of_others_are_left_alone() -> None:
    ours = document()["extensions"]
    found = parse_experiment(json.dumps(document(extensions=[{"name": "other", "x": 1}, *ours])))

    assert (found.settings.pods, found.settings.targets, found.settings.controller) == (2, ("dev",), "a.py:a")


def test_what_a_target_leaves_out_suits_most_experiments() -> None:
    found = parse_experiment(
        json.dumps(document(extensions=[{"name": "shardfleet", "target": {}, "attacks": ["I1"], "promises": "less"}]))
    )

    assert (found.settings.targets, found.settings.pods, found.settings.lease_seconds) == (("dev", "real"), 2, 3.0)
    assert (found.attacks, found.promises) == (("I1",), "less")


def test_the_control_through_which_chaostoolkit_starts_the_fleet_says_nothing_here() -> None:
    control = {"name": "fleet", "provider": {"type": "python", "module": "chaos.toolkit"}}

    assert parse_experiment(json.dumps(document(controls=[control]))).title == "a title"


@pytest.mark.parametrize("name", ["worker-sigkil", "nothing-like-it", "no/such/file.yaml"])
def test_an_experiment_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        load_experiment(name)


def at(path: list[str | int], value: Any) -> Change:
    """Sets a value deep in the document."""

    def change(found: Any) -> None:
        for step in path[:-1]:
            found = found[step]
        found[path[-1]] = value

    return change


HYPOTHESIS = "steady-state-hypothesis"

MISTAKES: list[tuple[Change, str]] = [
    (lambda doc: doc.pop("title"), "^title: this field is required; write one sentence"),
    (lambda doc: doc.pop("method"), "^method: this field is required; write a list of activities"),
    (lambda doc: doc.pop(HYPOTHESIS), "^steady-state-hypothesis: this field is required"),
    (lambda doc: doc.pop("extensions"), "^extensions: this field is required; write one named shardfleet"),
    (at(["description"], " "), "^description: ' ' is not text"),
    (at(["metod"], []), "^metod: there is no such field; did you mean method"),
    (at(["controls"], [{"name": "mine"}]), r"^controls\[0\]: not supported but for that of chaos.toolkit"),
    (at(["secrets"], {}), "^secrets: not supported yet"),
    (at(["tags"], [1]), r"^tags\[0\]: 1 is not text"),
    (at(["method"], {}), "^method: {} is not a list"),
    (at(["method"], ["kill"]), r"^method\[0\]: 'kill' is not a mapping of fields"),
    (at(["method", 0, "type"], "acton"), r"^method\[0\].type: 'acton' is not allowed; did you mean action"),
    (at(["method", 0, "background"], True), r"^method\[0\].background: not supported yet; activities run one after"),
    (at(["method", 0, "tolerance"], 1), r"^method\[0\].tolerance: there is no such field"),
    (at(["method", 0, "pauses"], {"after": "5s"}), r"^method\[0\].pauses.after: '5s' is no time; write seconds"),
    (at(["method", 0, "pauses"], {"after": -1}), r"^method\[0\].pauses.after: -1 is no time"),
    (at(["method", 0, "pauses"], {"afer": 1}), r"^method\[0\].pauses.afer: there is no such field; did you mean after"),
    (at(["rollbacks"], [{"type": "action"}]), r"^rollbacks\[0\].provider: this field is required|rollbacks\[0\].name"),
    (at([HYPOTHESIS, "probes"], []), "^steady-state-hypothesis.probes: a hypothesis without probes judges nothing"),
    (
        at([HYPOTHESIS, "probes", 0], activity()),
        r"^steady-state-hypothesis.probes\[0\].tolerance: this field is required",
    ),
    (
        at([HYPOTHESIS, "probes", 0], activity("kill_worker", "action", tolerance=1)),
        r"^steady-state-hypothesis.probes\[0\].type: 'action' is not allowed; write probe",
    ),
    (
        at(["extensions", 0, "target", "on"], ["moon"]),
        r"^extensions\[0\].target.on\[0\]: 'moon' is no target; write dev",
    ),
    (at(["extensions", 0, "target", "pods"], 0), r"^extensions\[0\].target.pods: 0 is out of bounds"),
    (
        at(["extensions", 0, "attacks"], ["I28"]),
        r"^extensions\[0\].attacks\[0\]: 'I28' is no invariant; write I1 to I27",
    ),
    (at(["extensions", 0, "atacks"], []), r"^extensions\[0\].atacks: there is no such field; did you mean attacks"),
    (at(["extensions", 0, "target", "objects"], True), r"^extensions\[0\].target.objects: True is out of bounds"),
]


@pytest.mark.parametrize(("change", "sentence"), MISTAKES, ids=[sentence for _, sentence in MISTAKES])
def test_a_mistake_is_refused_with_its_path_and_what_would_be_right(change: Change, sentence: str) -> None:
    wrong = document()
    change(wrong)

    with pytest.raises(ConfigError, match=sentence):
        parse_experiment(json.dumps(wrong))


@pytest.mark.parametrize("text", ["", "- a", "a: [", "3"])
def test_a_file_that_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^the experiment (is not valid YAML|must be a mapping)"):
        parse_experiment(text)
