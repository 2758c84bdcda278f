"""The scale subresource, of a custom resource and of a built-in kind."""

from __future__ import annotations

from tests.contract.histories.defined import Defined, spec_schema, version
from tests.contract.transcripts import APPLY, JSON_PATCH, MERGE, STRATEGIC, Document, Stage

_PATHS = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def _scale(name: str, replicas: object, **metadata: str) -> Document:
    metadata = {"name": name, **metadata}
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": {"replicas": replicas}}


async def scale_of_a_custom_resource(stage: Stage) -> None:
    kind = Defined(stage, "herds", "Herd")
    schema = spec_schema({"replicas": {"type": "integer"}, "text": {"type": "string"}})
    numbers = {"replicas": {"type": "integer"}, "selector": {"type": "string"}}
    schema["properties"]["status"] = {"type": "object", "properties": numbers}
    await kind.create(version(schema, subresources={"status": {}, "scale": _PATHS}))
    await stage.ask("POST", kind.path(), kind.body("empty"), quiet=True)
    await stage.ask("GET", kind.path("empty", "scale"))
    await stage.ask("PATCH", kind.path("empty", "scale"), {"spec": {"replicas": 2}}, content_type=MERGE)
    await stage.ask("POST", kind.path(), kind.body("one", spec={"replicas": 3, "text": "x"}), quiet=True)
    one = kind.path("one", "scale")
    await stage.ask("GET", one)
    status = {"status": {"replicas": 2, "selector": "a=b"}}
    await stage.ask("PATCH", kind.path("one", "status"), status, content_type=MERGE, quiet=True)
    await stage.ask("GET", one)
    await stage.ask("PUT", one, _scale("one", 5))
    await stage.ask("GET", kind.path("one"))
    await stage.ask("PUT", one, _scale("one", 5, resourceVersion="1"))
    await stage.ask("PUT", one, _scale("other", 5))
    await stage.ask("PUT", one, _scale("one", -1))
    await stage.ask("PUT", one, _scale("one", "x"))
    await stage.ask("PUT", one, kind.body("one", spec={"replicas": 1}))
    await stage.ask("PUT", one, _scale("one", 4), query={"dryRun": "All"})
    await stage.ask("PATCH", one, {"spec": {"replicas": 7}}, content_type=MERGE)
    operations = [{"op": "replace", "path": "/spec/replicas", "value": 0}]
    await stage.ask("PATCH", one, operations, content_type=JSON_PATCH)
    await stage.ask("PATCH", one, {"spec": {"replicas": 7}}, content_type=STRATEGIC)
    await stage.ask("GET", kind.path("none", "scale"))
    await stage.ask("PUT", kind.path("none", "scale"), _scale("none", 1))
    await stage.ask("DELETE", one)
    await stage.ask("POST", one, _scale("one", 1))
    await stage.ask("POST", kind.path(), kind.body("bad", spec={"replicas": -1}))
    await stage.ask("POST", kind.path(), kind.body("bad", spec={"replicas": 2147483648}))
    await stage.ask("PATCH", kind.path("one", "status"), {"status": {"replicas": -1}}, content_type=MERGE)
    await kind.remove()


async def scale_of_a_built_in_kind(stage: Stage) -> None:
    path = stage.path("apps/v1/replicasets")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "x", "image": "y"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "metadata": {"name": "one"}, "spec": spec}
    await stage.ask("POST", path, body, quiet=True)
    one = stage.path("apps/v1/replicasets", "one", "scale")
    await stage.ask("GET", one)
    await stage.ask("PUT", one, _scale("one", 5))
    await stage.ask("PUT", one, _scale("one", 5, resourceVersion="1"))
    await stage.ask("PUT", one, _scale("other", 5))
    await stage.ask("PUT", one, _scale("one", -1))
    await stage.ask("PUT", one, _scale("one", "x"))
    await stage.ask("PATCH", one, {"spec": {"replicas": 7, "foo": 1}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"replicas": 1}}, content_type=STRATEGIC)
    await stage.ask("GET", stage.path("apps/v1/replicasets", "one"))
    await stage.ask("GET", stage.path("apps/v1/replicasets", "none", "scale"))
    await stage.ask("DELETE", one)


async def scale_by_apply(stage: Stage) -> None:
    """An owner of the number is an owner of the field of the object, by way of its scale."""
    deployments = stage.path("apps/v1/deployments")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "x", "image": "y"}]}}
    deployment = {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "one"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    await stage.ask("PATCH", f"{deployments}/one", deployment, query={"fieldManager": "a"}, content_type=APPLY)
    kind = Defined(stage, "flocks", "Flock")
    schema = spec_schema({"replicas": {"type": "integer"}})
    schema["properties"]["status"] = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
    paths = {name: path for name, path in _PATHS.items() if name != "labelSelectorPath"}
    await kind.create(version(schema, subresources={"status": {}, "scale": paths}))
    await stage.ask("POST", kind.path(), kind.body("one", spec={"replicas": 2}))
    applies: list[tuple[dict[str, str], Document]] = [
        ({}, _scale("one", 3)),
        ({"fieldManager": "a"}, _scale("one", 3)),
        ({"fieldManager": "a"}, _scale("one", 2)),
        ({"fieldManager": "a", "force": "true"}, _scale("one", 4)),
        ({"fieldManager": "a"}, _scale("other", 1)),
        ({"fieldManager": "a"}, deployment),
        ({"fieldManager": "a"}, _scale("one", 5)),
        ({"fieldManager": "b"}, _scale("one", 6)),
        ({"fieldManager": "b", "dryRun": "All", "force": "true"}, _scale("one", 6)),
        ({"fieldManager": "a"}, _scale("one", -1)),
        ({"fieldManager": "b"}, _scale("one", -1)),
        ({"fieldManager": "a"}, _scale("one", 1, resourceVersion="1")),
    ]
    # The real server cannot convert the scale of a custom resource that an apply changes: 500.
    for one in (f"{deployments}/one", kind.path("one")):
        for query, body in applies:
            await stage.ask("PATCH", f"{one}/scale", body, query=query, content_type=APPLY)
            await stage.ask("GET", one)
    await stage.ask(
        "PATCH", f"{deployments}/none/scale", _scale("none", 1), query={"fieldManager": "a"}, content_type=APPLY
    )
    await kind.remove()


HISTORIES = (scale_by_apply, scale_of_a_custom_resource, scale_of_a_built_in_kind)
