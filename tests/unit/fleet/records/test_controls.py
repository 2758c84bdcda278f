from __future__ import annotations

import json

import pytest

from fleet.records.controls import Controls, ControlsUnreadable, Order, controls_text, parse_controls
from tests.unit.fleet.records.records import member

ANN = Order("ann", "incident 12", "2026-11-30T09:12:44Z")


def test_what_is_written_is_read_back() -> None:
    ordered = Controls().freeze(ANN).drain("web-3", Order("bob", "disk", "2026-11-30T10:00:00Z"))
    assert parse_controls(controls_text(ordered)) == ordered


@pytest.mark.parametrize("text", ["", " \n", "{}", '{"frozen": null, "drained": null}', '{"frozen": false}'])
def test_nothing_is_ordered_by_a_document_that_says_nothing(text: str) -> None:
    assert parse_controls(text) == Controls()


def test_an_order_may_say_nothing_about_itself() -> None:
    ordered = parse_controls('{"frozen": true, "drained": {"web-3": null}}')
    assert (ordered.frozen, ordered.drained) == (Order(), {"web-3": Order()})


def test_fields_that_are_not_known_stay() -> None:
    text = '{"holiday": [1], "frozen": {"by": "ann", "ticket": 7}, "drained": {"a": {"until": "noon"}}}'
    changed = json.loads(controls_text(parse_controls(text).drain("b", Order())))
    assert changed["holiday"] == [1]
    assert changed["frozen"]["ticket"] == 7
    assert changed["drained"]["a"]["until"] == "noon"
    assert set(changed["drained"]) == {"a", "b"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "not a JSON object"),
        ("[]", "not a JSON object"),
        ("[" * 100_000, "not a JSON object"),
        ('{"frozen": "yes"}', "frozen: write an object"),
        ('{"frozen": {"why": 7}}', "frozen.why: write a text in quotes, not 7"),
        ('{"drained": ["web-3"]}', "drained: write an object of names"),
        ('{"drained": {"web-3": 1}}', "drained.web-3: write an object"),
    ],
)
def test_what_cannot_be_followed_names_the_field_and_what_would_be_right(text: str, named: str) -> None:
    with pytest.raises(ControlsUnreadable, match=named):
        parse_controls(text)


def test_a_pod_is_drained_with_all_its_members_and_a_member_alone() -> None:
    members = {name: member(name, pod=name[:-2]) for name in ("web-1-0", "web-1-1", "web-10-0", "web-2-0", "web-2-1")}
    ordered = Controls().drain("web-1", Order()).drain("web-2-1", Order()).drain("web-9", Order())
    assert ordered.names_drained(members) == {"web-1-0", "web-1-1", "web-2-1"}


def test_orders_end() -> None:
    ordered = Controls().freeze(ANN).drain("a", Order()).drain("b", Order())
    assert ordered.unfreeze().undrain("a", "c") == Controls().drain("b", Order())


def test_an_order_tells_when_by_whom_and_why() -> None:
    assert str(ANN) == "since 2026-11-30T09:12:44Z by ann: incident 12"
    assert str(Order(why="disk")) == ": disk"
