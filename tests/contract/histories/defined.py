"""Kinds that a history defines for itself, in a group of its run."""

from __future__ import annotations

from typing import Any

from tests.contract.histories.objects import DEFINITIONS
from tests.contract.transcripts import Document, Stage


def group_of(stage: Stage) -> str:
    return f"defined-things-{stage.run}.shardfleet.dev"


def version(schema: Document | None, name: str = "v1", **more: Any) -> Document:
    """One version of a definition; served and stored unless `more` says otherwise. schema: of the whole object."""
    made: Document = {"name": name, "served": True, "storage": True, **more}
    if schema is not None:
        made["schema"] = {"openAPIV3Schema": schema}
    return made


def definition_of(stage: Stage, plural: str, kind: str, *versions: Document, **more: Any) -> Document:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group_of(stage)}"},
        "spec": {
            "group": group_of(stage),
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": list(versions),
            **more,
        },
    }


def spec_schema(properties: Document, **more: Any) -> Document:
    """Of an object with a spec that has these fields."""
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties, **more}}}


class Defined:
    """A kind of this run. name: of its definition."""

    def __init__(self, stage: Stage, plural: str, kind: str) -> None:
        self.stage = stage
        self.plural = plural
        self.kind = kind
        self.name = f"{plural}.{group_of(stage)}"

    @property
    def definition(self) -> str:
        return f"{DEFINITIONS}/{self.name}"

    def path(self, name: str = "", subresource: str = "", *, version: str = "v1") -> str:
        return self.stage.path(f"{group_of(self.stage)}/{version}/{self.plural}", name, subresource)

    def body(self, name: str, *, version: str = "v1", **fields: Any) -> Document:
        metadata = {"name": name, **fields.pop("metadata", {})}
        return {"kind": self.kind, "apiVersion": f"{group_of(self.stage)}/{version}", "metadata": metadata, **fields}

    async def create(self, *versions: Document, quiet: bool = True, **more: Any) -> None:
        """Creates the definition, and waits until its versions are served."""
        made = definition_of(self.stage, self.plural, self.kind, *versions, **more)
        await self.stage.ask("POST", DEFINITIONS, made, quiet=quiet)
        await self.stage.until(self.definition, established)
        for each in versions:
            if each["served"]:
                await self.served(each["name"])

    async def served(self, version: str = "v1") -> None:
        await self.served_as(self.kind, version)

    async def served_as(self, kind: str, version: str = "v1") -> None:
        await self.stage.until(self.path(version=version), lambda answer: answer.get("kind") == f"{kind}List")

    async def unserved(self, version: str = "v1") -> None:
        await self.stage.until(self.path(version=version), lambda answer: answer.get("kind") != f"{self.kind}List")

    async def change(self, patch: Document, *, quiet: bool = False) -> None:
        await self.stage.ask("PATCH", self.definition, patch, content_type="application/merge-patch+json", quiet=quiet)

    async def remove(self) -> None:
        """Deletes the definition, and waits until it is gone."""
        await self.stage.ask("DELETE", self.definition, quiet=True)
        await self.stage.until(self.definition, lambda answer: answer.get("code") == 404)


def established(answer: Document) -> bool:
    conditions = answer.get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
