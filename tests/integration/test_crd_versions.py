"""A custom resource whose versions change under a running informer, on both servers."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import pytest

import shards.watching.watch
from shards.errors import Conflict, NotFound
from shards.objects import Object, Resource
from tests.integration.live_informer import Seen, both_servers, kubeconfig_of, seen

CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards.watching.watch, "BACKOFF_SECONDS", (0.1, 1.0))


def version(name: str, *, served: bool = True, storage: bool = False) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {"name": name, "served": served, "storage": storage, "schema": schema}


class Definition:
    """A CRD of a group of its own; its objects are asked for as v1."""

    def __init__(self, at: Seen) -> None:
        self.at = at
        self.group = f"g{secrets.token_hex(4)}.shardfleet.dev"
        self.name = f"gadgets.{self.group}"

    def gadgets(self, version: str = "v1") -> Resource:
        return Resource(self.group, version, "gadgets")

    async def create(self, *versions: dict[str, Any]) -> None:
        names = {"plural": "gadgets", "kind": "Gadget"}
        spec = {"group": self.group, "scope": "Namespaced", "names": names, "versions": list(versions)}
        await self.at.client.create(CRDS, "", {"metadata": {"name": self.name}, "spec": spec})

    async def change(self, *versions: dict[str, Any]) -> None:
        while True:
            found = await self.at.client.get(CRDS, "", self.name)
            found["spec"]["versions"] = list(versions)
            try:
                await self.at.client.update(CRDS, "", self.name, found)
                return
            except Conflict:
                continue

    async def gadget(self, name: str, version: str = "v1") -> Object:
        """A version that is served in a moment is waited for."""
        while True:
            try:
                gadgets = self.gadgets(version)
                body = {"apiVersion": gadgets.api_version, "kind": "Gadget", "metadata": {"name": name}}
                return await self.at.client.create(gadgets, self.at.namespace, body)
            except NotFound:
                await asyncio.sleep(0.05)


@both_servers
async def test_a_version_that_is_not_served_any_more_is_named_and_the_view_goes_on_when_it_is_back(
    server: str, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    async with seen(kubeconfig_of(request, server)) as at:
        definition = Definition(at)
        await definition.create(version("v1", storage=True), version("v2"))
        one = await definition.gadget("one")
        async with at.informer(definition.gadgets()) as informer:
            await at.shown(informer, one)
            await definition.change(version("v1", served=False, storage=True), version("v2"))
            wanted = f"does not serve {definition.gadgets()}, but v2"
            await at.until(lambda: wanted in informer.trouble, f"no trouble but {informer.trouble!r}")
            assert not informer.synced.is_set()
            assert len(informer.store) == 1  # nothing is concluded from a collection that is not there
            meanwhile = await definition.gadget("two", "v2")
            await definition.change(version("v1", storage=True), version("v2"))
            await at.shown(informer, meanwhile)
            await at.until(informer.synced.is_set, "it is not synced")
            assert informer.trouble == ""
            assert [name for name, _ in at.told] == ["one", "two"]
    assert wanted in caplog.text


@both_servers
async def test_another_storage_version_changes_nothing_in_the_view(server: str, request: pytest.FixtureRequest) -> None:
    async with seen(kubeconfig_of(request, server)) as at:
        definition = Definition(at)
        await definition.create(version("v1", storage=True), version("v2"))
        one = await definition.gadget("one")
        async with at.informer(definition.gadgets()) as informer:
            await at.shown(informer, one)
            await definition.change(version("v1"), version("v2", storage=True))
            two = await definition.gadget("two", "v2")
            await at.shown(informer, two)
            rewritten = await at.client.merge_patch(definition.gadgets(), at.namespace, "one", {"spec": {"text": "y"}})
            await at.shown(informer, rewritten)
            await at.until(informer.synced.is_set, "it is not synced")
            assert sorted({name for name, _ in at.told}) == ["one", "two"]
            assert ("one", "") not in at.told
            found = informer.store.get(next(iter(informer.store.select())))
            assert found is not None
            assert found["apiVersion"] == definition.gadgets().api_version


@both_servers
async def test_a_definition_that_is_gone_is_named_and_its_objects_go_when_it_is_back(
    server: str, request: pytest.FixtureRequest
) -> None:
    async with seen(kubeconfig_of(request, server)) as at:
        definition = Definition(at)
        await definition.create(version("v1", storage=True))
        one = await definition.gadget("one")
        async with at.informer(definition.gadgets()) as informer:
            await at.shown(informer, one)
            await at.client.delete(CRDS, "", definition.name)
            wanted = f"does not serve {definition.gadgets()}, nor"
            await at.until(lambda: wanted in informer.trouble, "no trouble")
            await _until_gone(at, definition)
            await definition.create(version("v1", storage=True))
            two = await definition.gadget("two")
            await at.shown(informer, two)
            await at.until(informer.synced.is_set, "it is not synced")
            assert [each.name for each in informer.store.select()] == ["two"]
            assert ("one", "") in at.told


async def _until_gone(at: Seen, definition: Definition) -> None:
    while True:
        try:
            await at.client.get(CRDS, "", definition.name)
        except NotFound:
            return
        await asyncio.sleep(0.05)
