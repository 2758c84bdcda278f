"""Watches: from the past, with a list in front, refused."""

from __future__ import annotations

from tests.contract.histories.objects import CONFIG_MAPS, DEFINITIONS, WEBSITE_SCHEMA, WEBSITES, config_map, define
from tests.contract.transcripts import MERGE, Stage


async def watches(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    made = await stage.ask("POST", collection, config_map("a", labels={"w": "1"}))
    version = made["metadata"]["resourceVersion"]
    async with stage.watch(collection, {"resourceVersion": version, "labelSelector": "w=1"}) as read:
        a, b = stage.path(CONFIG_MAPS, "a"), stage.path(CONFIG_MAPS, "b")
        await stage.ask("PATCH", a, {"data": {"a": "2"}}, content_type=MERGE)
        await stage.ask("PATCH", a, {"metadata": {"labels": {"w": "2"}}}, content_type=MERGE)
        await stage.ask("PATCH", a, {"data": {"a": "3"}}, content_type=MERGE)
        await stage.ask("PATCH", a, {"metadata": {"labels": {"w": "1"}}}, content_type=MERGE)
        await stage.ask("POST", collection, config_map("b", labels={"w": "1"}))
        await stage.ask("POST", collection, config_map("c"))
        await stage.ask("DELETE", a)
        await stage.ask("DELETE", b)
        await read(6)
    async with stage.watch(collection, {"resourceVersion": version, "labelSelector": "w=1"}) as read:
        await read(6)


async def watch_lists(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    for name in ("a", "b"):
        await stage.ask("POST", collection, config_map(name, labels={"w": "1"}))
    streaming = {
        "labelSelector": "w=1",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    async with stage.watch(collection, streaming) as read:
        await read(3)
        await stage.ask("DELETE", stage.path(CONFIG_MAPS, "a"))
        await read(1)
    async with stage.watch(collection, {"labelSelector": "w=1"}) as read:
        await read(1)
    async with stage.watch(collection, {"labelSelector": "w=1", "resourceVersion": "0"}) as read:
        await read(1)
    # Whether one more bookmark comes before so early an end is a matter of the real server's clock.
    async with stage.watch(collection, streaming | {"timeoutSeconds": "1"}) as read:
        await read(2)


async def refused_watches(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    for query in (
        {"sendInitialEvents": "true"},
        {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "NotOlderThan"},
        {"continue": "x"},
        {"resourceVersion": "nonsense"},
        {"labelSelector": "a in b"},
        {"fieldSelector": "none=b"},
    ):
        await stage.ask("GET", collection, query={"watch": "true", **query})
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    # The history of a custom resource begins with its definition, which is later than version 1 on every server.
    async with stage.watch(stage.path(WEBSITES), {"resourceVersion": "1"}) as read:
        await read(1)


async def beginnings_of_watches(stage: Stage) -> None:
    """Every way to say where a watch begins, and whether what exists comes first."""
    collection = stage.path(CONFIG_MAPS)
    made = [await stage.ask("POST", collection, config_map(name, {}, labels={"w": "1"})) for name in ("a", "b")]
    version = made[0]["metadata"]["resourceVersion"]
    mine = {"labelSelector": "w=1"}
    listing = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    marked = listing | {"allowWatchBookmarks": "true"}
    for query, count in (
        ({}, 2),
        ({"resourceVersion": ""}, 2),
        ({"resourceVersion": "0", "timeoutSeconds": "1"}, 3),
        ({"allowWatchBookmarks": "true"}, 3),
        ({"resourceVersion": "0", "allowWatchBookmarks": "true"}, 3),
        ({"resourceVersion": version, "timeoutSeconds": "1"}, 2),
        (listing | {"timeoutSeconds": "1"}, 3),
        (listing | {"resourceVersion": "0", "timeoutSeconds": "1"}, 3),
        (listing | {"resourceVersion": version, "timeoutSeconds": "1"}, 3),
        (marked | {"resourceVersion": "0"}, 3),
        (marked | {"resourceVersion": version}, 3),
        (listing | {"sendInitialEvents": "false", "timeoutSeconds": "1"}, 1),
        (listing | {"sendInitialEvents": "false", "resourceVersion": "0", "timeoutSeconds": "1"}, 1),
        (listing | {"sendInitialEvents": "false", "resourceVersion": version, "timeoutSeconds": "1"}, 2),
        (marked | {"limit": "1"}, 3),
        (marked | {"labelSelector": "none"}, 1),
        (marked | {"fieldSelector": "metadata.name=b"}, 2),
        (marked | {"fieldSelector": "metadata.name!=b"}, 2),
        ({"watch": "maybe", "timeoutSeconds": "1"}, 3),
        ({"resourceVersion": "900000000", "timeoutSeconds": "1"}, 1),
        (marked | {"resourceVersion": "900000000"}, 2),
        (listing | {"resourceVersion": "900000000"}, 2),
    ):
        async with stage.watch(collection, mine | query) as read:
            await read(count)


async def watches_of_single_objects(stage: Stage) -> None:
    one = stage.path(CONFIG_MAPS, "a")
    async with stage.watch(one, {"timeoutSeconds": "1"}) as read:
        await read(1)
    made = await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("a", {}))
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("b", {}), quiet=True)
    version = made["metadata"]["resourceVersion"]
    async with stage.watch(one, {"resourceVersion": "0"}) as read:
        await read(1)
        await stage.ask("PATCH", stage.path(CONFIG_MAPS, "b"), {"data": {"a": "2"}}, content_type=MERGE, quiet=True)
        await stage.ask("PATCH", one, {"data": {"a": "2"}}, content_type=MERGE, quiet=True)
        await stage.ask("DELETE", one, quiet=True)
        await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("a", {"again": "1"}), quiet=True)
        await read(3)
    for query in ({"resourceVersion": version}, {"resourceVersion": version, "fieldSelector": "metadata.name=a"}):
        async with stage.watch(one, query) as read:
            await read(3)
    async with stage.watch(
        one, {"resourceVersion": "0", "fieldSelector": "metadata.name=b", "timeoutSeconds": "1"}
    ) as read:
        await read(1)
    async with stage.watch(one, {"resourceVersion": "0", "labelSelector": "none", "timeoutSeconds": "1"}) as read:
        await read(1)
    named = {"fieldSelector": "metadata.name=b", "resourceVersion": "0"}
    async with stage.watch(stage.path(CONFIG_MAPS), named) as read:
        await read(1)
    async with stage.watch(
        "/api/v1/configmaps", named | {"fieldSelector": f"metadata.namespace={stage.namespace}"}
    ) as read:
        await read(2)
    async with stage.watch("/api/v1/namespaces", {"fieldSelector": f"metadata.name={stage.namespace}"}) as read:
        await read(1)


async def orders_of_events(stage: Stage) -> None:
    """Finalizers, deletions and selections, one object after another."""
    collection = stage.path(CONFIG_MAPS)
    begin = await stage.ask("POST", collection, config_map("begin", {}))
    query = {"resourceVersion": begin["metadata"]["resourceVersion"]}
    held = config_map("held", {}, labels={"in": "1"}, finalizers=["example.com/hold"])
    await stage.ask("POST", collection, held)
    one = stage.path(CONFIG_MAPS, "held")
    await stage.ask("PATCH", one, {"metadata": {"labels": {"in": "1"}}}, content_type=MERGE, quiet=True)
    await stage.ask("DELETE", one, quiet=True)
    await stage.ask("PATCH", one, {"metadata": {"labels": {"in": "2"}}}, content_type=MERGE, quiet=True)
    await stage.ask("PATCH", one, {"metadata": {"finalizers": None}}, content_type=MERGE, quiet=True)
    for name in ("z", "y", "x"):
        await stage.ask("POST", collection, config_map(name, {}, labels={"in": "1"}), quiet=True)
    await stage.ask("DELETE", collection, query={"labelSelector": "in=1"}, quiet=True)
    for selection, count in (
        ({}, 10),
        ({"labelSelector": "in=1"}, 9),
        ({"labelSelector": "in=2"}, 2),
        ({"labelSelector": "in!=1", "fieldSelector": "metadata.name!=begin"}, 2),
        ({"labelSelector": "!in", "timeoutSeconds": "1"}, 1),
        ({"fieldSelector": "metadata.name=held"}, 4),
    ):
        async with stage.watch(collection, query | selection) as read:
            await read(count)


async def watches_of_a_resource_that_goes(stage: Stage) -> None:
    """Its objects are deleted one by one, then the stream ends."""
    plural = "passing"
    await define(stage, plural, "Passing", {"type": "object"}, status=False)
    collection = stage.path(f"history.shardfleet.dev/v1/{plural}")
    for name in ("a", "b"):
        body = {"kind": "Passing", "apiVersion": "history.shardfleet.dev/v1", "metadata": {"name": name}}
        await stage.ask("POST", collection, body)
    async with stage.watch(collection, {"resourceVersion": "0"}) as read:
        await read(2)
        await stage.ask("DELETE", f"{DEFINITIONS}/{plural}.history.shardfleet.dev", quiet=True)
        await read(3)
    await stage.until(collection, lambda answer: answer.get("code") == 404 or "text" in answer)


async def more_refused_watches(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    for query in (
        {"timeoutSeconds": "abc"},
        {"limit": "abc"},
        {"resourceVersion": "99999999999999999999"},
        {"resourceVersion": "-1"},
        {"resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "Nonsense", "sendInitialEvents": "true"},
        {"resourceVersionMatch": "NotOlderThan", "sendInitialEvents": "true", "continue": "x"},
        {"sendInitialEvents": "false"},
        {"sendInitialEvents": "false", "resourceVersion": "1"},
        {"labelSelector": "=", "resourceVersionMatch": "Exact"},
        {"fieldSelector": "none=b", "resourceVersionMatch": "Exact"},
        {"fieldSelector": "nonsense"},
        {"resourceVersion": "nonsense", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
    ):
        await stage.ask("GET", collection, query={"watch": "true", **query})
    await stage.ask("GET", stage.path("v1/nothing"), query={"watch": "true"})
    await stage.ask("GET", stage.path("none.example.com/v1/nothing"), query={"watch": "true"})


HISTORIES = (
    watches,
    watch_lists,
    refused_watches,
    beginnings_of_watches,
    watches_of_single_objects,
    orders_of_events,
    watches_of_a_resource_that_goes,
    more_refused_watches,
)
