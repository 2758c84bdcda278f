"""The page of the experiments is about those that there are."""

from __future__ import annotations

import re
from pathlib import Path

from chaos.documents.experiment import load_experiment, names

PAGE = (Path(__file__).parents[3] / "docs" / "chaos.md").read_text()


def test_each_experiment_stands_on_the_page_as_its_file_has_it() -> None:
    rows = dict(re.findall(r"^\| `([a-z0-9-]+)` \| ((?:dev|real|kube).*) \|$", PAGE, re.MULTILINE))
    assert sorted(rows) == names()
    for name in names():
        found = load_experiment(name)
        told = f" *Promised instead:* {found.promises}" if found.promises else ""
        assert rows[name] == f"{', '.join(found.settings.targets)} | {', '.join(found.attacks)} | {found.title}{told}"
