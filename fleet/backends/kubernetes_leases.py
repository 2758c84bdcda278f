"""Coordination on an API server: Leases for members, shards and the coordinator, ConfigMaps for map and documents.

Every write is a PUT with a resourceVersion or a POST: a compare-and-swap. A write replaces the object's labels and
annotations whole: what others put there does not stay. Documents are patched, since they are other people's.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar, cast

import msgspec

from fleet.backends.kubernetes_view import KubernetesView
from fleet.backends.record_api import RecordApi
from fleet.records.coordination import CoordinationUnavailable
from fleet.records.document import changed_document, created_document, labelled_document
from fleet.records.lease_records import (
    Lease,
    coordinator_record,
    lease_from_coordinator,
    lease_from_member,
    member_record,
)
from fleet.records.map_record import configmap_from_map, stored_map
from fleet.records.object_names import CONFIG_MAPS, LEASES, Kind, Names
from fleet.records.record import (
    CoordinatorRecord,
    Document,
    DocumentName,
    MemberRecord,
    ShardMap,
    ShardRecord,
    StoredMap,
)
from fleet.records.shard_lease import lease_from_shard, shard_record
from shards.api.client import Transport
from shards.clock import Clock, boot_seconds
from shards.keyrange import KeyRange

R = TypeVar("R", StoredMap, MemberRecord, ShardRecord, Document)
V = TypeVar("V")

REQUEST_TIMEOUT_SECONDS = 5.0
"""Shorter than the default lease, so that one silent request does not cost a member its life."""


class KubernetesCoordination:
    """See `fleet.records.coordination.Coordination`. The transport stays the caller's.

    user_agent: asked anew for every request. wall: seconds since 1970, for the times in Leases that people read.
    Raises ConfigError for a fleet or namespace that cannot name objects.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        fleet: str,
        namespace: str,
        user_agent: Callable[[], str],
        clock: Clock = boot_seconds,
        wall: Callable[[], float] = time.time,
        rng: random.Random | None = None,
        request_timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
    ) -> None:
        self.names = Names(fleet, namespace)
        self._api = RecordApi(
            transport, self.names, user_agent=user_agent, timeout_seconds=request_timeout_seconds, wall=wall
        )
        self._clock = clock
        self._rng = rng or random.Random()
        self._views: list[KubernetesView] = []

    async def read_map(self) -> StoredMap | None:
        """Raises MapUnreadable, which names the version to replace, and ProtocolMismatch."""
        body = await self._api.get(CONFIG_MAPS, self.names.map)
        return None if body is None else self._map(body)

    async def write_map(self, new: ShardMap, replaces: str, *, not_after: float | None = None) -> StoredMap:
        body = configmap_from_map(self.names, new, replaces=replaces)
        return self._map(await self._api.write(CONFIG_MAPS, body, not_after=not_after))

    def _map(self, body: bytes) -> StoredMap:
        try:
            decoded = msgspec.json.decode(body)
        except msgspec.DecodeError as error:
            raise CoordinationUnavailable(f"the answer is no object: {error}", maybe_applied=True) from error
        found = stored_map(decoded, self.names.fleet)
        self._noted(Kind.MAP, self.names.map, found)
        return found

    async def read_member(self, name: str) -> MemberRecord | None:
        body = await self._api.get(LEASES, self.names.member(name))
        return None if body is None else self._member(body)

    async def list_members(self) -> list[MemberRecord]:
        found, _ = await self._api.list_records(Kind.MEMBER)
        return cast("list[MemberRecord]", list(found.values()))

    async def write_member(self, new: MemberRecord, replaces: str, *, not_after: float | None = None) -> MemberRecord:
        times = self._api.times(self.names.member(new.name), new.epoch)
        body = lease_from_member(self.names, new, replaces=replaces, times=times)
        return self._member(await self._api.write(LEASES, body, not_after=not_after))

    async def delete_member(self, record: MemberRecord) -> None:
        await self._api.delete(LEASES, self.names.member(record.name), uid=record.uid, version=record.version)

    def _member(self, body: bytes) -> MemberRecord:
        lease = self._lease(body)
        return self._noted(Kind.MEMBER, lease.metadata.name, _whole(member_record(lease, self.names.fleet)))

    async def read_shard(self, wanted: KeyRange) -> ShardRecord | None:
        body = await self._api.get(LEASES, self.names.shard(wanted))
        return None if body is None else self._shard(body)

    async def list_shards(self) -> list[ShardRecord]:
        found, _ = await self._api.list_records(Kind.SHARD)
        return cast("list[ShardRecord]", list(found.values()))

    async def write_shard(self, new: ShardRecord, replaces: str, *, not_after: float | None = None) -> ShardRecord:
        times = self._api.times(self.names.shard(new.range), new.epoch)
        body = lease_from_shard(self.names, new, replaces=replaces, times=times)
        return self._shard(await self._api.write(LEASES, body, not_after=not_after))

    async def delete_shard(self, record: ShardRecord) -> None:
        name = self.names.shard(record.range)
        await self._api.delete(LEASES, name, uid=record.uid, version=record.version)

    def _shard(self, body: bytes) -> ShardRecord:
        lease = self._lease(body)
        return self._noted(Kind.SHARD, lease.metadata.name, _whole(shard_record(lease, self.names.fleet)))

    async def read_coordinator(self) -> CoordinatorRecord | None:
        body = await self._api.get(LEASES, self.names.coordinator)
        return None if body is None else coordinator_record(self._lease(body), self.names.fleet)

    async def write_coordinator(
        self, new: CoordinatorRecord, replaces: str, *, not_after: float | None = None
    ) -> CoordinatorRecord:
        times = self._api.times(self.names.coordinator, new.epoch)
        body = lease_from_coordinator(self.names, new, replaces=replaces, times=times)
        answer = await self._api.write(LEASES, body, not_after=not_after)
        return coordinator_record(self._lease(answer), self.names.fleet)

    async def read_document(self, name: DocumentName) -> Document | None:
        body = await self._api.get(CONFIG_MAPS, self.names.document(name))
        return None if body is None else self._document(body)

    async def write_document(self, new: Document, *, not_after: float | None = None) -> Document:
        if not new.version:
            body = await self._api.write(CONFIG_MAPS, created_document(self.names, new), not_after=not_after)
        else:
            name = self.names.document(new.name)
            body = await self._api.patch(CONFIG_MAPS, name, changed_document(new), not_after=not_after)
        return self._document(body)

    def _document(self, body: bytes) -> Document:
        found = labelled_document(body, self.names)
        return self._noted(Kind.DOCUMENT, self.names.document(found.name), found)

    def watch(self, *, members: bool) -> KubernetesView:
        view = KubernetesView(self._api, members=members, clock=self._clock, rng=self._rng, on_close=self._views.remove)
        self._views.append(view)
        return view

    def _lease(self, body: bytes) -> Lease:
        return _whole(self._api.lease(body))

    def _noted(self, kind: Kind, name: str, record: R) -> R:
        for view in self._views:
            view.noted(kind, name, record)
        return record


def _whole(found: V | None) -> V:
    """The answer to a request for one object of ours, which can be nothing else."""
    if found is None:
        raise CoordinationUnavailable("the answer is not the object that was asked for", maybe_applied=True)
    return found
