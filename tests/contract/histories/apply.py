"""Server-side apply: creating, changing, conflicts, giving fields up, and lists of every type."""

from __future__ import annotations

from typing import Any

from tests.contract.histories.managed_fields import by
from tests.contract.histories.objects import CONFIG_MAPS, config_map, define
from tests.contract.transcripts import APPLY, MERGE, Document, Stage

GARDENS = "history.shardfleet.dev/v1/gardens"

_PLANT: Document = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "bed": {"type": "string", "default": "north"},
        "count": {"type": "integer"},
        "notes": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
_GARDEN_SCHEMA: Document = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "plants": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name", "bed"],
                    "items": _PLANT,
                },
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "path": {"type": "array", "items": {"type": "string"}},
                "owner": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "properties": {"name": {"type": "string"}, "mail": {"type": "string"}},
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "amount": {"x-kubernetes-int-or-string": True},
            },
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}, "wet": {"type": "boolean"}}},
    },
}


def garden(spec: Document, **rest: Any) -> Document:
    return {
        "kind": "Garden",
        "apiVersion": "history.shardfleet.dev/v1",
        "metadata": {"name": "one"},
        "spec": spec,
        **rest,
    }


class _Applier:
    """Applies under many names to one object."""

    def __init__(self, stage: Stage, path: str) -> None:
        self._stage = stage
        self._path = path

    async def __call__(self, manager: str, body: Any, **query: str) -> Document:
        return await self._stage.ask("PATCH", self._path, body, query=by(manager) | query, content_type=APPLY)


def _ordered_causes(answer: Document) -> None:
    """Conflicts with several managers: the real server lists them as its map happens to be."""
    causes = answer.get("details", {}).get("causes")
    if causes:
        causes.sort(key=lambda cause: (cause["message"], cause["field"]))


async def applies(stage: Stage) -> None:
    one = stage.path(CONFIG_MAPS, "one")
    apply = _Applier(stage, one)
    await apply("a", config_map("one", {"a": "1", "b": "1"}))
    await apply("a", config_map("one", {"a": "1", "b": "1"}))
    await apply("a", config_map("one", {"a": "1"}))
    await apply("b", config_map("one", {"a": "1", "c": "1"}))
    await apply("b", config_map("one", {"a": "2", "c": "1"}))
    await apply("b", config_map("one", {"a": "2", "c": "1"}), force="true")
    await apply("a", config_map("one", {"a": "1"}))
    await apply("a", config_map("one", {}))
    await apply("b", config_map("one", {"c": "2"}))
    await stage.ask("PATCH", one, {"data": {"c": "3", "d": "4"}}, query=by("c"), content_type=MERGE)
    await apply("b", config_map("one", {"c": "2"}))
    both = config_map("one", {"c": "2", "d": "5"}, labels={"x": "y"})
    await apply("b", both)
    await apply("b", both, dryRun="All", force="true")
    await apply("b", both, force="true")
    await apply("b", {"kind": "ConfigMap", "apiVersion": "v1"})
    await stage.ask("GET", one)
    await apply("d", "kind: ConfigMap\napiVersion: v1\ndata:\n  yes: 'no'\n  1: 'x'\n  when: 2026-01-01T00:00:00Z\n")
    await apply("d", config_map("one", {"e": "1"}, finalizers=["example.com/a"]))
    await apply("e", config_map("one", {"e": "1"}, finalizers=["example.com/b"]))
    await apply("d", config_map("one", {"e": "1"}))
    await apply("e", config_map("one", {"e": "1"}))


async def conflicts(stage: Stage) -> None:
    one = stage.path(CONFIG_MAPS, "one")
    apply = _Applier(stage, one)
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one", {"a": "1", "b": "1"}), query=by("maker"))
    await apply("a", config_map("one", {"a": "2"}))
    await apply("a", config_map("one", {"a": "2", "b": "2"}))
    await apply("a", config_map("one", {"a": "1", "c": "1"}))
    wanted = config_map("one", {"b": "2", "c": "2"})
    await stage.ask("PATCH", one, wanted, query=by("b"), content_type=APPLY, before=_ordered_causes)
    await apply("b", wanted, force="true")
    await apply("a", config_map("one", {"a": "1", "c": "1"}))
    await stage.ask("PATCH", one, {"metadata": {"managedFields": [{}]}}, content_type=MERGE)
    await apply("a", config_map("one", {"a": "3"}))
    await apply("a", config_map("one", {"a": "1"}))


async def refused_applies(stage: Stage) -> None:
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one"))
    one, absent = stage.path(CONFIG_MAPS, "one"), stage.path(CONFIG_MAPS, "absent")
    right: Document = {"kind": "ConfigMap", "apiVersion": "v1"}
    refused: tuple[Any, ...] = (
        {},
        [],
        "",
        "text",
        {"kind": "ConfigMap"},
        {"apiVersion": "v1"},
        {"kind": "Secret", "apiVersion": "v1"},
        {"kind": "ConfigMap", "apiVersion": "v2"},
        {"kind": "ConfigMap", "apiVersion": "apps/v1"},
        right | {"metadata": {"name": "two"}},
        right | {"metadata": {"name": "one", "namespace": "elsewhere"}},
        right | {"metadata": {"name": "one", "managedFields": []}},
        right | {"metadata": {"name": "one", "managedFields": [{}]}},
        right | {"metadata": {"name": "one", "resourceVersion": "1"}, "data": {"z": "z"}},
        right | {"metadata": {"name": "one", "uid": "11111111-2222-4333-8444-555555555555"}},
        right | {"data": {"b": 1}},
        right | {"data": ["b"]},
        right | {"other": 1},
        right | {"immutable": "yes"},
        right | {"data": {"b c": "1"}},
        right | {"metadata": {"labels": {"a": "b c"}}},
        right | {"metadata": {"finalizers": ["example.com/a", "example.com/a"]}},
        right | {"metadata": {"ownerReferences": [{"name": "a"}]}},
    )
    for body in refused:
        await stage.ask("PATCH", one, body, query=by("a"), content_type=APPLY)
    for body in (
        right,
        right | {"metadata": {"name": "absent", "uid": "11111111-2222-4333-8444-555555555555"}},
        right | {"metadata": {"name": "absent", "resourceVersion": "1"}},
        right | {"metadata": {"name": "absent", "generateName": "x"}},
    ):
        await stage.ask("PATCH", absent, body, query=by("a"), content_type=APPLY)
    twice = "kind: ConfigMap\napiVersion: v1\ndata:\n  d: '5'\n  d: '6'\n"
    for validation in ("Ignore", "Warn", "Strict"):
        query = by("a") | {"fieldValidation": validation}
        await stage.ask("PATCH", one, twice, query=query, content_type=APPLY)


async def lists_of_every_type(stage: Stage) -> None:
    await define(stage, "gardens", "Garden", _GARDEN_SCHEMA, status=True)
    apply = _Applier(stage, stage.path(GARDENS, "one"))
    rose, tulip = {"name": "rose", "count": 1}, {"name": "tulip", "bed": "south", "notes": {"a": "b"}}
    await apply("a", garden({"plants": [rose, tulip], "tags": ["x", "y"], "path": ["p"], "owner": {"name": "n"}}))
    await apply("b", garden({"plants": [{"name": "oak"}, {"name": "rose", "bed": "north"}], "tags": ["z", "x"]}))
    await apply("b", garden({"plants": [{"name": "rose", "count": 2}]}))
    await apply("b", garden({"plants": [{"name": "rose", "count": 1}], "path": ["q"]}))
    await apply("b", garden({"plants": [{"name": "rose", "count": 1}], "owner": {"mail": "m"}}), force="true")
    await apply("a", garden({"plants": [tulip, rose], "tags": ["y"]}))
    await apply("a", garden({"plants": [{"name": "tulip", "bed": "south"}]}))
    await apply("b", garden({"plants": [], "tags": []}))
    await apply("c", garden({"plants": [{"name": "fern"}, {"name": "fern", "bed": "north"}]}))
    await apply("c", garden({"plants": [{"bed": "south"}]}))
    await apply("c", garden({"plants": [None]}))
    await apply("c", garden({"plants": ["fern"]}))
    await apply("c", garden({"tags": ["t", "t"]}))
    await apply("c", garden({"tags": [None]}))
    await apply("c", garden({"tags": [{"t": 1}]}))
    await apply("c", garden({"tags": [1]}))
    await apply("c", garden({"size": "big"}))
    await apply("c", garden({"owner": 3}))
    await apply("c", garden({"unknown": 3}))
    await apply("c", garden({"free": {"a": {"b": [1]}, "c": None, "d": {}}, "amount": 3}))
    await apply("c", garden({"free": {"a": {"b": [2]}}, "amount": "3"}))
    await apply("d", garden({"free": {"a": {"b": [3]}}}))
    await apply("d", garden({"free": {"a": 3}}))
    await apply("c", garden({"free": {}}))
    await apply("c", {"kind": "Garden", "apiVersion": "history.shardfleet.dev/v1", "metadata": {"name": "one"}})


async def applied_status(stage: Stage) -> None:
    await define(stage, "gardens", "Garden", _GARDEN_SCHEMA, status=True)
    main, status = stage.path(GARDENS, "one"), stage.path(GARDENS, "one", "status")
    on_main, on_status = _Applier(stage, main), _Applier(stage, status)
    whole = garden({"size": 1}, status={"phase": "A"})
    await on_status("a", whole)
    await on_main("a", whole)
    await on_status("a", whole)
    await on_status("b", garden({"size": 2}, status={"phase": "B"}))
    await on_status("b", garden({"size": 2}, status={"phase": "B", "wet": True}), force="true")
    await on_main("b", garden({"size": 1}, status={"phase": "C"}))
    await on_status("b", garden({}, status={}))
    await on_status("a", garden({}))
    await on_main("a", garden({}))


async def from_client_side_apply(stage: Stage) -> None:
    """kubectl takes over what it applied client-side, and keeps its annotation."""
    one = stage.path(CONFIG_MAPS, "one")
    annotation = "kubectl.kubernetes.io/last-applied-configuration"
    text = '{"apiVersion":"v1","data":{"a":"1","b":"1"},"kind":"ConfigMap","metadata":{"name":"one"}}\n'
    made = config_map("one", {"a": "1", "b": "1"}, annotations={annotation: text})
    await stage.ask("POST", stage.path(CONFIG_MAPS), made, query=by("kubectl-client-side-apply"))
    await stage.ask("PATCH", one, {"data": {"b": "2"}}, query=by("other"), content_type=MERGE)
    apply = _Applier(stage, one)
    await apply("elsewhere", config_map("one", {"a": "9"}))
    await apply("kubectl", config_map("one", {"a": "9", "b": "9"}))
    await apply("kubectl", config_map("one", {"a": "9"}))
    await apply("kubectl", config_map("one", {"a": "9"}, labels={"x": "y"}))


HISTORIES = (
    applies,
    conflicts,
    refused_applies,
    lists_of_every_type,
    applied_status,
    from_client_side_apply,
)
