"""The mark on an object whose destructive acts are paused: one write a transition, and other conditions stay."""

from __future__ import annotations

from typing import Any

import pytest

from shards.errors import Conflict, Forbidden, Invalid, NotFound, Unreachable
from shards.objects import Key, Object, Resource
from shards.ownership.degraded import CONDITION, REFUSED_SECONDS, RETRY_SECONDS, Degraded, mark_in, marked, unmarkable

READY = {"type": "Ready", "status": "True"}
BUILT = {"type": "Built", "status": "False"}
KEY = Key("ns", "a", "u")
WHY = "3 live reads failed in a row"


def site(*conditions: Object, generation: int = 2) -> Object:
    return {"metadata": {"name": "a", "generation": generation}, "status": {"conditions": list(conditions)}}


def degraded(now: float = 0.0) -> Degraded:
    return Degraded(wall=lambda: now)


def on(now: float = 0.0, generation: int = 2) -> Object:
    wanted: Any = degraded(now).merged({}, site(generation=generation), paused=WHY, cleared=False)
    found = mark_in(wanted["conditions"])
    assert found is not None
    return found


def test_a_mark_is_what_the_conventions_ask_for() -> None:
    assert on(1_000_000_000.0) == {
        "type": "shardfleet.dev/Degraded",
        "status": "True",
        "reason": "DestructiveActsPaused",
        "message": WHY,
        "observedGeneration": 2,
        "lastTransitionTime": "2001-09-09T01:46:40Z",
    }


def test_other_conditions_stay() -> None:
    assert degraded().merged({}, site(READY, BUILT), paused=WHY, cleared=False) == {"conditions": [READY, BUILT, on()]}
    own = {"conditions": [READY], "size": 3}
    assert degraded().merged(own, site(BUILT), paused=WHY, cleared=False) == {"conditions": [READY, on()], "size": 3}


def test_an_author_who_writes_conditions_does_not_take_the_mark_away() -> None:
    wanted = degraded().merged({"conditions": [READY]}, site(BUILT, on()), paused="", cleared=False)
    assert wanted == {"conditions": [READY, on()]}
    assert degraded().merged({"conditions": None}, site(on()), paused="", cleared=False) == {"conditions": [on()]}


def test_a_mark_that_is_there_is_written_once() -> None:
    """Another message, or another reading of the clock, is no transition."""
    status = {"size": 1}
    assert degraded(99).merged(status, site(on()), paused="100 destructive acts", cleared=False) is status


def test_a_new_spec_moves_the_generation_and_not_the_time() -> None:
    wanted: Any = degraded(99).merged({}, site(on(7), generation=3), paused=WHY, cleared=False)
    assert wanted["conditions"] == [{**on(7), "observedGeneration": 3}]


def test_it_is_cleared_when_the_act_went_through_and_only_then() -> None:
    current = site(READY, on(7))
    assert degraded(60).merged({}, current, paused="", cleared=False) == {}
    wanted: Any = degraded(60).merged({}, current, paused="", cleared=True)
    assert wanted["conditions"][0] == READY
    cleared = wanted["conditions"][1]
    assert (cleared["status"], cleared["reason"]) == ("False", "DestructiveActsResumed")
    assert cleared["lastTransitionTime"] == "1970-01-01T00:01:00Z"
    assert degraded(99).merged({}, site(cleared), paused="", cleared=True) == {}


def test_an_act_that_went_through_does_not_clear_what_another_one_waits_for() -> None:
    assert degraded().merged({}, site(on()), paused=WHY, cleared=True) == {}


def test_objects_without_a_mark_cost_nothing() -> None:
    status = {"conditions": [READY]}
    assert degraded().merged(status, site(READY), paused="", cleared=True) is status


def test_what_is_no_list_of_conditions_is_left_to_its_author() -> None:
    status = {"conditions": {"Ready": "yes"}}
    assert degraded().merged(status, site(), paused=WHY, cleared=False) is status
    assert mark_in({"Ready": "yes"}) is None
    assert not marked([None, "x", {"type": CONDITION}])


@pytest.mark.parametrize(
    ("error", "off"),
    [
        (NotFound(404, "NotFound", "no status"), True),
        (Forbidden(403, "Forbidden", "no"), True),
        (Unreachable("down"), False),
        (Conflict(409, "Conflict", "moved"), False),
    ],
)
def test_where_marks_cannot_be_written_none_is_tried_again(error: Exception, off: bool) -> None:
    marks = degraded()
    marks.keys[KEY] = 100.0
    assert marks.failed(KEY, error, 100.0) is off
    assert bool(marks.off) is off
    assert marks.keys[KEY] == (100.0 if off else 100.0 + RETRY_SECONDS)
    wanted = marks.merged({}, site(), paused=WHY, cleared=False)
    assert (wanted == {}) is off


def test_an_object_that_the_server_finds_fault_with_costs_the_others_no_mark() -> None:
    marks = degraded()
    marks.keys[KEY] = 100.0
    assert not marks.failed(KEY, Invalid(422, "Invalid", "spec.size: too large"), 100.0)
    assert not marks.off
    assert marks.keys[KEY] == 100.0 + REFUSED_SECONDS


def test_objects_of_kubernetes_itself_are_not_marked() -> None:
    assert unmarkable(Resource("apps", "v1", "deployments"))
    assert unmarkable(Resource("", "v1", "pods"))
    assert unmarkable(Resource("gateway.networking.k8s.io", "v1", "gateways"))
    assert not unmarkable(Resource("demo.shardfleet.dev", "v1", "websites"))
