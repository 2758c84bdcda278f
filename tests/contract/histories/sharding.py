"""Server-side sharding: the answers depend on a feature gate, so it is none of HISTORIES."""

from __future__ import annotations

from shards.keyrange import SPACE, fnv1a64
from tests.contract.histories.objects import CONFIG_MAPS, WEBSITE_SCHEMA, WEBSITES, config_map, define, website
from tests.contract.transcripts import Stage


async def sharding(stage: Stage) -> None:
    """The answers differ between a server that filters by shard and one that ignores the parameter."""
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    for resource, body in ((CONFIG_MAPS, config_map), (WEBSITES, website)):
        collection = stage.path(resource)
        uids: set[str] = set()
        half = SPACE // 2
        while len(uids) < 4 or len({fnv1a64(uid) < half for uid in uids}) < 2:
            made = await stage.ask("POST", collection, body(f"s-{len(uids)}", labels={"s": ""}), quiet=True)
            uids.add(made["metadata"]["uid"])
        for first, end in ((0, half), (half, SPACE), (0, SPACE), (0, 1)):
            selector = f"shardRange(object.metadata.uid, '0x{first:016x}', '0x{end:016x}')"
            query = {"labelSelector": "s", "shardSelector": selector}
            answer = await stage.ask("GET", collection, query=query, quiet=True)
            found = {item["metadata"]["uid"] for item in answer["items"]}
            right = {uid for uid in uids if first <= fnv1a64(uid) < end}
            stage.note("only that range", found == right)
            stage.note("everything", found == uids)
            stage.note("shardInfo", answer["metadata"].get("shardInfo"))
    for selector in _SHARD_SELECTORS:
        await stage.ask("GET", stage.path(CONFIG_MAPS), query={"shardSelector": selector, "labelSelector": "none"})


_FIRST = "0x0000000000000000"


_HALF = "0x8000000000000000"


_END = "0x10000000000000000"


_UID = "object.metadata.uid"


_SHARD_SELECTORS = (
    f"shardRange({_UID}, '{_FIRST}', '{_HALF}') || shardRange({_UID}, '{_HALF}', '{_END}')",
    f"(shardRange({_UID}, '{_FIRST}', '{_HALF}') || (shardRange({_UID},'{_HALF}','{_END}')))",
    f'shardRange(object.metadata.namespace, "{_FIRST}", "{_END}")',
    f"shardRange({_UID}, '0x0', '{_END}')",
    f"shardRange({_UID}, '{_FIRST}', '0x20000000000000000')",
    f"shardRange({_UID}, '{_FIRST}', '0xA000000000000000')",
    f"shardRange({_UID}, '0000000000000000', '{_END}')",
    f"shardRange({_UID}, '0x', '{_END}')",
    f"shardRange({_UID}, '{_FIRST}', '0x100000000000000000')",
    f"shardRange({_UID}, '{_HALF}', '{_FIRST}')",
    f"shardRange({_UID}, '{_HALF}', '{_HALF}')",
    f"shardRange({_UID}, '{_FIRST}')",
    f"shardRange({_UID}, 0, 1)",
    f"shardRange('{_UID}', '{_FIRST}', '{_END}')",
    f"shardRange(object.metadata.name, '{_FIRST}', '{_END}')",
    f"shardRange({_UID}, '{_FIRST}', '{_HALF}') || shardRange(object.metadata.namespace, '{_HALF}', '{_END}')",
    f"shardRange({_UID}, '{_FIRST}', '{_HALF}') && shardRange({_UID}, '{_HALF}', '{_END}')",
    f"!shardRange({_UID}, '{_FIRST}', '{_HALF}')",
    "other('a')",
    "object",
    "object.metadata.uid",
    "'text'",
    "true",
    " ",
)
