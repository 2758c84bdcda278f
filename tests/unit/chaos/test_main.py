from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaos.__main__ import main
from tests.unit.chaos.documents import document


def test_the_experiments_are_listed_with_their_titles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0

    assert capsys.readouterr().out.startswith("worker-sigkill  ")


@pytest.mark.parametrize("arguments", [["run", "worker-sigkil"], ["run"], ["rn"], ["run", "worker-sigkill", "--jsn"]])
def test_what_is_wrong_in_the_command_line_ends_with_2_and_one_sentence(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2

    assert "Traceback" not in capsys.readouterr().err


def test_a_controller_that_is_not_there_is_found_out_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(document()))

    assert main(["run", str(file)]) == 2

    assert "chaos: extensions.target.controller: there is no file" in capsys.readouterr().err
