from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fleet.devcluster.fields.applying import LAST_APPLIED, Application, Conflicts
from fleet.devcluster.fields.ledger import Ledger
from fleet.devcluster.fields.manager import APPLY, Manager
from fleet.devcluster.fields.updating import owners_after
from fleet.devcluster.kinds.structure import Structure
from shards.objects import Object

STRUCTURE = Structure(
    {
        "type": "object",
        "properties": {
            "metadata": {
                "type": "object",
                "properties": {"annotations": {"type": "object", "additionalProperties": {}}},
            },
            "data": {"type": "object", "additionalProperties": {"type": "string"}},
            "items": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}},
            },
        },
    },
    {},
)


def versions(api_version: str) -> Structure | None:
    return None if api_version == "gone" else STRUCTURE


def applied(
    live: Object | None, wanted: Object, ledger: Ledger, name: str, *, force: bool = False, time: str = "now"
) -> tuple[Object, Ledger]:
    manager = Manager(name, APPLY, api_version="v1", timestamp=time)
    return Application(live, wanted, manager, versions, {}, STRUCTURE).result(ledger, force=force)


def owners(ledger: Ledger) -> dict[str, Any]:
    return {holder.name: held.fields for holder, held in ledger.items()}


def updated(old: Object | None, new: Object, ledger: Ledger, name: str) -> Ledger:
    return owners_after(ledger, old, new, Manager(name, api_version="v1", timestamp="then"), versions, {})


def test_an_apply_creates_what_is_absent_and_owns_it() -> None:
    found, ledger = applied(None, {"data": {"a": "1"}}, {}, "a")
    assert found == {"data": {"a": "1"}}
    assert owners(ledger) == {"a": {"f:data": {"f:a": {}}}}


def test_what_is_not_applied_any_more_vanishes_unless_somebody_else_owns_it() -> None:
    found, ledger = applied(None, {"data": {"a": "1", "b": "1"}}, {}, "a")
    found, ledger = applied(found, {"data": {"b": "1"}}, ledger, "b")
    found, ledger = applied(found, {"data": {}}, ledger, "a")
    assert found == {"data": {"b": "1"}}
    assert owners(ledger) == {"a": {"f:data": {}}, "b": {"f:data": {"f:b": {}}}}


def test_a_field_of_somebody_else_is_a_conflict_that_force_wins() -> None:
    live, ledger = applied(None, {"data": {"a": "1"}}, {}, "a")
    with pytest.raises(Conflicts) as refused:
        applied(live, {"data": {"a": "2"}}, ledger, "b")
    assert refused.value.each() == [('"a"', ".data.a")]
    found, ledger = applied(live, {"data": {"a": "2"}}, ledger, "b", force=True)
    assert found == {"data": {"a": "2"}}
    assert owners(ledger) == {"b": {"f:data": {"f:a": {}}}}


def test_an_equal_value_is_shared() -> None:
    live, ledger = applied(None, {"data": {"a": "1"}}, {}, "a")
    _, ledger = applied(live, {"data": {"a": "1"}}, ledger, "b")
    assert owners(ledger) == {"a": {"f:data": {"f:a": {}}}, "b": {"f:data": {"f:a": {}}}}


def test_an_apply_that_changes_nothing_keeps_its_time() -> None:
    live, ledger = applied(None, {"data": {"a": "1"}}, {}, "a", time="first")
    _, ledger = applied(live, {"data": {"a": "1"}}, ledger, "a", time="second")
    assert [held.time for held in ledger.values()] == ["first"]


def test_items_of_a_list_are_merged_by_their_key_and_keep_the_applied_order() -> None:
    live = {"items": [{"name": "a", "size": 1}, {"name": "b", "size": 2}]}
    ledger = updated(None, live, {}, "maker")
    found, _ = applied(live, {"items": [{"name": "c"}, {"name": "b"}]}, ledger, "a")
    assert found == {"items": [{"name": "a", "size": 1}, {"name": "c"}, {"name": "b", "size": 2}]}


def test_what_was_there_before_the_first_apply_belongs_to_somebody() -> None:
    with pytest.raises(Conflicts) as refused:
        applied({"data": {"a": "1"}}, {"data": {"a": "2"}}, {}, "a")
    assert refused.value.each() == [('"before-first-apply" using v1', ".data.a")]


def test_owners_in_a_version_that_is_gone_are_forgotten() -> None:
    live, ledger = applied(None, {"data": {"a": "1"}}, {}, "a")
    stale = {holder: msgspec.structs.replace(held, api_version="gone") for holder, held in ledger.items()}
    _, ledger = applied(live, {"data": {"a": "2"}}, stale, "b")
    assert owners(ledger) == {"b": {"f:data": {"f:a": {}}}}


def test_kubectl_takes_over_what_it_applied_client_side() -> None:
    text = '{"apiVersion":"v1","data":{"a":"1"}}'
    live = {"metadata": {"annotations": {LAST_APPLIED: text}}, "data": {"a": "1"}}
    ledger = updated(None, live, {}, "kubectl-client-side-apply")
    with pytest.raises(Conflicts):
        applied(live, {"data": {"a": "2"}}, ledger, "other")
    found, _ = applied(live, {"data": {"a": "2"}}, ledger, "kubectl")
    assert found["data"] == {"a": "2"}
    assert found["metadata"]["annotations"][LAST_APPLIED] == '{"data":{"a":"2"},"metadata":{}}\n'
