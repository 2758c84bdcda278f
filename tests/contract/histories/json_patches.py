"""JSON patches, good and bad."""

from __future__ import annotations

from tests.contract.histories.objects import CONFIG_MAPS, config_map
from tests.contract.transcripts import JSON_PATCH, MERGE, Stage


async def json_patches(stage: Stage) -> None:
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one", {"a": "1", "b": "2"}))
    one = stage.path(CONFIG_MAPS, "one")
    for operations in (
        [{"op": "add", "path": "/data/c", "value": "3"}, {"op": "remove", "path": "/data/a"}],
        [{"op": "test", "path": "/data/b", "value": "2"}, {"op": "replace", "path": "/data/b", "value": "4"}],
        [{"op": "move", "from": "/data/c", "path": "/data/d"}, {"op": "copy", "from": "/data/d", "path": "/data/e"}],
        [{"op": "add", "path": "/metadata/labels", "value": {"a~b": "c"}}],
        [{"op": "add", "path": "/metadata/labels", "value": {"a/b": "c"}}],
        [{"op": "remove", "path": "/metadata/labels/a~1b"}],
        [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/a"]}],
        [{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/b"}],
        [{"op": "remove", "path": "/metadata/finalizers"}],
    ):
        await stage.ask("PATCH", one, operations, content_type=JSON_PATCH)
    await stage.ask("PATCH", one, "no JSON", content_type=JSON_PATCH)
    await stage.ask("PATCH", one, "no JSON", content_type=MERGE)
    await stage.ask("PATCH", one, [], content_type=MERGE)
    await stage.ask("PATCH", one, {"data": 3}, content_type="text/plain")


async def refused_json_patches(stage: Stage) -> None:
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one", {"a": "1", "b": "2"}))
    one = stage.path(CONFIG_MAPS, "one")
    for operations in (
        [{"op": "test", "path": "/data/b", "value": "9"}],
        [{"op": "remove", "path": "/data/none"}],
        [{"op": "replace", "path": "/data/none", "value": "1"}],
        [{"op": "add", "path": "/none/deep", "value": "1"}],
    ):
        answer = await stage.ask("PATCH", one, operations, content_type=JSON_PATCH, quiet=True)
        # The message quotes the patch library of the server; reason and code are what a client can use.
        stage.note("refused", {name: answer.get(name) for name in ("code", "reason", "status")})


HISTORIES = (
    json_patches,
    refused_json_patches,
)
