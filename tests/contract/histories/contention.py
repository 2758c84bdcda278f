"""Several clients at one object: locks without waiting, writes that change nothing, a busy namespace."""

from __future__ import annotations

import asyncio

from tests.contract.histories.objects import CONFIG_MAPS, WEBSITE_SCHEMA, WEBSITES, config_map, define, website
from tests.contract.transcripts import JSON_PATCH, MERGE, Document, Stage


async def optimistic_locks(stage: Stage) -> None:
    """Two clients that read the same version: one of them may write."""
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one"))
    await stage.ask("POST", stage.path(WEBSITES), website("one"))
    for resource, change in (
        (CONFIG_MAPS, {"data": {"a": "2"}}),
        (WEBSITES, {"spec": {"domain": "b.example", "replicas": 4}}),
    ):
        one = stage.path(resource, "one")
        read = await stage.ask("GET", one)
        version = read["metadata"]["resourceVersion"]
        locked = {"metadata": {"resourceVersion": version, "labels": {"a": "b"}}}
        await stage.ask("PUT", one, {**read, **change})
        await stage.ask("PUT", one, {**read, **change})
        await stage.ask(
            "PATCH", one, {**locked, "metadata": {**locked["metadata"], "labels": {"a": "b"}}}, content_type=MERGE
        )
        test = [{"op": "test", "path": "/metadata/resourceVersion", "value": version}]
        await stage.ask("PATCH", one, test, content_type=JSON_PATCH)
        newest = await stage.ask("GET", one)
        await stage.ask("PUT", one, newest)
        await stage.ask("PATCH", one, {"metadata": {"labels": {}}}, content_type=MERGE)
        await stage.ask("DELETE", one, _only_at(version))
        await stage.ask("DELETE", one, _only_at(newest["metadata"]["resourceVersion"]))


def _only_at(version: str) -> Document:
    return {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"resourceVersion": version}}


async def racing_writers(stage: Stage) -> None:
    """How many of several writers at once win, by every way to write."""
    one = stage.path(CONFIG_MAPS, "one")
    created = [stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one"), quiet=True) for _ in range(6)]
    stage.note("created", _outcomes(await asyncio.gather(*created)))
    read = await stage.ask("GET", one)
    replaced = [stage.ask("PUT", one, {**read, "data": {"a": str(number)}}, quiet=True) for number in range(2, 8)]
    stage.note("replaced", _outcomes(await asyncio.gather(*replaced)))
    patched = [
        stage.ask("PATCH", one, {"data": {f"by-{number}": "x"}}, content_type=MERGE, quiet=True) for number in range(6)
    ]
    stage.note("patched", _outcomes(await asyncio.gather(*patched)))
    found = await stage.ask("GET", one, quiet=True)
    stage.note("nothing lost", sorted(name for name in found["data"] if name.startswith("by-")))
    deleted = [stage.ask("DELETE", one, quiet=True) for _ in range(6)]
    stage.note("deleted", _outcomes(await asyncio.gather(*deleted)))


def _outcomes(answers: list[Document]) -> list[str]:
    return sorted(str(each.get("reason", "done")) for each in answers)


async def busy_namespace(stage: Stage) -> None:
    """Three watches, each from another version, see the same life."""
    collection = stage.path(CONFIG_MAPS)
    first = await stage.ask("POST", collection, config_map("first", labels={"busy": "yes"}))
    start = {"resourceVersion": first["metadata"]["resourceVersion"], "labelSelector": "busy"}
    async with stage.watch(collection, start) as read:
        for number in range(12):
            name = f"m-{number % 4}"
            one = stage.path(CONFIG_MAPS, name)
            if number % 3 == 2:
                await stage.ask("DELETE", one, quiet=True)
            else:
                labels = {"busy": "yes"} if number % 5 else None
                body = {"metadata": {"labels": labels}, "data": {"n": str(number)}}
                made = await stage.ask("POST", collection, config_map(name, labels={"busy": "yes"}), quiet=True)
                if made.get("reason") == "AlreadyExists":
                    await stage.ask("PATCH", one, body, content_type=MERGE, quiet=True)
        middle = await stage.ask("POST", collection, config_map("middle", labels={"busy": "yes"}))
        await stage.ask("POST", collection, config_map("last", labels={"busy": "yes"}))
        await read.until(lambda event: bool(event["object"]["metadata"]["name"] == "last"))
    for version in (first["metadata"]["resourceVersion"], middle["metadata"]["resourceVersion"]):
        async with stage.watch(collection, {"resourceVersion": version, "labelSelector": "busy"}) as read:
            await read.until(lambda event: bool(event["object"]["metadata"]["name"] == "last"))
    await stage.ask("GET", collection, query={"labelSelector": "busy"})


HISTORIES = (optimistic_locks, racing_writers, busy_namespace)
