"""The recording of a fleet that no recorder stands in front of: its records, as watches of them tell.

Who wrote something is known by its managedFields only: the product, and nothing of the member. It is taken to be whom
the record itself names, so that a member that wrote for another is not seen; of a deletion nobody knows. Reads are not
seen at all. Of two writes in quick succession a list after a lost watch shows the second alone: there is a gap in the
journal then, of which nobody is accused (docs/invariants.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from fleet.devcluster.recording.journal import GAP, Entry
from fleet.records.lease_records import member_record_from_lease, shard_record_from_lease
from fleet.records.object_names import CONFIG_MAPS, FLEET_LABEL, LEASES, Names
from fleet.records.record import Holder
from shards.api.client import Transport
from shards.api.useragent import UserAgent
from shards.clock import Clock
from shards.errors import ApiError, ShardError
from shards.objects import Object, Resource
from shards.watching.wire import EventType, LineSplitter

_VERBS = {EventType.ADDED: "create", EventType.MODIFIED: "update", EventType.DELETED: "delete"}
_RETRY_SECONDS = 0.5
_GONE = 410


class _Event(msgspec.Struct):
    type: str
    object: Object


class WatchedRecords:
    """Leases and the map of one fleet, from `follow` on, as entries of a journal.

    hear: each entry, in order; numbers rise by one. synced: set once both have been listed.
    """

    def __init__(self, transport: Transport, names: Names, hear: Callable[[Entry], None], clock: Clock) -> None:
        self.synced = asyncio.Event()
        self._transport = transport
        self._names = names
        self._hear = hear
        self._clock = clock
        self._seq = 0
        self._listed: set[Resource] = set()
        self._troubles: dict[Resource, tuple[float, str]] = {}
        """Since when a resource is not followed, and what was met last."""

    async def follow(self) -> None:
        """Until cancelled."""
        await asyncio.gather(*(self._follow(resource) for resource in (LEASES, CONFIG_MAPS)))

    def trouble(self, within_seconds: float = 0.0) -> str:
        """Why one of them is not followed, for longer than that; "" where both are."""
        for resource, (since, what) in self._troubles.copy().items():
            if self._clock() - since >= within_seconds:
                return f"{resource} cannot be followed: {what}"
        return ""

    async def _follow(self, resource: Resource) -> None:
        known: dict[str, Object] = {}
        version = ""
        while True:
            try:
                if not version:
                    version = await self._list(resource, known)
                version = await self._watch(resource, known, version)
            except (
                Exception
            ) as error:  # what is not followed any more must not pass for a fleet in which nothing happens
                if isinstance(error, ApiError) and error.status == _GONE:
                    version = ""
                    continue
                since, _ = self._troubles.get(resource, (self._clock(), ""))
                self._troubles[resource] = since, str(error) if isinstance(error, ShardError) else repr(error)
                if not isinstance(error, ShardError):
                    version = ""
                await asyncio.sleep(_RETRY_SECONDS)

    async def _list(self, resource: Resource, known: dict[str, Object]) -> str:
        """What differs from what was known. Returns the version of the list."""
        query = [("labelSelector", f"{FLEET_LABEL}={self._names.fleet}")]
        path = resource.path(self._names.namespace)
        page: Object = msgspec.json.decode(await self._transport.request("GET", path, query=query))
        if resource in self._listed:
            self._tell(GAP, resource, {})
        found = {each["metadata"]["name"]: each for each in page["items"]}
        for name, obj in found.items():
            before = known.get(name, {})
            if not before or before["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]:
                self._tell("update" if before else "create", resource, obj, before)
        for name in known.keys() - found.keys():
            self._tell("delete", resource, known[name])
        known.clear()
        known.update(found)
        self._listed.add(resource)
        if len(self._listed) == 2:
            self.synced.set()
        return str(page["metadata"]["resourceVersion"])

    async def _watch(self, resource: Resource, known: dict[str, Object], version: str) -> str:
        """Until the watch ends. Returns the last version that it told of. Raises ApiError, Unreachable."""
        query = [
            ("labelSelector", f"{FLEET_LABEL}={self._names.fleet}"),
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", version),
        ]
        lines = LineSplitter()
        async with self._transport.stream(resource.path(self._names.namespace), query=query) as chunks:
            self._troubles.pop(resource, None)
            async for chunk in chunks:
                for line in lines.feed(chunk):
                    event = msgspec.json.decode(line, type=_Event)
                    if event.type == EventType.ERROR:
                        return ""
                    version = str(event.object["metadata"]["resourceVersion"])
                    verb = _VERBS.get(EventType(event.type))
                    if verb is None:
                        continue
                    name = event.object["metadata"]["name"]
                    before = known.pop(name, {})
                    if verb != "delete":
                        known[name] = event.object
                    self._tell(verb, resource, event.object, before)
        return version

    def _tell(self, verb: str, resource: Resource, obj: Object, before: Object | None = None) -> None:
        self._seq += 1
        metadata = obj.get("metadata", {})
        entry = Entry(
            self._seq,
            self._clock(),
            verb,
            str(resource),
            metadata.get("namespace", ""),
            metadata.get("name", ""),
            uid=metadata.get("uid", ""),
            status=0 if verb == GAP else 200,
            user_agent="" if verb == "delete" else _author(obj, before or {}),
            resource_version=metadata.get("resourceVersion", ""),
            removed=verb == "delete",
            object=msgspec.json.encode(obj).decode() if obj else None,
        )
        self._hear(entry)


def _author(obj: Object, before: Object) -> str:
    """As a User-Agent: the product that managedFields name, and of a fleet the member that the record names, or has
    named until now."""
    last = _last_writer(_managed(obj), _managed(before))
    product = str(last.get("manager", ""))
    if product != "fleet":
        return f"{product}/0" if product else ""
    holder = _holder(obj) or _holder(before)
    return str(UserAgent("fleet/0", member=holder.member, epoch=str(holder.epoch)) if holder else UserAgent("fleet/0"))


def _managed(obj: Object) -> list[Object]:
    found: list[Object] = obj.get("metadata", {}).get("managedFields") or []
    return found


def _last_writer(now: list[Object], before: list[Object]) -> Object:
    """Times are whole seconds: of several writers in one, it is the one whose fields have changed."""
    changed = [each for each in now if each not in before]
    return max(changed or now, key=lambda each: str(each.get("time", "")), default={})


def _holder(obj: Object) -> Holder | None:
    """Whom a shard Lease or a member Lease names; None of anything else."""
    try:
        shard, member = shard_record_from_lease(obj), member_record_from_lease(obj)
    except ShardError:
        return None
    if shard is not None:
        return shard.holder
    return Holder(member.name, member.epoch) if member is not None and member.holder is not None else None
