from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml

from fleet.devcluster.wire.answers import Answer
from tests.unit.fleet.devcluster.cluster import CONFIG_MAPS, WEBSITES, Cluster, config_map, definition, website

PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.make()


async def asked(
    cluster: Cluster, path: str, accept: str, query: dict[str, str] | None = None, method: str = "GET", body: Any = None
) -> Answer:
    headers = {"accept": accept, "content-type": "application/json"}
    encoded = None if body is None else msgspec.json.encode(body)
    return await cluster.server.handle(method, path, list((query or {}).items()), encoded, headers)


def decoded(answer: Answer) -> Any:
    return msgspec.json.decode(answer.body)


async def test_a_list_as_partial_metadata_has_nothing_but_metadata(cluster: Cluster) -> None:
    path = CONFIG_MAPS.path("default")
    assert decoded(await asked(cluster, path, PARTIAL_LIST))["items"] is None
    await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    shown = decoded(await asked(cluster, path, PARTIAL_LIST))
    assert shown["kind"] == "PartialObjectMetadataList"
    assert [(set(each), each["metadata"]["name"]) for each in shown["items"]] == [
        ({"kind", "apiVersion", "metadata"}, "a")
    ]


async def test_a_write_may_be_answered_with_partial_metadata(cluster: Cluster) -> None:
    answer = await asked(cluster, CONFIG_MAPS.path("default"), PARTIAL, method="POST", body=config_map("a"))
    assert (answer.status, decoded(answer)["kind"]) == (201, "PartialObjectMetadata")
    assert "data" not in decoded(answer)


async def test_an_object_is_no_list_of_metadata(cluster: Cluster) -> None:
    await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    answer = await asked(cluster, CONFIG_MAPS.path("default", "a"), PARTIAL_LIST)
    assert (answer.status, decoded(answer)["reason"]) == (406, "NotAcceptable")


@pytest.mark.parametrize(("include", "kind"), [("", "PartialObjectMetadata"), ("Object", "ConfigMap"), ("None", None)])
async def test_a_row_includes_as_much_of_its_object_as_was_asked_for(
    cluster: Cluster, include: str, kind: str | None
) -> None:
    await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    shown = decoded(await asked(cluster, CONFIG_MAPS.path("default"), TABLE, {"includeObject": include}))
    (row,) = shown["rows"]
    assert row["cells"][:2] == ["a", 1]
    assert (row["object"] or {}).get("kind") == kind


async def test_only_the_first_event_of_a_watched_table_has_columns(cluster: Cluster) -> None:
    answer = await asked(cluster, CONFIG_MAPS.path("default"), TABLE, {"watch": "true"})
    assert answer.stream is not None
    for name in ("a", "b"):
        await cluster.client.create(CONFIG_MAPS, "default", config_map(name))
    first, second = (msgspec.json.decode(line) for line in (await answer.stream.read()).splitlines())
    assert [each["name"] for each in first["object"]["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert second["object"]["columnDefinitions"] is None
    assert [each["object"]["rows"][0]["cells"][0] for each in (first, second)] == ["a", "b"]
    answer.stream.close()
    assert await answer.stream.read() == b""


async def test_a_refused_watch_leaves_no_stream_behind(cluster: Cluster) -> None:
    answer = await asked(cluster, CONFIG_MAPS.path(), TABLE, {"watch": "true", "includeObject": "Other"})
    assert answer.status == 400
    assert not cluster.server.watching.streams


async def test_a_custom_resource_shows_its_own_columns(cluster: Cluster) -> None:
    body = definition()
    body["spec"]["versions"][0]["additionalPrinterColumns"] = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Odd", "type": "string", "jsonPath": "..recursive"},
        {"name": "Since", "type": "date", "jsonPath": ".spec.since"},
    ]
    await cluster.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    await cluster.client.create(WEBSITES, "default", website("a", size=3, since="no date"))
    shown = decoded(await asked(cluster, WEBSITES.path("default"), TABLE))
    assert [each["name"] for each in shown["columnDefinitions"]] == ["Name", "Size", "Odd", "Since"]
    assert shown["rows"][0]["cells"] == ["a", 3, None, "<invalid>"]


async def test_answers_and_failures_can_be_yaml(cluster: Cluster) -> None:
    for path, status in (("/api/v1/namespaces/default", 200), ("/api/v1/namespaces/none", 404)):
        answer = await asked(cluster, path, "application/yaml")
        assert (answer.status, answer.content_type) == (status, "application/yaml")
        assert yaml.safe_load(answer.body)["apiVersion"] == "v1"
