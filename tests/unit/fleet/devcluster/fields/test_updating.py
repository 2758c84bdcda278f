from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.fields.ledger import Holder, Holding, Ledger, capped, entries_of, read
from fleet.devcluster.fields.manager import Manager
from fleet.devcluster.fields.updating import claimed, owners_after
from fleet.devcluster.kinds.structure import ANYTHING, Structure
from shards.objects import Object


def versions(api_version: str) -> Structure | None:
    return ANYTHING


def wrote(
    ledger: Ledger, old: Object | None, new: Object, name: str, *, time: str = "2", ignored: Any = None
) -> Ledger:
    return owners_after(ledger, old, new, Manager(name, api_version="v1", timestamp=time), versions, ignored or {})


def fields(ledger: Ledger) -> dict[str, Any]:
    return {holder.name: held.fields for holder, held in ledger.items()}


def entry(name: str, owned: Any, **rest: str) -> dict[str, Any]:
    return {
        "manager": name,
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": owned,
        **rest,
    }


def test_a_creator_owns_everything_but_what_nobody_owns() -> None:
    new = {"kind": "A", "apiVersion": "v1", "metadata": {"name": "a", "labels": {"b": "c"}}, "x": 1}
    assert fields(wrote({}, None, new, "a")) == {"a": {"f:metadata": {"f:labels": {".": {}, "f:b": {}}}, "f:x": {}}}


def test_who_changes_a_field_owns_it_alone() -> None:
    first = wrote({}, None, {"x": 1, "y": 1}, "a")
    second = wrote(first, {"x": 1, "y": 1}, {"x": 2, "y": 1}, "b")
    assert fields(second) == {"a": {"f:y": {}}, "b": {"f:x": {}}}


def test_a_write_that_changes_nothing_changes_no_owner() -> None:
    first = wrote({}, None, {"x": 1}, "a")
    assert wrote(first, {"x": 1}, {"x": 1}, "b") == first


def test_a_removal_takes_the_field_from_all_and_keeps_the_time() -> None:
    first = wrote({}, None, {"x": 1, "y": 1}, "a", time="1")
    second = wrote(first, {"x": 1, "y": 1}, {"x": 1}, "a", time="2")
    assert list(second.values()) == [Holding({"f:x": {}}, "v1", "1")]
    assert wrote(second, {"x": 1}, {}, "b") == {}


def test_fields_that_a_request_cannot_change_are_not_owned() -> None:
    assert fields(wrote({}, None, {"x": 1, "status": {"y": 1}}, "a", ignored={"f:status": {}})) == {"a": {"f:x": {}}}


def test_an_object_without_owners_stays_without() -> None:
    assert wrote({}, {"x": 1}, {"x": 2}, "a") == {}


def test_the_oldest_updates_become_one_entry() -> None:
    ledger = {
        Holder(f"m{index:02}", "Update", "v1", ""): Holding({f"f:{index:02}": {}}, "v1", f"{index:02}")
        for index in range(12)
    }
    found = capped(ledger)
    assert len(found) == 10
    assert found[Holder("ancient-changes", "Update", "v1", "")] == Holding(
        {"f:00": {}, "f:01": {}, "f:02": {}}, "v1", "02"
    )


def test_entries_are_ordered_by_operation_time_and_name() -> None:
    ledger = read(
        [
            entry("b", {}, time="2"),
            entry("a", {}, time="2"),
            entry("c", {}, time="1"),
            entry("d", {}, operation="Apply", time="3"),
        ]
    )
    assert [each["manager"] for each in entries_of(ledger)] == ["d", "c", "a", "b"]


@pytest.mark.parametrize("nothing", [[], [{}]])
def test_owners_are_forgotten_on_request(nothing: Any) -> None:
    assert claimed(nothing, [entry("a", {"f:x": {}})], ignore_given=False) == {}


@pytest.mark.parametrize(
    "given",
    [
        None,
        [entry("b", {"f:y": {}}, operation="Other")],
        [entry("b", {"f:y": {}}, fieldsType="")],
        [entry("b", {"f:y": {}}, apiVersion="")],
        [entry("b", {"y": {}})],
        [entry("b", {"k:none": {}})],
    ],
)
def test_entries_that_make_no_sense_are_ignored(given: Any) -> None:
    assert fields(claimed(given, [entry("a", {"f:x": {}})], ignore_given=False)) == {"a": {"f:x": {}}}


def test_a_client_may_write_entries_itself_but_not_through_a_subresource() -> None:
    given, kept = [entry("b", {"f:y": {}, "x:z": {}})], [entry("a", {"f:x": {}})]
    assert fields(claimed(given, kept, ignore_given=False)) == {"b": {"f:y": {}}}
    assert fields(claimed(given, kept, ignore_given=True)) == {"a": {"f:x": {}}}
