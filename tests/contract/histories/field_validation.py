"""Field validation: unknown and repeated fields, refused, warned of or ignored."""

from __future__ import annotations

from typing import Any

from tests.contract.histories.defined import Defined, spec_schema, version
from tests.contract.histories.objects import CONFIG_MAPS, LEASES
from tests.contract.transcripts import JSON_PATCH, MERGE, Document, Stage

_DRY = {"dryRun": "All"}
_MODES = ("", "Strict", "Warn", "Ignore")


def _query(mode: str) -> dict[str, str]:
    return {**_DRY, "fieldValidation": mode} if mode else _DRY


async def unknown_and_repeated_fields(stage: Stage) -> None:
    path = stage.path(CONFIG_MAPS)
    for mode in (*_MODES, "Foo"):
        body: Document = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a", "foo": 1}, "dat": {"x": 5}}
        await stage.ask("POST", path, body, query=_query(mode))
        text = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","name":"b"},"data":{"x":"1","x":"2"}}'
        await stage.ask("POST", path, text, query=_query(mode))
    text = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"x":"1","x":"2"},"data":{"y":"1"}}'
    await stage.ask("POST", path, text, query=_DRY)
    text = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"Name":"a"},"Data":{"x":"1"}}'
    await stage.ask("POST", path, text, query=_DRY)


async def unknown_fields_at_any_depth(stage: Stage) -> None:
    spec = {
        "selector": {"matchLabels": {"a": "b"}, "x": 1},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "containers": [{"name": "x", "image": "y", "foo": 1, "ports": [{"containerPort": 1, "bar": 1}]}],
                "tolerations": [{"x": 1}],
            },
        },
    }
    body = {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "a"}, "spec": spec}
    await stage.ask("POST", stage.path("apps/v1/deployments"), body, query=_query("Strict"))
    spec["template"]["spec"]["containers"][0]["name"] = 5  # type: ignore[index]
    await stage.ask("POST", stage.path("apps/v1/deployments"), body, query=_query("Strict"))


async def field_validation_of_updates(stage: Stage) -> None:
    lease: dict[str, Any] = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "a"}}
    await stage.ask("POST", stage.path(LEASES), lease | {"spec": {"holderIdentity": "x"}})
    for mode in _MODES:
        query = {"fieldValidation": mode} if mode else None
        await stage.ask("PUT", stage.path(LEASES, "a"), lease | {"spec": {"foo": 1}, "bar": 2}, query=query)
        if mode == "Strict":
            continue  # The refusal of a patch shows the whole object, with its version.
        patch = {"spec": {"foo": 1}, "bar": 2}
        await stage.ask("PATCH", stage.path(LEASES, "a"), patch, query=query, content_type=MERGE)
        operations = [{"op": "add", "path": "/spec/foo", "value": 1}]
        await stage.ask("PATCH", stage.path(LEASES, "a"), operations, query=query, content_type=JSON_PATCH)
    await stage.ask("GET", stage.path(LEASES, "a"))


async def field_validation_of_custom_resources(stage: Stage) -> None:
    kind = Defined(stage, "parcels", "Parcel")
    properties: Document = {
        "text": {"type": "string"},
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "object": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    }
    await kind.create(version(spec_schema(properties)))
    inner = {"kind": "A", "apiVersion": "v1", "metadata": {"foo": 1}, "bar": 1}
    spec = {"x": 1, "list": [{"b": 1}], "free": {"y": 1}, "object": inner}
    for mode in _MODES:
        body = kind.body("a", metadata={"foo": 1}, spec=spec, zzz=1)
        await stage.ask("POST", kind.path(), body, query=_query(mode))
        text = f'{{"kind":"Parcel","apiVersion":"{body["apiVersion"]}","metadata":{{"name":"a","name":"b"}},'
        text += '"spec":{"text":"1","text":"2","x":1,"x":2}}'
        await stage.ask("POST", kind.path(), text, query=_query(mode))
    await stage.ask("POST", kind.path(), kind.body("a", spec={"text": "x"}))
    for mode in ("", "Ignore"):
        query = {"fieldValidation": mode} if mode else None
        await stage.ask("PATCH", kind.path("a"), {"spec": {"x": 1}}, query=query, content_type=MERGE)
    finalizers = {"finalizers": ["x", "x.y", "a/b"]}
    await stage.ask("POST", kind.path(), kind.body("b", metadata=finalizers), query=_DRY)
    await kind.remove()


HISTORIES = (
    unknown_and_repeated_fields,
    unknown_fields_at_any_depth,
    field_validation_of_updates,
    field_validation_of_custom_resources,
)
