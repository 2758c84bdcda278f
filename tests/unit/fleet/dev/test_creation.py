from __future__ import annotations

import pytest

from fleet.dev.creation import Creation
from fleet.dev.primaries import Primaries
from fleet.dev.process import PartFailed
from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.server import ApiServer
from shards.api.client import Client
from shards.objects import Object, Resource

CONFIG_MAPS = Resource("", "v1", "configmaps")


def made(*names: str, namespace: str = "default") -> list[Object]:
    return [{"metadata": {"name": name, "namespace": namespace}} for name in names]


def creation(objects: list[Object]) -> tuple[Creation, Primaries, Client]:
    transport = InProcessTransport(ApiServer())
    primaries = Primaries(transport, CONFIG_MAPS, lambda obj: True)
    client = Client(transport)
    return Creation(client, objects, primaries), primaries, client


async def test_all_objects_are_made_and_expected() -> None:
    task, primaries, client = creation(made(*(f"c-{i}" for i in range(20))))
    assert task.waiting == 20
    await task.run()
    assert (task.waiting, primaries.total) == (0, 20)
    assert len((await client.list(CONFIG_MAPS, "default"))["items"]) == 20


async def test_an_object_that_is_there_already_is_left_as_it_is() -> None:
    task, primaries, client = creation(made("a", "b"))
    before = await client.create(CONFIG_MAPS, "default", {"metadata": {"name": "a"}, "data": {"mine": "yes"}})
    await task.run()
    assert (task.waiting, primaries.total) == (0, 1), "the view has seen nothing yet"
    assert await client.get(CONFIG_MAPS, "default", "a") == before


async def test_a_refused_object_is_named_with_what_it_lacks() -> None:
    task, _, _ = creation(made("a", namespace=""))
    with pytest.raises(PartFailed, match=r"the demo object 'a' is refused: .*; it has no metadata.namespace$"):
        await task.run()
    task, _, _ = creation(made("B_"))
    with pytest.raises(PartFailed, match=r"the demo object 'B_' is refused: 422 .*") as caught:
        await task.run()
    assert "metadata.namespace" not in str(caught.value)
