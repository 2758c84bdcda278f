"""JSON and merge patches: what they do, what they refuse, and what of an object they may not touch."""

from __future__ import annotations

import re
from typing import Any

from tests.contract.histories.objects import CONFIG_MAPS, WEBSITE_SCHEMA, WEBSITES, config_map, define, website
from tests.contract.transcripts import APPLY, JSON_PATCH, MERGE, STRATEGIC, Document, Stage

Operation = Document


_VERSION = re.compile(r'(resourceVersion\\*":\\*")\d+')


def _without_version(answer: Document) -> None:
    """A refusal that quotes the object: its version differs from server to server."""
    for each in (answer, *answer.get("details", {}).get("causes", ())):
        if "message" in each:
            each["message"] = _VERSION.sub(r"\1<version>", each["message"])


def _op(kind: str, path: str, **rest: Any) -> Operation:
    return {"op": kind, "path": path, **rest}


async def patch_types(stage: Stage) -> None:
    """Which content types and bodies are patches at all."""
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one"))
    await stage.ask("POST", stage.path(WEBSITES), website("one"))
    one, site = stage.path(CONFIG_MAPS, "one"), stage.path(WEBSITES, "one")
    for content_type in ("application/json", "text/plain", "application/other-patch"):
        await stage.ask("PATCH", one, {}, content_type=content_type)
        await stage.ask("PATCH", site, {}, content_type=content_type)
    await stage.ask("PATCH", site, {}, content_type=STRATEGIC)
    for content_type in (MERGE, STRATEGIC, JSON_PATCH):
        for body in ("{", "", "3", '"text"', "true"):
            await stage.ask("PATCH", one, body, content_type=content_type)
    await stage.ask("PATCH", one, "null", content_type=MERGE)
    await stage.ask("PATCH", one, [], content_type=MERGE)
    await stage.ask("PATCH", one, [], content_type=STRATEGIC)
    await stage.ask("PATCH", one, {}, content_type=JSON_PATCH)
    await stage.ask("PATCH", one, "null", content_type=JSON_PATCH)
    await stage.ask("PATCH", one, [3], content_type=JSON_PATCH)
    await stage.ask("PATCH", one, [{"op": 3, "path": "/data/a"}], content_type=JSON_PATCH)
    await stage.ask("PATCH", one, [{"op": "test", "path": {}}], content_type=JSON_PATCH)
    for name in ("none", "one"):
        for content_type in (MERGE, STRATEGIC, JSON_PATCH):
            nothing: Any = [] if content_type == JSON_PATCH else {}
            await stage.ask("PATCH", stage.path(CONFIG_MAPS, name), nothing, content_type=content_type)


async def patch_options(stage: Stage) -> None:
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one"))
    one = stage.path(CONFIG_MAPS, "one")
    for query in (
        {"force": "true"},
        {"force": "false"},
        {"fieldManager": "x" * 129},
        {"fieldManager": "a\u0007b"},
        {"fieldManager": "käse"},
        {"fieldManager": "x" * 128},
    ):
        await stage.ask("PATCH", one, {"data": {"b": query.get("fieldManager", "")}}, query=query, content_type=MERGE)
    applied = config_map("one")
    for query in ({}, {"force": "true"}, {"fieldManager": ""}, {"fieldManager": "y" * 129}):
        await stage.ask("PATCH", one, applied, query=query, content_type=APPLY)
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("two"), query={"fieldManager": "z" * 129})
    await stage.ask("PUT", one, config_map("one"), query={"fieldManager": "z" * 129})


async def json_patch_operations(stage: Stage) -> None:
    """The laxities of the server's library included."""
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one", {"a": "1"}, labels={"x": "y"}))
    one = stage.path(CONFIG_MAPS, "one")
    finalizers = _op("add", "/metadata/finalizers", value=["example.com/a"])
    for operations in (
        [_op("other", "/data/a")],
        [{"path": "/data/a", "value": "1"}],
        [{"op": "add", "value": "1"}],
        [_op("add", "/data/b")],
        [_op("add", "data/c", value="1")],
        [_op("add", "data", value="1")],
        [_op("remove", "/data/none")],
        [_op("remove", "")],
        [_op("replace", "/data/new", value="2")],
        [_op("replace", "/none/new", value="2")],
        [_op("replace", "", value={})],
        [_op("add", "", value={})],
        [_op("test", "", value={})],
        [_op("test", "/data/a", value="9")],
        [_op("test", "/data/a", value="1")],
        [_op("test", "/data/none", value=None)],
        [_op("test", "/none/none", value=None)],
        [_op("test", "/metadata/labels", value={"x": "y"})],
        [_op("test", "/metadata/labels", value={"x": "z"})],
        [_op("move", "/data/q")],
        [{"op": "move", "from": "/data/none", "path": "/data/q"}],
        [{"op": "copy", "from": "/data/none", "path": "/data/q"}],
        [{"op": "copy", "from": "/data/a", "path": "/none/q"}],
        [{"op": "copy", "from": "/metadata/labels", "path": "/data"}],
        [{"op": "move", "from": "/data", "path": "/binaryData"}],
        [_op("add", "/data/a/b", value="1")],
        [_op("remove", "/data/a/b")],
        [_op("add", "/metadata/finalizers/3", value="example.com/a")],
        [finalizers, _op("remove", "/metadata/finalizers/7")],
        [finalizers, _op("add", "/metadata/finalizers/x", value="example.com/b")],
        [finalizers, _op("test", "/metadata/finalizers/-1", value="example.com/a")],
        [finalizers, _op("add", "/metadata/finalizers/-1", value="example.com/b")],
        [_op("remove", "/metadata/finalizers/-2")],
        [_op("replace", "/metadata/finalizers/0", value="example.com/c")],
        [_op("remove", "/metadata/finalizers")],
    ):
        await stage.ask("PATCH", one, operations, content_type=JSON_PATCH, before=_without_version)
    many = [_op("test", "/kind", value="ConfigMap")] * 10_001
    await stage.ask("PATCH", one, many, content_type=JSON_PATCH)
    await stage.ask("PATCH", one, many[1:], content_type=JSON_PATCH)


async def merge_patches(stage: Stage) -> None:
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    site = stage.path(WEBSITES, "one")
    await stage.ask("POST", stage.path(WEBSITES), website("one", {"domain": "a.example", "free": {"a": {"b": 1}}}))
    for free in (
        {"a": {"b": None, "c": 2}},
        {"d": {"e": None, "f": [1, None, {"g": None}]}},
        {"a": [1]},
        {"a": {"b": None}},
        {"a": None, "d": None},
        3,
        {"x": 1},
        None,
    ):
        await stage.ask("PATCH", site, {"spec": {"free": free}}, content_type=MERGE)
    await stage.ask("PATCH", site, {"spec": {"labels": {"a": 1}}}, content_type=MERGE)
    await stage.ask("PATCH", site, {"spec": {"domain": None}}, content_type=MERGE)


async def identity_in_patches(stage: Stage) -> None:
    """Name, kind, version, UID and times are not for a patch to change."""
    made = await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one"))
    one, version = stage.path(CONFIG_MAPS, "one"), made["metadata"]["resourceVersion"]
    other = "11111111-2222-4333-8444-555555555555"
    for content_type in (MERGE, STRATEGIC):
        for metadata in (
            {"name": "two"},
            {"name": None},
            {"namespace": "elsewhere"},
            {"namespace": None},
            {"uid": other},
            {"uid": None},
            {"resourceVersion": "1"},
            {"resourceVersion": None},
            {"creationTimestamp": None, "generation": 7},
            {"deletionTimestamp": "2030-01-01T00:00:00Z"},
            {"labels": {"a": content_type[-12:-5]}, "resourceVersion": version},
            None,
        ):
            await stage.ask("PATCH", one, {"metadata": metadata}, content_type=content_type)
        await stage.ask("PATCH", one, {"kind": None}, content_type=content_type)
    for changed in ({"kind": "Secret"}, {"apiVersion": "v2"}):
        await stage.ask("PATCH", one, changed, content_type=STRATEGIC)


async def fields_in_patches(stage: Stage) -> None:
    """Field validation of what a patch makes."""
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one"))
    one = stage.path(CONFIG_MAPS, "one")
    for content_type in (MERGE, STRATEGIC):
        for validation in ("Ignore", "Warn", "Strict"):
            query = {"fieldValidation": validation}
            for patch in ('{"other": ["a"]}', '{"data":{"b":"1","b":"2"}}'):
                await stage.ask("PATCH", one, patch, query=query, content_type=content_type, before=_without_version)
        for wrong in ({"data": {"a": 1}}, {"data": ["a"]}):
            await stage.ask("PATCH", one, wrong, content_type=content_type, before=_without_version)
    operation = _op("test", "/kind", value="ConfigMap", other=1)
    for validation in ("Ignore", "Warn", "Strict"):
        query = {"fieldValidation": validation}
        await stage.ask("PATCH", one, [operation], query=query, content_type=JSON_PATCH, before=_without_version)


async def metadata_through_status(stage: Stage) -> None:
    """A write to the status of most built-in resources changes the metadata as well, but never the spec."""
    template: Document = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    bodies: tuple[tuple[str, Document], ...] = (
        ("policy/v1/poddisruptionbudgets", {"minAvailable": 1}),
        ("apps/v1/deployments", {"selector": {"matchLabels": {"a": "b"}}, "template": template}),
    )
    for resource, spec in bodies:
        body = {"metadata": {"name": "one", "labels": {"a": "b"}}, "spec": spec}
        await stage.ask("POST", stage.path(resource), body)
        patches: tuple[Document, ...] = (
            {"metadata": {"labels": {"c": "d"}}},
            {"metadata": {"annotations": {"x": "y"}, "finalizers": ["example.com/a"]}},
            {"spec": {"minAvailable": 3, "replicas": 7}, "metadata": {"labels": {"a": None}}},
            {"metadata": {"generation": 77}},
            {"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}},
            {"status": {"observedGeneration": 5}},
        )
        for patch in patches:
            path = stage.path(resource, "one", "status")
            await stage.ask("PATCH", path, patch, query={"fieldManager": "status"}, content_type=MERGE)


HISTORIES = (
    metadata_through_status,
    patch_types,
    patch_options,
    json_patch_operations,
    merge_patches,
    identity_in_patches,
    fields_in_patches,
)
