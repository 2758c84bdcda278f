from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fleet.dev.player import DEPLOYMENTS, DeploymentPlayer, ready_status
from fleet.dev.primaries import Primaries
from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.server import ApiServer
from shards.api.client import Client
from shards.objects import Object, Resource

CONFIG_MAPS = Resource("", "v1", "configmaps")


def deployment(name: str, replicas: int) -> Object:
    labels = {"app": name}
    pod = {"containers": [{"name": "web", "image": "web"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    ("status", "done"),
    [
        (None, False),
        ({"readyReplicas": 2}, False),
        (
            {
                "observedGeneration": 3,
                "replicas": 2,
                "updatedReplicas": 2,
                "readyReplicas": 2,
                "availableReplicas": 2,
            },
            True,
        ),
        (
            {
                "observedGeneration": 2,
                "replicas": 2,
                "updatedReplicas": 2,
                "readyReplicas": 2,
                "availableReplicas": 2,
            },
            False,
        ),
    ],
)
def test_a_deployment_is_done_when_its_status_says_what_its_spec_wants(
    status: dict[str, Any] | None, done: bool
) -> None:
    obj = {"metadata": {"generation": 3}, "spec": {"replicas": 2}, "status": status}
    wanted = ready_status(obj)
    assert (wanted is None) is done
    assert wanted is None or wanted["readyReplicas"] == 2


def test_a_deployment_of_no_replicas_needs_no_numbers() -> None:
    assert (
        ready_status({"metadata": {"generation": 1}, "spec": {"replicas": 0}, "status": {"observedGeneration": 1}})
        is None
    )


async def until(found: Any) -> None:
    """Polls a server of the same process; bounded."""
    async with asyncio.timeout(5.0):
        while not await found():
            await asyncio.sleep(0)


async def test_it_makes_new_and_changed_deployments_ready() -> None:
    transport = InProcessTransport(ApiServer())
    client = Client(transport)
    playing = asyncio.create_task(DeploymentPlayer(transport).run())

    async def ready(name: str, replicas: int) -> bool:
        found = await client.get(DEPLOYMENTS, "default", name)
        return bool(found.get("status", {}).get("readyReplicas") == replicas)

    await client.create(DEPLOYMENTS, "default", deployment("early", 2))
    await until(lambda: ready("early", 2))
    await client.create(DEPLOYMENTS, "default", deployment("late", 1))
    await until(lambda: ready("late", 1))
    await client.merge_patch(DEPLOYMENTS, "default", "early", {"spec": {"replicas": 5}})
    await until(lambda: ready("early", 5))
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)


async def test_primaries_are_counted_and_judged_by_the_hook() -> None:
    transport = InProcessTransport(ApiServer())
    client = Client(transport)
    primaries = Primaries(transport, CONFIG_MAPS, lambda obj: obj["data"]["done"] == "yes")
    following = asyncio.create_task(primaries.run())

    async def counts(total: int, settled: int) -> bool:
        return (primaries.total, primaries.settled) == (total, settled)

    for name, done in (("a", "yes"), ("b", "no")):
        await client.create(CONFIG_MAPS, "default", {"metadata": {"name": name}, "data": {"done": done}})
    await until(lambda: counts(2, 1))
    await client.merge_patch(CONFIG_MAPS, "default", "b", {"data": {"done": "yes"}})
    await until(lambda: counts(2, 2))
    await client.delete(CONFIG_MAPS, "default", "a")
    await until(lambda: counts(1, 1))
    assert primaries.trouble == ""
    await client.create(CONFIG_MAPS, "default", {"metadata": {"name": "c"}})
    await until(lambda: counts(2, 1))
    assert primaries.trouble == "settled() raised KeyError: 'data'"
    assert [str(name) for name in primaries.unsettled()] == ["default/c"]
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def test_an_object_counts_from_its_create_on_and_no_longer_than_it_exists() -> None:
    transport = InProcessTransport(ApiServer())
    client = Client(transport)
    primaries = Primaries(transport, CONFIG_MAPS, lambda obj: True)
    for name in ("a", "b"):
        primaries.expect(await client.create(CONFIG_MAPS, "default", {"metadata": {"name": name}}))
    assert (primaries.total, primaries.settled) == (2, 0), "the view has not begun"
    assert [name.name for name in primaries.unsettled()] == ["a", "b"]
    await client.delete(CONFIG_MAPS, "default", "a")
    following = asyncio.create_task(primaries.run())

    async def counts(total: int, settled: int) -> bool:
        return (primaries.total, primaries.settled) == (total, settled)

    await until(lambda: counts(1, 1))
    primaries.expect(await client.create(CONFIG_MAPS, "default", {"metadata": {"name": "c"}}))
    assert primaries.total == 2
    await until(lambda: counts(2, 2))
    await client.delete(CONFIG_MAPS, "default", "c")
    await until(lambda: counts(1, 1))
    assert primaries.unsettled() == []
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
