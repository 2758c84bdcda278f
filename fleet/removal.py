"""Removes what a fleet keeps on its API server, once nobody lives in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

from fleet.records.object_names import CONFIG_MAPS, EVENTS, FLEET_LABEL, KIND_LABEL, LEASES, Names
from fleet.records.record import DocumentName
from fleet.status.status_reader import StatusReader
from fleet.status.statusview import MemberState, fleet_status
from shards.api.client import Client
from shards.errors import Conflict, NotFound, ShardError
from shards.objects import SLOT_LABEL, Resource

FORCE_SECONDS = 30.0
"""How long `--force` waits before it removes the records of members that live, after it has said so."""


def left(names: Names) -> str:
    """What stays, and what is to be done about it, as a sentence."""
    return (
        f"left alone: the config, if it is in a ConfigMap {names.document(DocumentName.CONFIG)}; the objects that the"
        f" fleet looked after, their children and the label {SLOT_LABEL} on these; and finalizers that its reconciles"
        " set: nobody removes those any more, and such objects cannot be deleted until you do"
    )


class StillAlive(ShardError):
    """Members live: what they need is not removed."""


class Kept(NamedTuple):
    """An object of the fleet. kind: which record it holds."""

    resource: Resource
    name: str
    uid: str
    kind: str


async def kept(client: Client, names: Names) -> list[Kept]:
    """Everything with the fleet's label, in the order in which it is to go: orders and the map first, so that nothing
    is planned any more. The config is not the fleet's: people wrote it, and pods may mount it when they start again."""
    found = []
    for resource in (CONFIG_MAPS, LEASES, EVENTS):
        query = [("labelSelector", f"{FLEET_LABEL}={names.fleet}")]
        for item in (await client.list(resource, names.namespace, query=query))["items"]:
            metadata = item["metadata"]
            if (resource, metadata["name"]) == (CONFIG_MAPS, names.document(DocumentName.CONFIG)):
                continue
            kind = (metadata.get("labels") or {}).get(KIND_LABEL, "")
            found.append(Kept(resource, metadata["name"], metadata["uid"], kind))
    return found


async def alive(client: Client, names: Names, *, today: Callable[[], float]) -> list[str]:
    """Members that renew, or may do so: after a second look where timestamps make them seem silent."""
    found = fleet_status(await StatusReader(client, names, today=today).sight(patient=True))
    return [row.name for row in found.members if row.state in (MemberState.ALIVE, MemberState.LEAVING)]


async def check_nobody_lives(
    client: Client, names: Names, *, force: bool, today: Callable[[], float], tell: Callable[[str], None]
) -> None:
    """Raises StillAlive; with `force` it says who lives, and waits instead."""
    living = await alive(client, names, today=today)
    if not living:
        return
    who = f"{', '.join(living)} of {names.fleet} {'lives' if len(living) == 1 else 'live'}"
    if not force:
        raise StillAlive(
            f"{who}, so nothing was removed: stop the pods first (kubectl scale statefulset ... --replicas=0) and wait"
            " for a lease; --force removes it all the same"
        )
    tell(f"{who}, and will stop and begin anew: removing all the same in {FORCE_SECONDS:g} s; Ctrl-C ends this")
    await asyncio.sleep(FORCE_SECONDS)


async def remove(client: Client, names: Names, wanted: Iterable[Kept]) -> dict[str, int]:
    """Removes these very objects. Returns how many of each kind went; those that were made anew meanwhile stay."""
    gone: dict[str, int] = {}
    for each in wanted:
        try:
            await client.delete(each.resource, names.namespace, each.name, uid=each.uid)
        except (NotFound, Conflict):
            continue
        gone[each.kind] = gone.get(each.kind, 0) + 1
    return gone


def counted(kinds: dict[str, int]) -> str:
    """For people: `1 map, 2 documents, 16 shard Leases`."""
    words = {
        "map": ("map", "maps"),
        "document": ("document", "documents"),
        "shard": ("shard Lease", "shard Leases"),
        "member": ("member Lease", "member Leases"),
        "coordinator": ("coordinator Lease", "coordinator Leases"),
        "event": ("Event", "Events"),
    }
    told = [
        f"{count} {words.get(kind, ('other object', 'other objects'))[count != 1]}" for kind, count in kinds.items()
    ]
    return ", ".join(told) or "nothing"
