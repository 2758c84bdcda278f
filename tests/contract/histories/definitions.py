"""CustomResourceDefinitions: those that are refused, their life, and the names that they compete for."""

from __future__ import annotations

from typing import Any

from tests.contract.histories.defined import (
    Defined,
    definition_of,
    established,
    group_of,
    spec_schema,
    version,
)
from tests.contract.histories.objects import DEFINITIONS
from tests.contract.transcripts import MERGE, Document, Stage

_DRY = {"dryRun": "All"}
_OBJECT: Document = {"type": "object"}


async def _refused(stage: Stage, *versions: Document, **spec: Any) -> None:
    await stage.ask("POST", DEFINITIONS, definition_of(stage, "foos", "Foo", *versions, **spec), query=_DRY)


async def refused_definitions(stage: Stage) -> None:
    await stage.ask("POST", DEFINITIONS, {"metadata": {"name": "x"}}, query=_DRY)
    await _refused(stage)
    await _refused(stage, version(None))
    await _refused(stage, version(_OBJECT, storage=False))
    await _refused(stage, version(_OBJECT), version(_OBJECT, storage=False))
    await _refused(stage, version(_OBJECT), version(spec_schema({"a": {"type": "string"}}), "v2"))
    await _refused(stage, version(_OBJECT, "V1"))
    await _refused(stage, version(_OBJECT, deprecationWarning="x"))
    await _refused(stage, version(_OBJECT), scope="Foo")
    await _refused(stage, version(_OBJECT), group="nodot")
    await _refused(stage, version(_OBJECT), group="Upper.case")
    await _refused(stage, version(_OBJECT), names={"plural": "bars", "kind": "Foo"})
    wrong = {"plural": "Foos", "kind": "9F", "listKind": "9F", "singular": "A_"}
    await _refused(stage, version(_OBJECT), names={**wrong, "shortNames": ["A"], "categories": ["B_"]})
    await _refused(stage, version(_OBJECT), preserveUnknownFields=True)
    await _refused(stage, version(_OBJECT), conversion={"strategy": "Webhook"})
    await _refused(stage, version(_OBJECT), conversion={"strategy": "Foo"})
    approved = definition_of(stage, "foos", "Foo", version(_OBJECT), group="x.k8s.io")
    approved["metadata"]["name"] = "foos.x.k8s.io"
    await stage.ask("POST", DEFINITIONS, approved, query=_DRY)


async def refused_parts_of_versions(stage: Stage) -> None:
    scale = {"specReplicasPath": "x", "statusReplicasPath": ".foo", "labelSelectorPath": ".x"}
    await _refused(stage, version(_OBJECT, subresources={"scale": scale}))
    await _refused(stage, version(_OBJECT, subresources={"scale": {}}))
    await _refused(stage, version(_OBJECT, additionalPrinterColumns=[{"name": "", "type": "foo", "jsonPath": "x"}]))
    column = {"name": "a", "type": "string", "format": "foo", "jsonPath": ""}
    await _refused(stage, version(_OBJECT, additionalPrinterColumns=[column]))
    schema = spec_schema({"a": {"type": "string"}, "b": {"type": "object"}})
    paths = (".spec.x", ".spec.b", ".spec.a", ".spec.a", "")
    await _refused(stage, version(schema, selectableFields=[{"jsonPath": each} for each in paths]))


async def refused_schemas(stage: Stage) -> None:
    strings = {"type": "string"}
    properties: Document
    for properties in (
        {"a": {}},
        {"a": {"type": "array"}},
        {"a": {"type": "foo"}},
        {"a": {"type": "null"}},
        {"a": {"type": "string", "pattern": "(?=x)"}},
        {"a": {"type": "string", "pattern": "(a"}},
        {"a": {"type": "integer", "default": "x"}},
        {"a": {"type": "object", "default": {"b": 1}}},
        {"a": {"type": "integer", "default": 7, "maximum": 5}},
        {"a": {"type": "array", "uniqueItems": True, "items": strings}},
        {"a": {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}},
        {"a": {"type": "array", "x-kubernetes-list-type": "foo", "items": strings}},
        {"a": {"type": "string", "x-kubernetes-list-type": "set"}},
        {"a": {"type": "string", "x-kubernetes-map-type": "atomic"}},
        {"a": {"type": "object", "x-kubernetes-map-type": "foo"}},
        {"a": {"type": "object", "properties": {"b": strings}, "additionalProperties": strings}},
        {"a": {"type": "object", "x-kubernetes-embedded-resource": True}},
        {"a": {"type": "string", "x-kubernetes-embedded-resource": True}},
        {"a": {"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True}},
        {"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": False}},
        {"a": {"type": "string", "$ref": "x"}},
        {"a": {"type": "object", "patternProperties": {"x": strings}}},
        {"a": {"type": "array", "items": [strings]}},
        {"a": {"type": "object", "anyOf": [{"properties": {"b": strings}}]}},
        {"a": {"type": "string", "allOf": [{"type": "string", "default": "x"}]}},
        {"a": {"type": "string", "not": {"description": "x", "nullable": True}}},
        {"a": {"type": "string", "x-kubernetes-validations": [{"rule": " "}]}},
    ):
        await _refused(stage, version(spec_schema(properties)))
    item = {"type": "object", "properties": {"k": strings, "l": {"type": "array", "items": strings}}}
    listed = {"type": "array", "x-kubernetes-list-type": "map", "items": item}
    for keys in (["k"], ["x"], ["l"], []):
        await _refused(stage, version(spec_schema({"a": listed | {"x-kubernetes-list-map-keys": keys}})))
    await _refused(stage, version({"type": "string"}))
    await _refused(stage, version({"type": "object", "nullable": True}))
    await _refused(stage, version({"type": "object", "additionalProperties": strings}))
    metadata = {"type": "object", "properties": {"labels": {"type": "object"}}}
    await _refused(stage, version({"type": "object", "properties": {"metadata": metadata}}))
    named = {"type": "object", "properties": {"name": {"type": "string", "default": "x"}}}
    await _refused(stage, version({"type": "object", "properties": {"metadata": named}}))
    await _refused(stage, version({"type": "object", "minProperties": 1}, subresources={"status": {}}))


async def warned_of_definitions(stage: Stage) -> None:
    atomic = {"type": "object", "x-kubernetes-map-type": "atomic"}
    sets = {"type": "array", "x-kubernetes-list-type": "set", "items": atomic}
    schema = spec_schema({"a": {"type": "string", "format": "foo"}, "b": sets, "c": {"type": "integer", "x": 1}})
    await _refused(stage, version(schema))
    schema = {**schema, "description": "", "required": [], "nullable": False, "foo": 1}
    await _refused(stage, version(schema), foo=1)


async def life_of_a_definition(stage: Stage) -> None:
    kind = Defined(stage, "cups", "Cup")
    names = {"plural": "cups", "kind": "Cup", "shortNames": ["cu"], "categories": ["all"]}
    columns = [{"name": "Text", "type": "string", "jsonPath": ".spec.text", "priority": 0}]
    made = definition_of(stage, "cups", "Cup", version(spec_schema({"text": {"type": "string"}})), names=names)
    made["spec"]["versions"][0]["additionalPrinterColumns"] = columns
    await stage.ask("POST", DEFINITIONS, made)
    await stage.until(kind.definition, established)
    await kind.served()
    await stage.ask("GET", kind.definition)
    await stage.ask("POST", DEFINITIONS, made)
    for spec in (
        {"scope": "Cluster"},
        {"group": "other.example"},
        {"names": {"plural": "mugs"}},
        {"names": {"kind": "Mug"}},
        {"names": {"listKind": "Cups"}},
        {"versions": [version(_OBJECT, "v2")]},
    ):
        await stage.ask("PATCH", kind.definition, {"spec": spec}, content_type=MERGE, query=_DRY)
    await stage.ask("POST", kind.path(), kind.body("one", spec={"text": "x"}, metadata={"finalizers": ["a/b"]}))
    await stage.ask("DELETE", kind.definition)
    deleting = kind.path("one")
    await stage.until(deleting, lambda answer: "deletionTimestamp" in answer.get("metadata", {}))
    await stage.ask("POST", kind.path(), kind.body("two", spec={"text": "x"}))
    await stage.ask("GET", kind.path())
    await stage.ask("PATCH", deleting, {"metadata": {"finalizers": None}}, content_type=MERGE)
    await stage.until(kind.definition, lambda answer: answer.get("code") == 404)
    await kind.unserved()
    await stage.ask("GET", kind.path())
    await stage.ask("GET", kind.definition)
    await kind.create(version(spec_schema({"text": {"type": "integer"}})))
    await stage.ask("GET", kind.path())
    await stage.ask("POST", kind.path(), kind.body("one", spec={"text": 1}))
    await kind.remove()


async def watched_while_a_definition_changes(stage: Stage) -> None:
    """Watches of all versions end, and none can be resumed from before, whatever it is that changes."""
    kind = Defined(stage, "jars", "Jar")
    both = version(_OBJECT), version(_OBJECT, "v2", storage=False)
    await kind.create(*both)
    columns = [{"name": "Text", "type": "string", "jsonPath": ".spec.text", "priority": 0}]
    for number, versions in enumerate(
        (
            (both[0], {**both[1], "additionalPrinterColumns": columns}),
            ({**both[0], "storage": False}, {**both[1], "storage": True}),
            ({**both[0], "storage": False, "served": False}, {**both[1], "storage": True}),
        )
    ):
        made = await stage.ask("POST", kind.path(version="v2"), kind.body(f"n{number}", version="v2"))
        query = {"resourceVersion": made["metadata"]["resourceVersion"]}
        async with (
            stage.watch(kind.path(), query) as old,
            stage.watch(kind.path(version="v2"), query) as new,
        ):
            await kind.change({"spec": {"versions": list(versions)}})
            await old(1)
            await new(1)
        await kind.served("v2")  # the real server's new cache says 429 until it is filled
        await stage.ask("GET", kind.path(version="v2"), query={**query, "resourceVersionMatch": "NotOlderThan"})
    await kind.unserved()
    await stage.ask("GET", kind.path(), query={"watch": "true", "timeoutSeconds": "1"})
    await kind.remove()


def _accepted(answer: Document) -> bool:
    return bool((answer.get("status") or {}).get("conditions"))


async def names_in_conflict(stage: Stage) -> None:
    first, second = Defined(stage, "pens", "Pen"), Defined(stage, "quills", "Quill")
    await first.create(version(_OBJECT), names={"plural": "pens", "kind": "Pen", "shortNames": ["p"]})
    names = {"plural": "quills", "kind": "Pen", "singular": "pens", "shortNames": ["p", "q"]}
    await stage.ask("POST", DEFINITIONS, definition_of(stage, "quills", "Pen", version(_OBJECT), names=names))
    await stage.until(second.definition, _accepted)
    await stage.ask("GET", second.definition)
    await stage.ask("GET", second.path())
    await first.remove()
    await stage.until(second.definition, established)
    await stage.ask("GET", second.definition)
    await second.served_as("Pen")
    await stage.ask("GET", second.path())
    note = await stage.ask("GET", f"/apis/{group_of(stage)}/v1", quiet=True)
    stage.note("served", sorted(each["name"] for each in note["resources"]))
    await second.remove()


HISTORIES = (
    refused_definitions,
    refused_parts_of_versions,
    refused_schemas,
    warned_of_definitions,
    life_of_a_definition,
    watched_while_a_definition_changes,
    names_in_conflict,
)
