"""Custom resources: their life, their schema, with and without a status."""

from __future__ import annotations

from tests.contract.histories.objects import PLAIN, WEBSITE_SCHEMA, WEBSITES, define, preconditions, website
from tests.contract.transcripts import JSON_PATCH, MERGE, Document, Stage


async def custom_resource_lifecycle(stage: Stage) -> None:
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    collection, one = stage.path(WEBSITES), stage.path(WEBSITES, "one")
    status = stage.path(WEBSITES, "one", "status")
    made = await stage.ask("POST", collection, website("one") | {"status": {"phase": "ignored"}})
    await stage.ask("POST", collection, website("one"))
    await stage.ask("PUT", one, website("one", {"domain": "b.example"}))
    version = made["metadata"]["resourceVersion"]
    await stage.ask("PUT", one, website("one", {"domain": "b.example"}, resourceVersion=version))
    await stage.ask("PUT", one, website("one", {"domain": "c.example"}, resourceVersion=version))
    await stage.ask("PATCH", one, {"status": {"phase": "ignored"}}, content_type=MERGE)
    await stage.ask("PATCH", status, {"status": {"phase": "Ready", "ready": True}}, content_type=MERGE)
    await stage.ask("PATCH", status, {"status": {"phase": "Ready"}}, content_type=MERGE)
    both = {"spec": {"domain": "d.example"}, "metadata": {"labels": {"a": "b"}}, "status": {"phase": "Both"}}
    patched = await stage.ask("PATCH", status, both, content_type=MERGE)
    newest = patched["metadata"]["resourceVersion"]
    whole = website("one", {"domain": "e.example"}, resourceVersion=newest) | {"status": {"ready": False}}
    await stage.ask("PUT", status, whole)
    await stage.ask("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"replicas": 3}}, content_type=MERGE)
    await stage.ask("GET", status)
    await stage.ask("GET", stage.path(WEBSITES, "one", "scale"))
    await stage.ask("DELETE", one, preconditions(uid="11111111-2222-4333-8444-555555555555"))
    await stage.ask("PUT", one, website("one", uid="11111111-2222-4333-8444-555555555555", resourceVersion=newest))
    await stage.ask("DELETE", one)
    await stage.ask("GET", one)
    await stage.ask("PATCH", status, {"status": {"phase": "x"}}, content_type=MERGE)


async def custom_resource_validation(stage: Stage) -> None:
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    collection = stage.path(WEBSITES)
    specs: list[Document] = [
        {"domain": "a.example", "unknown": 1, "free": {"kept": 1}, "labels": {"a": "b"}},
        {},
        {"domain": 5},
        {"domain": "ab"},
        {"domain": "abcdefghijklmnopqrstuvwxyz"},
        {"domain": "A.example"},
        {"domain": "a.example", "replicas": 0},
        {"domain": "a.example", "replicas": 10},
        {"domain": "a.example", "replicas": "3"},
        {"domain": "a.example", "replicas": 1.5},
        {"domain": "a.example", "tier": "gold"},
        {"domain": "a.example", "labels": {"a": 1}},
        {"domain": "a.example", "paths": ["a", "b", "c"]},
        {"domain": "a.example", "paths": ["a", 1]},
        {"domain": "a.example", "free": []},
        {"domain": "a.example", "replicas": None},
        {"replicas": 0, "tier": "gold"},
    ]
    for index, spec in enumerate(specs):
        await stage.ask("POST", collection, website(f"site-{index}", spec))
    await stage.ask("POST", collection, {"kind": "Website", "apiVersion": "history.shardfleet.dev/v1", "metadata": {}})
    without_spec = {"kind": "Website", "apiVersion": "history.shardfleet.dev/v1", "metadata": {"name": "none"}}
    await stage.ask("POST", collection, without_spec)
    one = stage.path(WEBSITES, "site-0")
    await stage.ask("PATCH", one, {"spec": {"replicas": 100}}, content_type=MERGE)
    await stage.ask("PATCH", stage.path(WEBSITES, "site-0", "status"), {"status": {"ready": "x"}}, content_type=MERGE)


async def custom_resource_patched_into_something_else(stage: Stage) -> None:
    """What a patch makes is judged as its result, not as the body of a request."""
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    await stage.ask("POST", stage.path(WEBSITES), website("one"))
    one = stage.path(WEBSITES, "one")
    for metadata in (
        {"labels": {"a": ["b"]}},
        {"labels": "a"},
        {"finalizers": "a"},
        {"finalizers": [1]},
        {"name": 7},
        {"uid": 7},
        {"creationTimestamp": "a"},
        {"ownerReferences": [{"uid": 3}]},
        {"generation": "3"},
        {"managedFields": "3"},
        "a",
        None,
    ):
        await stage.ask("PATCH", one, {"metadata": metadata}, content_type=MERGE)
    for named in ({"kind": "Other"}, {"apiVersion": "v2"}, {"apiVersion": "a/v2"}, {"apiVersion": ""}, {"kind": None}):
        await stage.ask("PATCH", one, named, content_type=MERGE)
    await stage.ask("PATCH", one, {"kind": 7}, content_type=MERGE)
    await stage.ask("PATCH", one, {"apiVersion": 7}, content_type=MERGE)
    results: list[tuple[str, object]] = [("", "a"), ("", {}), ("/spec", "a"), ("/metadata/labels", {"a": [1]})]
    for path, value in (*results, ("/metadata", [])):
        operation = {"op": "add", "path": path, "value": value}
        await stage.ask("PATCH", one, [operation], content_type=JSON_PATCH)
    await stage.ask("PATCH", f"{one}/status", {"metadata": {"labels": "a"}}, content_type=MERGE)


async def custom_resource_without_status(stage: Stage) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    await define(stage, "plains", "Plain", schema, status=False)
    body = {"kind": "Plain", "apiVersion": "history.shardfleet.dev/v1", "metadata": {"name": "one"}, "status": {"a": 1}}
    await stage.ask("POST", stage.path(PLAIN), body)
    one = stage.path(PLAIN, "one")
    await stage.ask("PATCH", one, {"status": {"a": 2}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"annotations": {"a": "b"}}}, content_type=MERGE)
    await stage.ask("GET", stage.path(PLAIN, "one", "status"))
    await stage.ask("PUT", stage.path(PLAIN, "one", "status"), body)


HISTORIES = (
    custom_resource_lifecycle,
    custom_resource_validation,
    custom_resource_patched_into_something_else,
    custom_resource_without_status,
)
