"""Objects that wait for their finalizers."""

from __future__ import annotations

from tests.contract.histories.objects import CONFIG_MAPS, WEBSITE_SCHEMA, WEBSITES, config_map, define, website
from tests.contract.transcripts import MERGE, Stage


async def finalizers(stage: Stage) -> None:
    collection, one = stage.path(CONFIG_MAPS), stage.path(CONFIG_MAPS, "one")
    made = await stage.ask("POST", collection, config_map("one", finalizers=["example.com/b", "example.com/a"]))
    query = {"resourceVersion": made["metadata"]["resourceVersion"], "fieldSelector": "metadata.name=one"}
    async with stage.watch(collection, query) as read:
        await stage.ask("DELETE", one)
        await stage.ask("DELETE", one)
        await stage.ask("GET", one)
        more = ["example.com/b", "example.com/c"]
        await stage.ask("PATCH", one, {"metadata": {"finalizers": more}}, content_type=MERGE)
        await stage.ask("PATCH", one, {"metadata": {"deletionTimestamp": None}}, content_type=MERGE)
        await stage.ask("PATCH", one, {"metadata": {"finalizers": ["example.com/a"]}}, content_type=MERGE)
        await stage.ask("PATCH", one, {"data": {"a": "late"}}, content_type=MERGE)
        await stage.ask("PATCH", one, {"metadata": {"finalizers": None}, "data": {"a": "last"}}, content_type=MERGE)
        await stage.ask("GET", one)
        await read(4)


async def finalizers_of_custom_resources(stage: Stage) -> None:
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    one = stage.path(WEBSITES, "one")
    await stage.ask("POST", stage.path(WEBSITES), website("one", finalizers=["example.com/a"]))
    await stage.ask("DELETE", one)
    await stage.ask("PATCH", stage.path(WEBSITES, "one", "status"), {"status": {"phase": "x"}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"finalizers": []}}, content_type=MERGE)
    await stage.ask("GET", one)


HISTORIES = (
    finalizers,
    finalizers_of_custom_resources,
)
