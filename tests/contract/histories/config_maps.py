"""A ConfigMap's life, name given or generated, tried and done."""

from __future__ import annotations

from tests.contract.histories.objects import CONFIG_MAPS, config_map, preconditions
from tests.contract.transcripts import MERGE, Stage


async def config_map_lifecycle(stage: Stage) -> None:
    collection, one = stage.path(CONFIG_MAPS), stage.path(CONFIG_MAPS, "one")
    first = await stage.ask("POST", collection, config_map("one", labels={"app": "x"}, annotations={}))
    await stage.ask("POST", collection, config_map("one"))
    await stage.ask("GET", one)
    version, uid = first["metadata"]["resourceVersion"], first["metadata"]["uid"]
    await stage.ask("PUT", one, config_map("one", {"a": "2"}, resourceVersion=version))
    await stage.ask("PUT", one, config_map("one", {"a": "3"}, resourceVersion=version))
    await stage.ask("PUT", one, config_map("one", {"a": "4"}))
    await stage.ask("PUT", one, config_map("one", {"a": "4"}))
    await stage.ask("PUT", one, config_map("one", {"a": "5"}, uid="11111111-2222-4333-8444-555555555555"))
    await stage.ask("PUT", one, config_map("one", {"a": "5"}, uid=uid))
    await stage.ask("PUT", one, config_map("two", {"a": "5"}))
    await stage.ask("PATCH", one, {"data": {"a": None, "b": "6"}, "x": 1}, content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"resourceVersion": version}}, content_type=MERGE)
    other = {"metadata": {"uid": "11111111-2222-4333-8444-555555555555"}, "data": {"b": "7"}}
    await stage.ask("PATCH", one, other, content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"name": "two"}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"labels": {"app": None}}}, content_type=MERGE)
    await stage.ask("PATCH", one, {}, content_type=MERGE)
    await stage.ask("DELETE", one, preconditions(uid="11111111-2222-4333-8444-555555555555"))
    await stage.ask("DELETE", one, preconditions(resourceVersion=version))
    await stage.ask("DELETE", one, preconditions(uid=uid))
    for method in ("GET", "DELETE"):
        await stage.ask(method, one)
    await stage.ask("PUT", one, config_map("one"))
    await stage.ask("PATCH", one, {"data": {"a": "1"}}, content_type=MERGE)


async def generated_names(stage: Stage) -> None:
    body = config_map("", generateName="some-")
    del body["metadata"]["name"]
    made = [await stage.ask("POST", stage.path(CONFIG_MAPS), body, quiet=True) for _ in range(3)]
    names = [each["metadata"]["name"] for each in made]
    stage.note("distinct", len(set(names)))
    stage.note("shape", [(name[:5], len(name)) for name in names])
    stage.note("kept", [each["metadata"]["generateName"] for each in made])


async def dry_runs(stage: Stage) -> None:
    collection, one = stage.path(CONFIG_MAPS), stage.path(CONFIG_MAPS, "one")
    dry = {"dryRun": "All"}
    answer = await stage.ask("POST", collection, config_map("one"), query=dry, quiet=True)
    stage.note("dry create", answer["data"])
    await stage.ask("GET", one)
    await stage.ask("POST", collection, config_map("one"))
    await stage.ask("PATCH", one, {"data": {"a": "9"}}, query=dry, content_type=MERGE)
    await stage.ask("DELETE", one, query=dry)
    await stage.ask("GET", one)
    await stage.ask("POST", collection, config_map("two"), query={"dryRun": "some"})


async def collections_deleted(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "1"}), ("c", {"x": "2"})):
        await stage.ask("POST", collection, config_map(name, labels=labels), quiet=True)
    await stage.ask("DELETE", collection, query={"labelSelector": "x=1"})
    await stage.ask("GET", collection, query={"labelSelector": "x"})


HISTORIES = (
    config_map_lifecycle,
    generated_names,
    dry_runs,
    collections_deleted,
)
