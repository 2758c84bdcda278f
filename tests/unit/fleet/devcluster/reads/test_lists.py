from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.reads.continuation import Continuation
from shards.objects import Object
from tests.unit.fleet.devcluster.cluster import CONFIG_MAPS, Cluster, config_map, definition, website

pytestmark = pytest.mark.looptime
PATH = CONFIG_MAPS.path("default")


async def filled(*names: str) -> Cluster:
    cluster = Cluster.make()
    for name in names:
        await cluster.client.create(CONFIG_MAPS, "default", config_map(name, labels={"n": name}))
    return cluster


def names(answer: Object) -> list[str]:
    return [each["metadata"]["name"] for each in answer["items"]]


async def pages(cluster: Cluster, path: str = PATH, **query: str) -> list[Object]:
    found = [(await cluster.ask("GET", path, **query))[1]]
    while token := found[-1]["metadata"].get("continue"):
        found.append((await cluster.ask("GET", path, **query, **{"continue": token}))[1])
    return found


async def test_pages_add_up_to_the_list_and_count_what_remains() -> None:
    cluster = await filled("a", "b", "c", "d", "e")
    found = await pages(cluster, limit="2")
    assert [names(page) for page in found] == [["a", "b"], ["c", "d"], ["e"]]
    assert [page["metadata"].get("remainingItemCount") for page in found] == [3, 1, None]
    assert len({page["metadata"]["resourceVersion"] for page in found}) == 1


async def test_later_pages_show_the_state_of_the_first_one() -> None:
    cluster = await filled("a", "c", "d", "e")
    first = (await cluster.ask("GET", PATH, limit="1"))[1]
    for name in ("b", "f"):
        await cluster.client.create(CONFIG_MAPS, "default", config_map(name))
    await cluster.client.delete(CONFIG_MAPS, "default", "d")
    await cluster.client.merge_patch(CONFIG_MAPS, "default", "e", {"data": {"a": "changed"}})
    token = first["metadata"]["continue"]
    rest = (await cluster.ask("GET", PATH, **{"continue": token, "limit": "2"}))[1]
    assert names(rest) == ["c", "d"]
    assert rest["metadata"]["remainingItemCount"] == 1
    last = (await cluster.ask("GET", PATH, **{"continue": rest["metadata"]["continue"]}))[1]
    assert (names(last), last["items"][0]["data"]) == (["e"], {"a": "1"})


async def test_a_page_with_a_selector_goes_on_while_anything_is_left_to_look_at() -> None:
    cluster = await filled("a", "b", "c")
    found = await pages(cluster, limit="1", labelSelector="n in (a,b)")
    assert [names(page) for page in found] == [["a"], ["b"], []]
    assert all("remainingItemCount" not in page["metadata"] for page in found)


async def test_a_token_that_compaction_overtook_offers_an_inconsistent_rest() -> None:
    cluster = await filled("a", "b", "d")
    token = (await cluster.ask("GET", PATH, limit="1"))[1]["metadata"]["continue"]
    await cluster.client.create(CONFIG_MAPS, "default", config_map("c"))
    cluster.server.storage.compact()
    status, refused = await cluster.ask("GET", PATH, **{"continue": token})
    assert (status, refused["reason"]) == (410, "Expired")
    rest = (await cluster.ask("GET", PATH, **{"continue": refused["metadata"]["continue"]}))[1]
    assert names(rest) == ["b", "c", "d"]
    assert rest["metadata"]["resourceVersion"] == str(cluster.server.storage.version)


async def test_a_compaction_that_spares_the_watch_caches_ends_old_lists_only() -> None:
    cluster = await filled("a")
    version = str(cluster.server.storage.version)
    await cluster.client.create(CONFIG_MAPS, "default", config_map("b"))
    exact = {"resourceVersion": version, "resourceVersionMatch": "Exact"}
    assert names((await cluster.ask("GET", PATH, **exact))[1]) == ["a"]
    cluster.server.storage.compact(watches=False)
    assert (await cluster.ask("GET", PATH, **exact))[0] == 410
    answer = await cluster.server.handle("GET", PATH, [("watch", "true"), ("resourceVersion", version)])
    assert answer.stream is not None
    assert b'"ADDED"' in await answer.stream.read()
    answer.stream.close()


async def test_compaction_up_to_a_version_keeps_that_version() -> None:
    cluster = await filled("a", "b", "c")
    newest = cluster.server.storage.version
    cluster.server.storage.compact(newest - 1)
    query = {"resourceVersionMatch": "Exact"}
    assert names((await cluster.ask("GET", PATH, resourceVersion=str(newest - 1), **query))[1]) == ["a", "b"]
    assert (await cluster.ask("GET", PATH, resourceVersion=str(newest - 2), **query))[0] == 410


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ({"limit": "x"}, 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ({"limit": str(1 << 63)}, 400, f'strconv.ParseInt: parsing "{1 << 63}": value out of range'),
        ({"timeoutSeconds": "x"}, 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ({"continue": "a"}, 400, "illegal base64 data at input byte 0"),
        ({"continue": "e30"}, 400, "does not recognize this encoded version"),
        ({"continue": "AAAA"}, 400, "invalid character '\\x00' looking for beginning of value"),
        ({"continue": "NRs"}, 400, "invalid character '\\x1b' after top-level value"),
        ({"continue": "NQ"}, 400, "cannot unmarshal number into Go value of type storage.continueToken"),
        ({"limit": "x", "timeoutSeconds": "y"}, 400, 'parsing "y": invalid syntax'),
        ({"resourceVersion": '"'}, 400, 'Invalid value: "\\"": strconv.ParseUint: parsing "\\"": invalid syntax'),
        ({"continue": Continuation(0, "a").encode()}, 400, "incorrect encoded start resourceVersion"),
        ({"continue": Continuation(5, "a/../b").encode()}, 400, "not valid: a/../b"),
        ({"continue": Continuation(5, "a").encode(), "resourceVersion": "4"}, 400, "not allowed when using continue"),
        ({"resourceVersion": str(1 << 64)}, 400, "value out of range"),
        ({"resourceVersionMatch": "X", "fieldSelector": "none=x"}, 422, "resourceVersionMatch is forbidden unless"),
        ({"fieldSelector": "none=x"}, 400, '"none" is not a known field selector'),
    ],
)
async def test_a_wrong_parameter_is_refused(query: dict[str, str], status: int, message: str) -> None:
    found, answer = await Cluster.make().ask("GET", PATH, **query)
    assert found == status
    assert message in answer["message"]


async def test_a_malformed_version_of_a_get_is_the_servers_own_error() -> None:
    cluster = await filled("a")
    assert (await cluster.ask("GET", f"{PATH}/a", resourceVersion="x"))[0] == 500


async def test_a_list_of_one_name_is_one_lookup() -> None:
    cluster = await filled("a", "b")
    answer = (await cluster.ask("GET", PATH, fieldSelector="metadata.name=a", limit="1"))[1]
    assert (names(answer), "continue" in answer["metadata"]) == (["a"], False)
    other = (await cluster.ask("GET", PATH, fieldSelector="metadata.name=a,metadata.namespace=x"))[1]
    assert names(other) == []


async def test_a_limit_does_not_make_a_list_of_one_name_a_read_of_the_past() -> None:
    cluster = await filled("a", "b")
    before = str(cluster.server.storage.version)
    await cluster.client.delete(CONFIG_MAPS, "default", "a")
    past = {"resourceVersion": before, "limit": "1"}
    assert names((await cluster.ask("GET", PATH, **past))[1]) == ["a"]
    assert names((await cluster.ask("GET", PATH, fieldSelector="metadata.name=a", **past))[1]) == []
    exact = {**past, "resourceVersionMatch": "Exact"}
    assert names((await cluster.ask("GET", PATH, fieldSelector="metadata.name=a", **exact))[1]) == ["a"]


async def test_lists_of_custom_resources_always_carry_a_token_which_may_be_empty() -> None:
    cluster = Cluster.make()
    path: Any = "/apis/demo.shardfleet.dev/v1/namespaces/default/websites"
    await cluster.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    await cluster.ask("POST", path, website("a"))
    assert (await cluster.ask("GET", path))[1]["metadata"]["continue"] == ""
