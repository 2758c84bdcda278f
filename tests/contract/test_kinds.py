"""The data of built-in kinds against the real server, so that a new version of it is noticed."""

from __future__ import annotations

from pathlib import Path

from tests.contract.write_kinds import asking, contents


def test_the_data_of_built_in_kinds_is_what_the_real_server_says(real_kubeconfig: Path) -> None:
    stale = [path.name for path, text in contents(asking(real_kubeconfig)).items() if path.read_text() != text]
    assert stale == [], "run python -m tests.contract.write_kinds KUBECONFIG"
