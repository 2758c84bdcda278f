"""Several versions of one definition: reads, lists, watches and writes in each, and what becomes of a version."""

from __future__ import annotations

from tests.contract.histories.defined import Defined, spec_schema, version
from tests.contract.transcripts import MERGE, Document, Stage

_OLD: Document = spec_schema({"text": {"type": "string"}, "size": {"type": "integer", "default": 1}})
_NEW: Document = spec_schema(
    {"text": {"type": "string"}, "colour": {"type": "string", "default": "red"}, "size": {"type": "integer"}}
)


async def versions_of_one_kind(stage: Stage) -> None:
    kind = Defined(stage, "boxes", "Box")
    deprecated = {"storage": False, "deprecated": True}
    await kind.create(
        version(_OLD),
        version(_NEW, "v2", storage=False),
        version(_OLD, "v1beta1", **deprecated),
        version(_OLD, "v1alpha1", **deprecated, deprecationWarning="use v2"),
        version(_OLD, "v3", storage=False, served=False),
    )
    watched = kind.path(version="v2")
    async with stage.watch(watched, {"resourceVersion": "0", "allowWatchBookmarks": "false"}) as events:
        await stage.ask("POST", kind.path(), kind.body("one", spec={"text": "x", "colour": "blue"}))
        body = kind.body("two", version="v2", spec={"text": "y", "colour": "green"})
        await stage.ask("POST", kind.path(version="v2"), body)
        await events(2)
    for each in ("v1", "v2", "v1beta1", "v1alpha1", "v3"):
        await stage.ask("GET", kind.path("two", version=each))
        await stage.ask("GET", kind.path(version=each))
    path = kind.path("one", version="v2")
    change: Document = {"spec": {"size": 3}}
    await stage.ask("PATCH", path, change, content_type=MERGE, before=_without_managers)
    change = {"spec": {"text": "z"}}
    await stage.ask("PATCH", kind.path("one"), change, content_type=MERGE, before=_without_managers)
    read = await stage.ask("GET", kind.path("two", version="v2"), quiet=True)
    read["spec"]["text"] = "w"
    await stage.ask("PUT", kind.path("two", version="v2"), read, before=_without_managers)
    await stage.ask("PUT", kind.path("two"), read)
    await stage.ask("DELETE", kind.path("two", version="v1beta1"))
    await kind.remove()


def _without_managers(answer: Document) -> None:
    """The real server gives them up where a version does not declare what another one has."""
    answer["metadata"].pop("managedFields", None)


async def life_of_a_version(stage: Stage) -> None:
    kind = Defined(stage, "jars", "Jar")
    await kind.create(version(_OLD), version(_NEW, "v2", storage=False))
    await stage.ask("POST", kind.path(), kind.body("one", spec={"text": "x", "size": 2}), quiet=True)
    await kind.change({"spec": {"versions": [version(_OLD, storage=False), version(_NEW, "v2")]}})
    await stage.until(kind.definition, lambda answer: len(answer["status"]["storedVersions"]) == 2)
    await stage.ask("GET", kind.path("one"))
    await stage.ask("GET", kind.path("one", version="v2"))
    await stage.ask("PATCH", kind.path("one"), {"spec": {"text": "y"}}, content_type=MERGE)
    await stage.ask("GET", kind.path("one", version="v2"))
    await kind.change({"spec": {"versions": [version(_NEW, "v2")]}})
    await kind.change({"spec": {"versions": [version(_OLD, storage=False, served=False), version(_NEW, "v2")]}})
    await kind.unserved()
    await stage.ask("GET", kind.path("one"))
    await stage.ask("PATCH", f"{kind.definition}/status", {"status": {"storedVersions": ["v2"]}}, content_type=MERGE)
    await kind.change({"spec": {"versions": [version(_NEW, "v2")]}})
    await stage.ask("GET", kind.path("one", version="v2"))
    await kind.remove()


HISTORIES = (versions_of_one_kind, life_of_a_version)
