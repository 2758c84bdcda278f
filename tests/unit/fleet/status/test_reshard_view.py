from __future__ import annotations

import io
import json

from fleet.status.reshard_progress import ReshardPhase, ReshardProgress
from fleet.status.reshard_view import ReshardView

RUNNING = ReshardProgress(ReshardPhase.RUNNING, leaving=4, retired=2, new=8, activated=3, owned=1)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(*, as_json: bool = False, out: io.StringIO | None = None) -> str:
    out = out or io.StringIO()
    with ReshardView(as_json=as_json, out=out) as view:
        view.asked("ConfigMap web-config says shards.count: 8")
        view.show(ReshardProgress(ReshardPhase.WAITING))
        view.impatient()
        view.show(RUNNING)
        view.show(ReshardProgress(ReshardPhase.DONE, leaving=4, retired=4, new=8, activated=8, owned=8))
    return out.getvalue()


def test_away_from_a_terminal_there_is_a_line_for_each_change() -> None:
    asked, waiting, impatient, running, done = shown().splitlines()
    assert asked == "ConfigMap web-config says shards.count: 8"
    assert waiting == "waiting for the coordinator"
    assert "is one in office" in impatient
    assert running == "2 of 4 ranges retired, 3 of 8 new ones activated, 1 owned"
    assert done == "done: every shard has its owner"


def test_machines_get_one_object_a_line() -> None:
    lines = [json.loads(line) for line in shown(as_json=True).splitlines()]
    assert [line["phase"] for line in lines] == ["asked", "waiting", "waiting", "running", "done"]
    assert (lines[3]["leaving"], lines[3]["retired"], lines[3]["new"], lines[3]["owned"]) == (4, 2, 8, 1)


def test_a_terminal_has_a_bar_for_what_retires_is_activated_and_is_owned() -> None:
    text = shown(out=Terminal())
    for name in ("retired", "activated", "owned"):
        assert name in text
    assert "8/8" in text
    assert text.count("done: every shard has its owner") == 1
