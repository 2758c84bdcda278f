"""Who owns which field: after creates, updates and patches, and when clients write managedFields themselves."""

from __future__ import annotations

from typing import Any

from tests.contract.histories.objects import CONFIG_MAPS, LEASES, WEBSITE_SCHEMA, WEBSITES, config_map, define, website
from tests.contract.transcripts import JSON_PATCH, MERGE, Document, Stage


def by(name: str) -> dict[str, str]:
    return {"fieldManager": name}


def entry(manager: str, fields: Document, **rest: Any) -> Document:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-02T03:04:05Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **rest,
    }


async def owners_of_updates(stage: Stage) -> None:
    collection, one = stage.path(CONFIG_MAPS), stage.path(CONFIG_MAPS, "one")
    await stage.ask("POST", collection, config_map("one", {"a": "1", "b": "1"}, labels={"x": "1"}), query=by("first"))
    await stage.ask("PATCH", one, {"data": {"a": "2"}}, query=by("second"), content_type=MERGE)
    await stage.ask("PATCH", one, {"data": {"a": "2", "b": "1"}}, query=by("third"), content_type=MERGE)
    await stage.ask("PATCH", one, {"data": {"c": "3"}}, query=by("second"), content_type=MERGE)
    await stage.ask("PATCH", one, {"data": {"b": None}}, query=by("second"), content_type=MERGE)
    await stage.ask("PATCH", one, {"data": None}, query=by("second"), content_type=MERGE)
    await stage.ask("PUT", one, config_map("one", {"a": "9"}, labels={"x": "1"}), query=by("third"))
    await stage.ask("PUT", one, config_map("one", {"a": "9"}, annotations={"y": "z"}), query=by("first"))
    await stage.ask("PATCH", one, {"metadata": {"annotations": None}}, query=by("first"), content_type=MERGE)
    await stage.ask("PATCH", one, {"data": {}}, query=by("first"), content_type=MERGE)
    await stage.ask("PATCH", one, {"immutable": False}, query=by("first"), content_type=MERGE)
    await stage.ask("PATCH", one, {"binaryData": {"b": "eA=="}}, query=by("first"), content_type=MERGE)
    await stage.ask("POST", collection, config_map("two", {}, labels={}), query=by("first"))
    await stage.ask("POST", collection, {"metadata": {"generateName": "x-", "name": "three"}}, query=by("first"))
    lease = {"metadata": {"name": "one"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}}
    await stage.ask("POST", stage.path(LEASES), lease, query=by("first"))
    await stage.ask(
        "PATCH", stage.path(LEASES, "one"), {"spec": {"holderIdentity": "b"}}, query=by("second"), content_type=MERGE
    )


async def owners_of_metadata(stage: Stage) -> None:
    collection, one = stage.path(CONFIG_MAPS), stage.path(CONFIG_MAPS, "one")
    owner = await stage.ask("POST", collection, config_map("owner"), query=by("first"))
    reference: Document = {"kind": "ConfigMap", "apiVersion": "v1", "name": "owner", "uid": owner["metadata"]["uid"]}
    await stage.ask("POST", collection, config_map("one", ownerReferences=[reference]), query=by("first"))
    metadata = {"ownerReferences": [reference | {"controller": True}], "finalizers": ["example.com/a"]}
    await stage.ask("PATCH", one, {"metadata": metadata}, query=by("second"), content_type=MERGE)
    added = [{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/b"}]
    await stage.ask("PATCH", one, added, query=by("third"), content_type=JSON_PATCH)
    removed = [{"op": "remove", "path": "/metadata/finalizers/0"}]
    await stage.ask("PATCH", one, removed, query=by("third"), content_type=JSON_PATCH)
    await stage.ask("PATCH", one, {"metadata": {"ownerReferences": None}}, query=by("third"), content_type=MERGE)
    await stage.ask("DELETE", one)
    await stage.ask("PATCH", one, {"data": {"a": "late"}}, query=by("fourth"), content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"finalizers": None}}, query=by("fourth"), content_type=MERGE)


async def owners_of_custom_resources(stage: Stage) -> None:
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    collection, one, status = (
        stage.path(WEBSITES),
        stage.path(WEBSITES, "one"),
        stage.path(WEBSITES, "one", "status"),
    )
    spec = {"domain": "a.example", "paths": ["a", "b"], "labels": {"a": "b"}, "free": {"x": {"y": [1]}, "z": {}}}
    await stage.ask("POST", collection, website("one", spec) | {"status": {"phase": "no"}}, query=by("first"))
    await stage.ask("PATCH", status, {"status": {"phase": "A"}}, query=by("first"), content_type=MERGE)
    await stage.ask("PATCH", status, {"status": {"ready": True}}, query=by("second"), content_type=MERGE)
    both = {"spec": {"domain": "b.example"}, "metadata": {"labels": {"a": "b"}}, "status": {"phase": "B"}}
    await stage.ask("PATCH", status, both, query=by("third"), content_type=MERGE)
    await stage.ask("PATCH", one, both, query=by("third"), content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"paths": ["a", "c"]}}, query=by("fourth"), content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"free": {"x": {"y": [2]}}}}, query=by("fourth"), content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"free": {"x": 3}}}, query=by("fifth"), content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"free": {"x": {"q": 1}}}}, query=by("sixth"), content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"labels": {"a": None}}}, query=by("fourth"), content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"unknown": 1}}, query=by("seventh"), content_type=MERGE)


async def managed_fields_by_hand(stage: Stage) -> None:
    collection, one = stage.path(CONFIG_MAPS), stage.path(CONFIG_MAPS, "one")
    fields: Document = {"f:data": {".": {}, "f:a": {}}}
    await stage.ask("POST", collection, config_map("one", managedFields=[entry("other", fields)]), query=by("first"))
    for managed in (
        [entry("mine", fields)],
        [entry("mine", {"f:data": {"f:a": {}, "x:b": {}, "f:none": {}}})],
        [entry("mine", fields, operation="Apply"), entry("mine", fields, subresource="status")],
        [entry("mine", fields, operation="Other")],
        [entry("mine", fields, operation="")],
        [entry("mine", fields, fieldsType="FieldsV2")],
        [entry("mine", fields, fieldsType="")],
        [entry("mine", fields, apiVersion="")],
        [entry("mine", {"data": {}})],
        [entry("mine", {"k:none": {}})],
        [entry("", fields)],
        [entry("mine", {})],
        None,
    ):
        patch = {"metadata": {"managedFields": managed}}
        await stage.ask("PATCH", one, patch, query=by("second"), content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"managedFields": 3}}, content_type=JSON_PATCH)


async def managed_fields_forgotten(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    empty: tuple[tuple[str, list[Document]], ...] = (("one", []), ("two", [{}]))
    for name, nothing in empty:
        each = stage.path(CONFIG_MAPS, name)
        await stage.ask("POST", collection, config_map(name), query=by("first"))
        patch = {"metadata": {"managedFields": nothing}}
        await stage.ask("PATCH", each, patch, query=by("second"), content_type=MERGE)
        await stage.ask("PATCH", each, {"data": {"b": "2"}}, query=by("second"), content_type=MERGE)
        await stage.ask("PUT", each, config_map(name, {"c": "3"}, managedFields=nothing), query=by("third"))
    await stage.ask("POST", collection, config_map("three", managedFields=[]), query=by("first"))
    again = {"metadata": {"managedFields": [{}]}, "data": {"d": "4"}}
    await stage.ask("PATCH", stage.path(CONFIG_MAPS, "three"), again, query=by("second"), content_type=MERGE)


async def too_many_managers(stage: Stage) -> None:
    """All of one version: the oldest ones become one entry. Their order is told by time, so they start at one age."""
    collection, one = stage.path(CONFIG_MAPS), stage.path(CONFIG_MAPS, "one")
    managed = [
        entry(f"old-{index:02}", {"f:data": {f"f:k{index:02}": {}}}, time=f"2026-01-02T03:04:{index:02}Z")
        for index in range(10)
    ]
    data = {f"k{index:02}": "1" for index in range(10)}
    await stage.ask("POST", collection, config_map("one", data, managedFields=managed), query=by("old-00"))
    for index in range(3):
        await stage.ask("PATCH", one, {"data": {f"n{index}": "1"}}, query=by(f"new-{index}"), content_type=MERGE)


HISTORIES = (
    owners_of_updates,
    owners_of_metadata,
    owners_of_custom_resources,
    managed_fields_by_hand,
    managed_fields_forgotten,
    too_many_managers,
)
