from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.backends.local import LocalCoordination
from fleet.office.standing_orders import GONE_SECONDS, UNREADABLE, StandingOrders
from fleet.records.controls import Controls, Order, controls_text, parse_controls
from fleet.records.cut_request import CutRequest
from fleet.records.record import Document, DocumentName
from shards.errors import ConfigError
from shards.keyrange import WHOLE
from tests.unit.fleet.records.records import member

CUT = CutRequest(1, (WHOLE,), at=5)
FROZEN = Controls().freeze(Order("ann", "incident"))


def document(text: str, version: str = "1") -> Document:
    return Document(DocumentName.CONTROLS, text, version)


def test_no_document_orders_nothing() -> None:
    assert StandingOrders().follow(None) == Controls()


def test_the_last_document_that_could_be_read_stays_in_force() -> None:
    orders = StandingOrders()
    assert orders.follow(document(controls_text(FROZEN))) == FROZEN
    assert orders.follow(document("{", "2")) == FROZEN
    assert "not a JSON object" in orders.trouble
    assert orders.follow(document("{}", "3")) == Controls()
    assert orders.trouble == ""


def test_who_has_never_read_one_moves_nothing_by_choice() -> None:
    orders = StandingOrders()
    assert orders.follow(document("{")) == Controls(frozen=UNREADABLE)
    assert orders.follow(None) == Controls()


def test_what_is_wrong_is_logged_once_a_version(caplog: pytest.LogCaptureFixture) -> None:
    orders = StandingOrders()
    for _ in range(3):
        orders.follow(document("{"))
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_it_is_logged_when_what_is_ordered_changes_and_not_when_somebody_asks_for_a_cut(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    orders = StandingOrders()
    orders.follow(None)
    orders.follow(document(controls_text(FROZEN), "1"))
    orders.follow(document(controls_text(replace(FROZEN, requests=(CUT,))), "2"))
    assert [record.getMessage() for record in caplog.records] == ["ordered: frozen by ann: incident"]
    orders.follow(document('{"frozn": true}', "3"))
    assert caplog.messages[-1] == "ordered: not known to this version: frozn"


def test_a_drained_name_is_over_when_nobody_has_had_it_for_long() -> None:
    orders = StandingOrders()
    orders.follow(document(controls_text(Controls().drain("a", Order()).drain("pod", Order()).drain("gone", Order()))))
    members = [member("a"), member("b-0", pod="pod")]
    assert orders.over(members, 0.0) == ()
    assert orders.over(members, GONE_SECONDS) == ()
    assert orders.over(members, GONE_SECONDS + 1) == ("gone",)
    assert orders.over([], GONE_SECONDS + 2) == ("gone",)
    assert orders.over(members, GONE_SECONDS + 3) == ("gone",)
    assert orders.over([], 2 * GONE_SECONDS + 4) == ("gone",)


@pytest.mark.looptime
async def test_an_order_ends_only_where_a_live_list_has_nobody_of_that_name() -> None:
    coordination = LocalCoordination()
    await coordination.write_member(member("a", version=""), "")
    ordered = Controls().freeze(Order()).drain("a", Order()).drain("b", Order())
    stored = await coordination.write_document(document(controls_text(ordered), ""))
    orders = StandingOrders()
    orders.follow(stored)
    await orders.end(coordination, stored, ("a", "b"), not_after=float("inf"))
    left = await coordination.read_document(DocumentName.CONTROLS)
    assert left is not None
    assert parse_controls(left.text) == ordered.undrain("b")
    assert orders.over([], 0.0) == ()
    assert orders.over([], GONE_SECONDS + 1) == ("a", "b")
    await orders.end(coordination, stored, ("b",), not_after=float("inf"))  # of a document that has changed
    assert orders.over([], GONE_SECONDS + 2) == ()


def test_nothing_is_over_while_the_document_cannot_be_read() -> None:
    """Or the members would be listed with every look for as long as it cannot."""
    orders = StandingOrders()
    orders.follow(document(controls_text(Controls().drain("gone", Order()))))
    assert orders.over([], 0.0) == ()
    orders.follow(document("{", "2"))
    assert orders.over([], GONE_SECONDS + 1) == ()


@pytest.mark.looptime
async def test_what_a_live_list_contradicts_is_not_asked_again_with_the_next_look() -> None:
    coordination = LocalCoordination()
    await coordination.write_member(member("a", version=""), "")
    stored = await coordination.write_document(document(controls_text(Controls().drain("a", Order())), ""))
    orders = StandingOrders()
    orders.follow(stored)
    assert orders.over([], 0.0) == ()
    assert orders.over([], GONE_SECONDS + 1) == ("a",)
    await orders.end(coordination, stored, ("a",), not_after=float("inf"))
    assert orders.over([], GONE_SECONDS + 2) == ()


class Unlabelled(LocalCoordination):
    """As where somebody took the labels from the ConfigMap while it was written."""

    async def write_document(self, new: Document, *, not_after: float | None = None) -> Document:
        raise ConfigError("", "ConfigMap web-controls has not the labels by which it is found")


async def test_a_document_that_lost_its_labels_ends_no_coordinator() -> None:
    orders = StandingOrders()
    ordered = document(controls_text(Controls().drain("a", Order())))
    orders.follow(ordered)
    await orders.end(Unlabelled(), ordered, ("a",), not_after=float("inf"))
    assert set(orders.controls.drained) == {"a"}


def test_another_document_of_the_same_version_is_read_after_a_restore() -> None:
    orders = StandingOrders()
    assert orders.follow(document("{}", "7")) == Controls()
    orders.restored()
    assert orders.follow(document(controls_text(FROZEN), "7")) == FROZEN
