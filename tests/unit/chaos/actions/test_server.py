from __future__ import annotations

import pytest

from chaos.actions.server import heal, inject, pause_server
from tests.unit.chaos.targets.paper import PaperTarget


@pytest.mark.parametrize(
    ("fault", "match"),
    [
        ({"fault": "reset"}, {"user_agent": "fleet/"}),
        ({"fault": "reset", "match": {"verbs": ["list"]}}, {"user_agent": "fleet/", "verbs": ["list"]}),
        ({"fault": "reset", "match": {"user_agent": "chaos/"}}, {"user_agent": "chaos/"}),
    ],
)
def test_a_fault_strikes_the_fleet_unless_it_says_whom(fault: dict[str, object], match: dict[str, object]) -> None:
    target = PaperTarget()
    assert inject(fault, target) == {"number": 1, "fault": "reset"}
    assert target.server.faults == {1: {"fault": "reset", "match": match}}


def test_the_healing_says_how_often_each_fault_has_struck() -> None:
    target = PaperTarget()
    inject({"fault": "reset"}, target)
    target.server.met = {1: 12}
    assert heal(target) == {"struck": {1: 12}}
    assert not target.server.faults


def test_a_paused_server_goes_on_after_its_time() -> None:
    target = PaperTarget()
    pause_server(20, target)
    assert (target.time, target.server.stopped) == (120.0, False)
