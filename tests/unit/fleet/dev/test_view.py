from __future__ import annotations

import pytest

from fleet.dev.measure import Measure
from fleet.dev.report import Report
from fleet.dev.takeover import Takeover
from fleet.dev.view import View
from fleet.devcluster.evidence.verdict import Verdict

KILL = "kill worker@5s      worker-0: 1 shards owned again after 0.50 s, first reconcile after 0.60 s"


def test_a_file_gets_each_number_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    takeover = Takeover("worker@5s", "worker-0", 1.0, {"a": 1}, 3, owned_at=1.5, first_reconcile_at=1.6)
    report = Report.of(
        Measure(takeovers=[takeover]),
        Verdict(),
        workers=2,
        objects=10,
        reconciled=10,
        settled=True,
        reconciles=50,
        reconciles_until_settled=None,
        seconds=9.0,
    )
    with View(to_stderr=False) as view:
        view.say("not settled: " + "x" * 100)
        view.show(None, "drawn on terminals only")
        view.summary(report)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "not settled: " + "x" * 100
    assert KILL in lines
    assert len(lines) == 1 + len(report.lines())
