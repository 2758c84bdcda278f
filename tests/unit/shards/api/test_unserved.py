"""What is said of a collection that is not found."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from shards.api.unserved import unserved
from shards.errors import ApiError, NotFound, Unreachable
from shards.objects import Resource
from tests.unit.shards.test_shard import site_controller
from tests.unit.shards.world import CONFIGMAPS, CRDS, DEFINITION, WEBSITES, World

ROOT = "/apis/demo.shardfleet.dev"


class Server:
    """Discovery, by path; what is not there is not found."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers

    async def request(self, method: str, path: str, **_: Any) -> bytes:
        answer = self.answers.get(path, NotFound(404))
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, bytes) else msgspec.json.encode(answer)


def group(*versions: str) -> dict[str, Any]:
    return {"versions": [{"version": each} for each in versions]}


def resources(*plurals: str) -> dict[str, Any]:
    return {"resources": [{"name": each} for each in plurals]}


async def said(resource: Resource, answers: dict[str, Any]) -> str:
    server: Any = Server(answers)
    error = await unserved(server, resource, "fleet/test")
    assert (error.status, error.reason) == (404, "NotFound")
    return error.message


async def test_other_versions_are_named() -> None:
    answers = {
        ROOT: group("v2", "v3", "v4"),
        f"{ROOT}/v2": resources("websites", "websites/status"),
        f"{ROOT}/v3": resources("pages"),
        f"{ROOT}/v4": resources("websites"),
    }
    assert await said(WEBSITES, answers) == (
        "the server does not serve demo.shardfleet.dev/v1/websites, but v2, v4:"
        " serve v1 too, or name one of those in the controller"
    )


@pytest.mark.parametrize(
    "answers", [{}, {ROOT: group("v1"), f"{ROOT}/v1": resources("pages")}], ids=["group", "plural"]
)
async def test_one_that_is_in_no_version_has_lost_its_definition(answers: dict[str, Any]) -> None:
    found = await said(WEBSITES, answers)
    assert found.startswith("the server does not serve demo.shardfleet.dev/v1/websites, nor")
    assert found.endswith("its CustomResourceDefinition is gone")


async def test_one_that_comes_back_at_this_moment_is_said_to() -> None:
    answers = {ROOT: group("v1"), f"{ROOT}/v1": resources("websites")}
    assert (await said(WEBSITES, answers)).endswith("yet, but says that it will")


@pytest.mark.parametrize("error", [Unreachable("reset"), ApiError(403, "Forbidden"), b"{", b'{"versions":5}'], ids=str)
async def test_what_cannot_be_asked_is_not_made_up(error: Any) -> None:
    assert await said(WEBSITES, {ROOT: error}) == "the server does not serve demo.shardfleet.dev/v1/websites"


async def test_of_the_core_group_there_is_one_version() -> None:
    assert await said(CONFIGMAPS, {}) == "the server does not serve v1/configmaps"


@pytest.mark.looptime
async def test_a_view_says_it_as_long_as_it_is_so_and_once_in_the_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.website("a", text="x")
    shard = await world.running(site_controller())
    await asyncio.sleep(5)
    [version] = DEFINITION["spec"]["versions"]
    other = {**version, "name": "v2"}
    both = [{**version, "served": False}, {**other, "storage": False}]
    await world.kubectl.merge_patch(CRDS, "", DEFINITION["metadata"]["name"], {"spec": {"versions": both}})
    await asyncio.sleep(120)
    wanted = "the server does not serve demo.shardfleet.dev/v1/websites, but v2"
    assert wanted in shard.trouble
    assert caplog.text.count(wanted) == 1
    assert shard.load()["objects"] == 1
    back = [version, {**other, "storage": False}]
    await world.kubectl.merge_patch(CRDS, "", DEFINITION["metadata"]["name"], {"spec": {"versions": back}})
    await asyncio.sleep(60)
    assert shard.trouble == ""
