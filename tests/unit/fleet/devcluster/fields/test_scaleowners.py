from __future__ import annotations

from typing import Any

from fleet.devcluster.fields.ledger import Holder, Holding
from fleet.devcluster.fields.scaleowners import SCALE_VERSION, owners_of_object, owners_of_scale

NUMBER: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
REST: dict[str, Any] = {"f:spec": {"f:paused": {}}}


def paths(api_version: str) -> tuple[str, ...] | None:
    return {"apps/v1": ("spec", "replicas"), "apps/v0": ()}.get(api_version)


def entry(
    manager: str, fields: dict[str, Any], operation: str = "Update", version: str = "apps/v1", time: str = "t"
) -> dict[str, Any]:
    found = {"manager": manager, "operation": operation, "apiVersion": version}
    return found | ({"time": time} if time else {}) | {"fieldsType": "FieldsV1", "fieldsV1": fields}


def both(number: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    return {"f:spec": {**number["f:spec"], **rest["f:spec"]}}


def test_the_owner_of_the_number_owns_it_in_the_scale() -> None:
    owners = owners_of_scale([entry("a", both(NUMBER, REST)), entry("b", REST), entry("c", NUMBER, "Apply")], paths)
    assert owners == {
        Holder("a", "Update", SCALE_VERSION, ""): Holding(NUMBER, SCALE_VERSION, "t"),
        Holder("c", "Apply", "", ""): Holding(NUMBER, SCALE_VERSION, "t"),
    }


def test_an_update_that_lets_the_number_stay_splits_its_owner_in_two() -> None:
    entries = [entry("a", both(NUMBER, REST))]
    found = owners_of_object(entries, owners_of_scale(entries, paths), paths, "apps/v1")
    assert found == [entry("a", NUMBER, time=""), entry("a", REST)]


def test_a_new_owner_takes_the_number_from_all_others_and_has_no_time() -> None:
    entries = [entry("a", both(NUMBER, REST)), entry("b", NUMBER, "Apply")]
    scale = {Holder("c", "Update", SCALE_VERSION, "scale"): Holding(NUMBER, SCALE_VERSION, "now")}
    found = owners_of_object(entries, scale, paths, "apps/v1")
    assert found == [entry("c", NUMBER, time="") | {"subresource": "scale"}, entry("a", REST)]


def test_an_applier_that_still_owns_the_number_is_left_as_it_is() -> None:
    entries = [entry("a", both(NUMBER, REST), "Apply")]
    assert owners_of_object(entries, owners_of_scale(entries, paths), paths, "apps/v1") == entries


def test_owners_through_versions_that_are_gone_are_forgotten() -> None:
    entries = [entry("a", REST, version="apps/v7"), entry("b", REST, version="apps/v0")]
    assert owners_of_object(entries, {}, paths, "apps/v1") == [entry("b", REST, version="apps/v0")]
