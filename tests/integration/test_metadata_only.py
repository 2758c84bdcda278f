"""Metadata-only views on both servers: the same view, and nothing but metadata on the wire."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import msgspec
import pytest

from shards.errors import NotFound
from shards.informers.informer import Informer
from shards.objects import ObjectName, Resource
from shards.stores.intake import Intake
from shards.stores.store import StoreWriter
from tests.integration.live_informer import Seen, both_servers, kubeconfig_of, seen

CONFIG_MAPS = Resource("", "v1", "configmaps")
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
SECRET_TEXT = "never sent to a view of metadata"


def writer_of(resource: Resource) -> StoreWriter:
    return StoreWriter(Intake(metadata_only=True, api_version=resource.api_version))


async def gadgets(at: Seen) -> Resource:
    """A custom resource of this test's own."""
    group = f"g{secrets.token_hex(4)}.shardfleet.dev"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "gadgets", "kind": "Gadget"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    await at.client.create(CRDS, "", {"metadata": {"name": f"gadgets.{group}"}, "spec": spec})
    return Resource(group, "v1", "gadgets")


def wire_of(monkeypatch: pytest.MonkeyPatch, at: Seen) -> list[bytes]:
    """Every byte that informers get from now on."""
    got: list[bytes] = []
    transport: Any = at.client.transport
    request, stream = transport.request, transport.stream

    async def noted(method: str, path: str, **options: Any) -> bytes:
        body: bytes = await request(method, path, **options)
        if options.get("user_agent") == "live-informer":
            got.append(body)
        return body

    class Noted:
        def __init__(self, opened: Any) -> None:
            self.opened = opened

        async def __aenter__(self) -> Any:
            chunks = await self.opened.__aenter__()

            async def each() -> Any:
                async for chunk in chunks:
                    got.append(chunk)
                    yield chunk

            return each()

        async def __aexit__(self, *error: Any) -> Any:
            return await self.opened.__aexit__(*error)

    monkeypatch.setattr(transport, "request", noted)
    monkeypatch.setattr(transport, "stream", lambda path, **options: Noted(stream(path, **options)))
    return got


@both_servers
@pytest.mark.parametrize("custom", [False, True], ids=["built-in", "custom"])
@pytest.mark.parametrize("streams", [False, True], ids=["pages", "streams"])
async def test_a_view_of_metadata_is_sent_metadata(
    server: str, custom: bool, streams: bool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with seen(kubeconfig_of(request, server)) as at:
        resource = await gadgets(at) if custom else CONFIG_MAPS
        kind = {"apiVersion": resource.api_version, "kind": "Gadget" if custom else "ConfigMap"}
        body = {**kind, "metadata": {"name": "one", "labels": {"a": "b"}}, "data": {"text": SECRET_TEXT}}
        one = await created(at, resource, body)
        got = wire_of(monkeypatch, at)
        async with at.informer(resource, writer=writer_of(resource), metadata_only=True, streams=streams) as informer:
            await at.shown(informer, one)
            two = await at.client.create(resource, at.namespace, {**body, "metadata": {"name": "two"}})
            await at.shown(informer, two)
            one = await at.client.merge_patch(
                resource, at.namespace, "one", {"data": {"text": f"{SECRET_TEXT} either"}}
            )
            await at.shown(informer, one)
            await at.client.delete(resource, at.namespace, "two")
            await at.until(lambda: ("two", "") in at.told, "the deletion")
            found = informer.store.get(ObjectName(at.namespace, "one"))
            assert found == {"apiVersion": resource.api_version, "metadata": one["metadata"]}
            assert informer.trouble == ""
    wire = b"".join(got)
    assert b"PartialObjectMetadata" in wire
    assert SECRET_TEXT.encode() not in wire


async def created(at: Seen, resource: Resource, body: dict[str, Any]) -> dict[str, Any]:
    """A resource that was defined a moment ago is served a moment later."""
    while True:
        try:
            return await at.client.create(resource, at.namespace, body)
        except NotFound:
            await asyncio.sleep(0.05)


@both_servers
async def test_a_server_that_sends_whole_objects_gives_the_same_view(
    server: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not understand the Accept header."""
    async with seen(kubeconfig_of(request, server)) as at:
        body = {"metadata": {"name": "one"}, "data": {"text": SECRET_TEXT}}
        one = await at.client.create(CONFIG_MAPS, at.namespace, body)
        plain = Informer.__init__

        def ignored(self: Informer, *arguments: Any, **options: Any) -> None:
            plain(self, *arguments, **options)
            self._collection._metadata_only = False

        monkeypatch.setattr(Informer, "__init__", ignored)
        got = wire_of(monkeypatch, at)
        async with at.informer(CONFIG_MAPS, writer=writer_of(CONFIG_MAPS), metadata_only=True) as informer:
            await at.shown(informer, one)
            two = await at.client.create(CONFIG_MAPS, at.namespace, {**body, "metadata": {"name": "two"}})
            await at.shown(informer, two)
            kept = [informer.store.get(ObjectName(at.namespace, name)) for name in ("one", "two")]
    assert SECRET_TEXT.encode() in b"".join(got)
    assert SECRET_TEXT.encode() not in msgspec.json.encode(kept)
    assert [each and each["metadata"]["name"] for each in kept] == ["one", "two"]
