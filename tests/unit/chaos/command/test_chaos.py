from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleet.cli import main
from tests.unit.chaos.documents.files import document


def test_the_experiments_are_listed_with_where_they_run_and_their_titles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chaos", "list"]) == 0
    (line,) = [each for each in capsys.readouterr().out.splitlines() if each.startswith("worker-sigkill ")]
    assert line.split(maxsplit=2)[1:] == [
        "dev,real",
        "a worker killed in the middle of its work costs neither a key nor a second writer",
    ]


def test_the_list_is_there_for_programs_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chaos", "list", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert next(each for each in rows if each["name"] == "worker-sigkill")["attacks"] == ["I1", "I7", "I9", "I11"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "worker-sigkil"], "there is no experiment 'worker-sigkil'; did you mean worker-sigkill"),
        (["run"], "NAME: name an experiment (`fleet chaos list` shows them), or write --all"),
        (["run", "worker-sigkill", "--all"], "--all: it names all experiments; leave worker-sigkill out"),
        (["run", "worker-sigkill", "--kubeconfig", "x"], "--kubeconfig: it says nothing with --target dev"),
        (["run", "worker-sigkill", "-n", "a"], "--namespace: it says nothing with --target dev"),
        (["run", "worker-sigkill", "--fleet", "b"], "--fleet: it says nothing with --target dev"),
        (["run", "worker-sigkill", "--yes-break-my-fleet"], "--yes-break-my-fleet: it says nothing with --target dev"),
        (
            ["run", "worker-sigkill", "--target", "real", "--kubeconfig", "x", "--context", "tests"],
            "--context: it says nothing with --target real",
        ),
        (["run", "worker-sigkill", "--target", "kube"], "--namespace: name the namespace of the fleet"),
        (["run", "worker-sigkill", "--target", "kube", "-n", "a"], "--fleet: name the fleet that is to be broken"),
        (
            ["run", "worker-sigkill", "--target", "kube", "-n", "a", "--fleet", "b"],
            "--yes-break-my-fleet: this kills processes and edits records of the fleet b in a",
        ),
        (["run", "worker-sigkill", "--jsn"], "No such option"),
        (["rn"], "No such command 'rn'"),
    ],
)
def test_what_is_wrong_in_the_command_line_ends_with_2_and_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["chaos", *arguments]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said


def test_what_another_run_has_left_is_not_judged_with_this_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "worker-sigkill").mkdir()
    (tmp_path / "worker-sigkill" / "server.jsonl").touch()

    assert main(["chaos", "run", "pod-lost", "worker-sigkill", "--keep", str(tmp_path)]) == 2

    left = tmp_path / "worker-sigkill"
    assert (
        f"--keep: {left} holds what another run has left; remove it, or name another directory"
        in capsys.readouterr().err
    )
    assert list(tmp_path.iterdir()) == [left]


def test_a_controller_that_is_not_there_is_found_out_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(document()))

    assert main(["chaos", "run", str(file)]) == 2

    assert "extensions.target.controller: there is no file" in capsys.readouterr().err


def test_what_is_wrong_with_one_of_several_is_said_with_its_name_before_the_first_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(*_: object, **__: object) -> None:
        raise AssertionError("something was started")

    monkeypatch.setattr("chaos.command.series._planes", started)
    good, no_controller, no_title = (tmp_path / name for name in ("good.json", "controller.json", "title.json"))
    target = {"on": ["dev"]}
    good.write_text(json.dumps(document(extensions=[{"name": "shardfleet", "target": target}])))
    no_controller.write_text(json.dumps(document()))
    no_title.write_text(json.dumps(document(title="")))

    assert main(["chaos", "run", str(good), str(no_controller)]) == 2
    assert f"{no_controller}: extensions.target.controller: there is no file" in capsys.readouterr().err
    assert main(["chaos", "run", str(good), str(no_title)]) == 2
    assert f"{no_title}: title: '' is not text" in capsys.readouterr().err
