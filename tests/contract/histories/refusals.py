"""What every server refuses."""

from __future__ import annotations

from tests.contract.histories.objects import CONFIG_MAPS, WEBSITE_SCHEMA, WEBSITES, config_map, define
from tests.contract.transcripts import Document, Stage


async def refused_objects(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    refused: tuple[Document, ...] = (
        {"name": "Upper"},
        {"name": "a" * 254},
        {},
        {"name": "a", "labels": {"a b": "c"}},
        {"name": "a", "labels": {"a": "-"}},
        {"name": "a", "labels": {"A/b": "c"}},
        {"name": "a", "annotations": {"a b": "c"}},
        {"name": "a", "finalizers": ["a b"]},
        {"name": "a", "finalizers": ["plain"]},
        {"name": "a", "labels": {"a": "b" * 64}},
        {"name": "a", "labels": {"a" * 64: "b"}},
        {"name": "a", "namespace": "elsewhere"},
        {"name": "a", "resourceVersion": "5"},
        {"name": "a", "ownerReferences": [{"kind": "A", "name": "b"}]},
    )
    for metadata in refused:
        await stage.ask("POST", collection, config_map("") | {"metadata": metadata})
    await stage.ask("POST", collection, config_map("a", {"b c": "d"}))
    wrong = await stage.ask("POST", collection, config_map("a", labels={"a": 1}), quiet=True)
    stage.note("label that is a number", (wrong["code"], wrong["reason"]))
    for kind, version in (("Secret", "v1"), ("ConfigMap", "v2")):
        other = {"kind": kind, "apiVersion": version, "metadata": {"name": "a"}}
        answer = await stage.ask("POST", collection, other, quiet=True)
        # The message quotes the server's source code.
        stage.note(f"{version} {kind}", (answer["code"], answer["reason"]))
    await stage.ask("POST", "/api/v1/namespaces/none-such/configmaps", config_map("a"))
    await stage.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "A"}})
    await stage.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "a" * 64}})


async def wrong_paths(stage: Stage) -> None:
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    one = stage.path(CONFIG_MAPS, "one")
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one"))
    for method, path in (
        ("GET", stage.path("v1/nonsense")),
        ("GET", "/apis/none.example/v1/nonsense"),
        ("GET", "/apis/apps/v9/deployments"),
        ("GET", "/apis/history.shardfleet.dev/v1/nonsense"),
        ("GET", "/apis/history.shardfleet.dev/v2/websites"),
        ("GET", "/nonsense"),
        ("GET", stage.path(CONFIG_MAPS, "one", "status")),
        ("GET", stage.path(CONFIG_MAPS, "one", "nonsense")),
        ("POST", one),
        ("PUT", stage.path(CONFIG_MAPS)),
        ("POST", stage.path(WEBSITES, "one")),
        ("PUT", stage.path(WEBSITES)),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("GET", "/api/v1/configmaps/one"),
    ):
        await stage.ask(method, path, config_map("one") if method in ("POST", "PUT") else None)


HISTORIES = (
    refused_objects,
    wrong_paths,
)
