"""Why a collection is not found: which versions of its group the server has instead, in one sentence."""

from __future__ import annotations

import msgspec

from shards.api.client import Transport
from shards.errors import NotFound, ShardError
from shards.objects import Resource

SECONDS = 5.0
"""For each answer."""


class _Version(msgspec.Struct):
    version: str = ""


class _Group(msgspec.Struct):
    versions: list[_Version] = []


class _Named(msgspec.Struct):
    name: str = ""


class _Resources(msgspec.Struct):
    resources: list[_Named] = []


async def unserved(transport: Transport, resource: Resource, user_agent: str) -> NotFound:
    """The error to report for a list or watch that was answered 404: of collections, a server knows no other.

    Asks for the group and for its versions; what is not answered is left out of the sentence.
    """
    return NotFound(404, "NotFound", await _sentence(transport, resource, user_agent))


async def _sentence(transport: Transport, resource: Resource, user_agent: str) -> str:
    what = f"the server does not serve {resource}"
    if not resource.group:
        return what
    try:
        versions = await _versions(transport, resource, user_agent)
    except NotFound:
        return f"{what}, nor any other version of {resource.group}: its CustomResourceDefinition is gone"
    except (ShardError, msgspec.MsgspecError):
        return what
    if not versions:
        return f"{what}, nor {resource.plural} in another version: its CustomResourceDefinition is gone"
    if resource.version in versions:
        return f"{what} yet, but says that it will"
    there = ", ".join(versions)
    return f"{what}, but {there}: serve {resource.version} too, or name one of those in the controller"


async def _versions(transport: Transport, resource: Resource, user_agent: str) -> list[str]:
    """In which versions the plural is served."""
    root = f"/apis/{resource.group}"

    async def get(path: str) -> bytes:
        return await transport.request("GET", path, user_agent=user_agent, timeout_seconds=SECONDS)

    found = []
    for version in (each.version for each in msgspec.json.decode(await get(root), type=_Group).versions):
        resources = msgspec.json.decode(await get(f"{root}/{version}"), type=_Resources).resources
        if any(each.name == resource.plural for each in resources):
            found.append(version)
    return found
