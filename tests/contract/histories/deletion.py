"""Deletes: their options, finalizers and preconditions, objects that end, and whole collections."""

from __future__ import annotations

from typing import Any

from tests.contract.histories.objects import CONFIG_MAPS, config_map
from tests.contract.transcripts import MERGE, YAML, Document, Stage

_OTHER_UID = "11111111-2222-4333-8444-555555555555"


async def _made(stage: Stage, *finalizers: str) -> str:
    """The path of a fresh object."""
    one = stage.path(CONFIG_MAPS, "one")
    await stage.ask("PATCH", one, {"metadata": {"finalizers": None}}, content_type=MERGE, quiet=True)
    await stage.ask("DELETE", one, quiet=True)
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one", finalizers=list(finalizers)), quiet=True)
    return one


async def delete_bodies(stage: Stage) -> None:
    bodies: tuple[Any, ...] = (
        None,
        {},
        "{",
        "[]",
        '"text"',
        "null",
        {"kind": "DeleteOptions", "apiVersion": "v1"},
        {"kind": "DeleteOptions", "apiVersion": "apps/v1"},
        {"kind": "Other", "apiVersion": "v1"},
        {"unknown": 1},
        {"gracePeriodSeconds": "x"},
        {"gracePeriodSeconds": 5},
        {"gracePeriodSeconds": -1},
        {"propagationPolicy": "Other"},
        {"propagationPolicy": "Orphan", "orphanDependents": True},
        {"propagationPolicy": "Background", "dryRun": ["Some"]},
        {"dryRun": ["All"]},
        {"dryRun": ["Some"]},
        {"dryRun": []},
        {"dryRun": "All"},
        {"preconditions": {"uid": _OTHER_UID}},
        {"preconditions": {"resourceVersion": "1"}},
        {"preconditions": {"uid": 5}},
        {"preconditions": {}},
        {"preconditions": {"uid": ""}},
        {"ignoreStoreReadErrorWithClusterBreakingPotential": True},
        {"ignoreStoreReadErrorWithClusterBreakingPotential": True, "gracePeriodSeconds": 0},
    )
    for body in bodies:
        await stage.ask("DELETE", await _made(stage), body)
    one = await _made(stage)
    await stage.ask("DELETE", one, "{}", content_type="text/plain")
    await stage.ask("DELETE", one, "dryRun: [All]\n", content_type=YAML)
    await stage.ask("GET", one)


async def delete_queries(stage: Stage) -> None:
    for query in (
        {"dryRun": "All"},
        {"dryRun": "Some"},
        {"propagationPolicy": "Other"},
        {"propagationPolicy": "Background"},
        {"gracePeriodSeconds": "0"},
        {"orphanDependents": "false"},
    ):
        await stage.ask("DELETE", await _made(stage), query=query)
    one = await _made(stage, "example.com/a")
    await stage.ask("DELETE", one, {}, query={"dryRun": "All", "propagationPolicy": "Foreground"})
    await stage.ask("GET", one)


async def finalizers_of_policies(stage: Stage) -> None:
    cases: tuple[tuple[tuple[str, ...], Document], ...] = (
        (("example.com/a",), {}),
        (("example.com/a",), {"propagationPolicy": "Foreground"}),
        (("example.com/a",), {"propagationPolicy": "Orphan"}),
        (("example.com/a", "orphan"), {"propagationPolicy": "Background"}),
        (("example.com/a", "foregroundDeletion"), {}),
        (("example.com/a",), {"orphanDependents": True}),
        (("example.com/a", "orphan"), {"orphanDependents": False}),
    )
    for finalizers, options in cases:
        one = await _made(stage, *finalizers)

        def without_those_of_the_collector(answer: Document) -> None:
            # The garbage collector may have answered its finalizers already; the server's own order is kept.
            answer.get("metadata", {}).pop("managedFields", None)

        await stage.ask("DELETE", one, options, before=without_those_of_the_collector)


async def objects_that_end(stage: Stage) -> None:
    one = await _made(stage, "example.com/a", "example.com/b")
    await stage.ask("DELETE", one)
    await stage.ask("DELETE", one)
    await stage.ask("DELETE", one, {"preconditions": {"uid": _OTHER_UID}})
    for metadata in (
        {"finalizers": ["example.com/a", "example.com/b", "example.com/c"]},
        {"deletionTimestamp": None},
        {"deletionGracePeriodSeconds": None},
        {"labels": {"a": "b"}},
        {"finalizers": ["example.com/b"]},
    ):
        await stage.ask("PATCH", one, {"metadata": metadata}, content_type=MERGE)
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one"))
    await stage.ask("PUT", one, config_map("one", {"a": "2"}, finalizers=["example.com/b"]))
    await stage.ask("PUT", one, config_map("one", {"a": "3"}))
    await stage.ask("GET", one)


async def collections(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    for name in ("a", "b", "c"):
        finalizers = ["example.com/a"] if name == "c" else []
        await stage.ask("POST", collection, config_map(name, labels={"x": name}, finalizers=finalizers), quiet=True)
    selected = {"labelSelector": "x"}
    for body in (
        {"propagationPolicy": "Other"},
        {"propagationPolicy": "Orphan", "orphanDependents": True},
        {"dryRun": ["Some"]},
        "{",
        {"preconditions": {"uid": _OTHER_UID}},
        {"ignoreStoreReadErrorWithClusterBreakingPotential": True},
    ):
        await stage.ask("DELETE", collection, body, query=selected)
    await stage.ask("DELETE", collection, query={"labelSelector": "x in"})
    await stage.ask("DELETE", collection, query=selected | {"propagationPolicy": "Other"})
    await stage.ask("DELETE", collection, query=selected | {"dryRun": "All"})
    await stage.ask("DELETE", collection, query={"labelSelector": "x=a"})
    await stage.ask("DELETE", collection, {"propagationPolicy": "Background"}, query=selected)
    await stage.ask("GET", collection, query=selected)
    await stage.ask("PATCH", stage.path(CONFIG_MAPS, "c"), {"metadata": {"finalizers": None}}, content_type=MERGE)
    await stage.ask("GET", collection, query=selected)


HISTORIES = (delete_bodies, delete_queries, finalizers_of_policies, objects_that_end, collections)
