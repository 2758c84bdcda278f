"""What many histories are about: the resources, and objects of them."""

from __future__ import annotations

from typing import Any

from tests.contract.transcripts import Document, Stage

CONFIG_MAPS = "v1/configmaps"


LEASES = "coordination.k8s.io/v1/leases"


WEBSITES = "history.shardfleet.dev/v1/websites"


PLAIN = "history.shardfleet.dev/v1/plains"


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


WEBSITE_SCHEMA: Document = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["domain"],
            "properties": {
                "domain": {"type": "string", "minLength": 3, "maxLength": 20, "pattern": "^[a-z.]+$"},
                "replicas": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
                "tier": {"type": "string", "enum": ["free", "paid"], "default": "free"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "paths": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
        "status": {
            "type": "object",
            "properties": {"ready": {"type": "boolean"}, "phase": {"type": "string"}},
        },
    },
}


def definition(plural: str, kind: str, schema: Document, *, status: bool) -> Document:
    version: Document = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if status:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.history.shardfleet.dev"},
        "spec": {
            "group": "history.shardfleet.dev",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "singular": kind.lower()},
            "versions": [version],
        },
    }


async def define(stage: Stage, plural: str, kind: str, schema: Document, *, status: bool) -> None:
    """Creates the definition once a server, and waits until its resource is served."""
    await stage.ask("POST", DEFINITIONS, definition(plural, kind, schema, status=status), quiet=True)

    def established(answer: Document) -> bool:
        conditions = answer.get("status", {}).get("conditions") or []
        return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)

    await stage.until(f"{DEFINITIONS}/{plural}.history.shardfleet.dev", established)
    path = stage.path(f"history.shardfleet.dev/v1/{plural}")
    await stage.until(path, lambda answer: answer.get("kind") == f"{kind}List")


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> Document:
    return {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": name, **metadata},
        "data": data if data is not None else {"a": "1"},
    }


def website(name: str, spec: Document | None = None, **metadata: Any) -> Document:
    return {
        "kind": "Website",
        "apiVersion": "history.shardfleet.dev/v1",
        "metadata": {"name": name, **metadata},
        "spec": spec if spec is not None else {"domain": "a.example"},
    }


def preconditions(**wanted: str) -> Document:
    return {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": wanted}
