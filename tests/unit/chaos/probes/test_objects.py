from __future__ import annotations

import pytest

from chaos.probes.objects import unsettled_objects, writes_out_of_scope
from fleet.devcluster.recording.journal import Entry, Shown
from tests.unit.chaos.targets.paper import PaperTarget


def test_what_is_soon_done_is_not_counted_and_what_is_never_done_is() -> None:
    target = PaperTarget(busy_seconds=1.0)
    assert unsettled_objects(target) == 5
    assert unsettled_objects(target, within_seconds=5) == 0
    assert target.time < 102
    target.busy_until = target.time + 60
    assert unsettled_objects(target, within_seconds=5) == 5
    assert target.time < 107


SITE = str(PaperTarget().people.resource)
WORKER = "fleet/0 m=a-0 e=1 u=u"


def shown(time: float, kind: str, *, agent: str = WORKER) -> Entry:
    return Entry(1, time, "event", SITE, name="a", uid="u", user_agent=agent, shown=Shown(type=kind))


def written(time: float, *, agent: str = WORKER, removed: bool = False) -> Entry:
    verb = "delete" if removed else "patch"
    return Entry(1, time, verb, SITE, name="a", uid="u", status=200, user_agent=agent, removed=removed)


def page(time: float, *, agent: str = WORKER) -> Entry:
    return Entry(1, time, "create", "v1/configmaps", name="a-0", uid="p", status=201, user_agent=agent)


@pytest.mark.parametrize(
    ("entries", "strays"),
    [
        ([shown(1, "ADDED"), written(2)], 0),
        ([shown(1, "DELETED"), written(1.5), written(3)], 1),  # the first was under way
        ([shown(1, "DELETED"), shown(2, "ADDED"), written(4)], 0),
        ([shown(1, "DELETED"), written(3, agent="kubectl")], 0),
        ([written(1, removed=True), shown(1.1, "DELETED"), written(3)], 0),  # gone for good: no matter of scope
        ([shown(1, "DELETED", agent="kubectl"), written(3)], 0),
        ([shown(1, "DELETED"), page(3)], 1),  # for it, to what belongs to it
        ([shown(1, "DELETED"), page(3, agent=f"{WORKER}2")], 0),
    ],
)
def test_a_write_to_what_left_the_scope_is_a_stray(entries: list[Entry], strays: int) -> None:
    target = PaperTarget()
    target.evidence.recorded = entries
    assert writes_out_of_scope(target) == strays
