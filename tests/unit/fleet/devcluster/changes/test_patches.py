from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fleet.devcluster.changes.patches import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, merge
from tests.unit.fleet.devcluster.cluster import CONFIG_MAPS, Cluster, config_map

RFC_7386: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("target", "patch", "result"), RFC_7386)
def test_a_merge_patch_follows_the_examples_of_the_rfc(target: Any, patch: Any, result: Any) -> None:
    assert merge(target, patch) == result


def test_a_merge_patch_leaves_its_target_alone() -> None:
    target = {"a": {"b": "c"}}
    merge(target, {"a": {"b": "d"}})
    assert target == {"a": {"b": "c"}}


def test_nulls_vanish_from_what_a_merge_patch_adds_but_not_from_its_arrays() -> None:
    assert merge({}, {"a": [1, None, {"b": None}], "c": {"d": None}}) == {"a": [1, None, {}], "c": {}}


async def refusal(cluster: Cluster, content_type: str, patch: Any) -> tuple[int, str]:
    answer = await cluster.server.handle(
        "PATCH", CONFIG_MAPS.path("default", "a"), (), msgspec.json.encode(patch), {"content-type": content_type}
    )
    body = msgspec.json.decode(answer.body)
    return answer.status, body.get("message", "")


@pytest.fixture
async def cluster() -> Cluster:
    made = Cluster.make()
    await made.client.create(CONFIG_MAPS, "default", config_map("a"))
    return made


@pytest.mark.parametrize(
    ("content_type", "patch", "status", "message"),
    [
        (JSON_PATCH, {}, 400, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers"),
        (JSON_PATCH, [3], 400, "error decoding patch: json: cannot unmarshal number into Go value of type handlers"),
        (JSON_PATCH, [{"op": 3}], 400, "error decoding patch: json: cannot unmarshal number into Go struct field"),
        (JSON_PATCH, [{"op": "none", "path": "/a"}], 422, "the server rejected our request"),
        (JSON_PATCH, [{"op": "test", "path": "/a"}] * 10_001, 413, "Request entity too large"),
        (MERGE_PATCH, [], 400, "error decoding patch: json: cannot unmarshal array"),
        (MERGE_PATCH, None, 400, "Invalid JSON Patch"),
        (MERGE_PATCH, {"metadata": {"name": None}}, 400, "the name of the object (a based on URL) was undeterminable"),
        (MERGE_PATCH, {"data": {"a": 1}}, 422, ' "" is invalid: patch: Invalid value'),
        (STRATEGIC_PATCH, [], 400, "json: cannot unmarshal array"),
        (STRATEGIC_PATCH, {"data": {"a": 1}}, 422, ' "" is invalid: patch: Invalid value: "map[data:map[a:1]]"'),
        ("application/other-patch", {}, 415, "415: Unsupported Media Type"),
    ],
)
async def test_a_patch_that_makes_no_sense_is_refused_in_the_words_of_the_real_server(
    cluster: Cluster, content_type: str, patch: Any, status: int, message: str
) -> None:
    found = await refusal(cluster, content_type, patch)
    assert found[0] == status
    assert found[1].startswith(message)
