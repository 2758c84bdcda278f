from __future__ import annotations

from chaos.probes.objects import unsettled_objects
from tests.unit.chaos.targets.paper import PaperTarget


def test_what_is_soon_done_is_not_counted_and_what_is_never_done_is() -> None:
    target = PaperTarget(busy_seconds=1.0)
    assert unsettled_objects(target) == 5
    assert unsettled_objects(target, within_seconds=5) == 0
    assert target.time < 102
    target.busy_until = target.time + 60
    assert unsettled_objects(target, within_seconds=5) == 5
    assert target.time < 107
