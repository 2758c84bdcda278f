"""The requests behind records: one object each, with the API's answers told in the coordination's own errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from fleet.backends.record_cache import Record
from fleet.records.coordination import CasConflict, CoordinationUnavailable, MapUnreadable, ProtocolMismatch
from fleet.records.document import document
from fleet.records.lease_records import Lease, Times, foreign_member, lease_of, member_record, micro_time
from fleet.records.map_record import stored_map
from fleet.records.object_names import CONFIG_MAPS, LEASES, Kind, Names
from fleet.records.shard_lease import foreign_shard, shard_record
from shards.api.client import JSON, MERGE_PATCH, Transport
from shards.errors import ApiError, Conflict, NotFound, NotOwner, Unreachable
from shards.objects import Meta, Object, Resource
from shards.settings import ScopeSettings
from shards.versions import version_key


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Item(msgspec.Struct):
    metadata: Meta


class _Items(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


def resource_of(kind: Kind) -> Resource:
    return CONFIG_MAPS if kind in (Kind.MAP, Kind.DOCUMENT) else LEASES


def scope_of(kind: Kind, names: Names) -> ScopeSettings:
    """What selects the objects of a kind. The map is one object, by its name: rights can be given for it alone."""
    if kind is Kind.MAP:
        return ScopeSettings(field_selector=f"metadata.name={names.map}")
    return ScopeSettings(label_selector=names.selector(kind))


class RecordApi:
    """Requests for one fleet's objects. Every request raises CoordinationUnavailable; writes CasConflict too.

    user_agent: asked anew for every request, since the member's epoch changes. wall: seconds since 1970.
    """

    def __init__(
        self,
        transport: Transport,
        names: Names,
        *,
        user_agent: Callable[[], str],
        timeout_seconds: float,
        wall: Callable[[], float],
    ) -> None:
        self.transport = transport
        self.names = names
        self.user_agent = user_agent
        self.timeout_seconds = timeout_seconds
        self._wall = wall
        self._acquired: dict[str, tuple[int, str]] = {}

    def lease(self, raw: bytes) -> Lease | None:
        """None where it has not the shape of a Lease."""
        lease = lease_of(raw)
        if lease is not None and lease.epoch is not None and lease.spec.acquire_time:
            self._acquired[lease.metadata.name] = lease.epoch, lease.spec.acquire_time
        return lease

    def times(self, name: str, epoch: int) -> Times:
        """For a write to that Lease: acquireTime stays while the epoch does."""
        now = micro_time(self._wall())
        known_epoch, acquired = self._acquired.get(name, (epoch, now))
        return Times(acquired if known_epoch == epoch else now, now)

    def record(self, kind: Kind, raw: bytes) -> Record | None:
        """None for an object that holds no such record. Raises ProtocolMismatch."""
        if kind is Kind.MAP:
            try:
                return stored_map(msgspec.json.decode(raw), self.names.fleet)
            except (MapUnreadable, msgspec.DecodeError, RecursionError):
                return None
        if kind is Kind.DOCUMENT:
            return document(raw, self.names)
        lease = self.lease(raw)
        if lease is None:
            return None
        return member_record(lease, self.names.fleet) if kind is Kind.MEMBER else shard_record(lease, self.names.fleet)

    def foreign(self, kind: Kind, raw: bytes) -> Record | None:
        """What stands for a record of another protocol; None where nothing can."""
        lease = self.lease(raw) if kind in (Kind.MEMBER, Kind.SHARD) else None
        if lease is None:
            return None
        return (
            foreign_member(lease, self.names.fleet) if kind is Kind.MEMBER else foreign_shard(lease, self.names.fleet)
        )

    async def get(self, resource: Resource, name: str) -> bytes | None:
        """A quorum read. None: no such object."""
        with _told(f"read of {name}", write=False):
            try:
                return await self._request("GET", resource, name)
            except NotFound:
                return None

    async def list_records(self, kind: Kind, *, strict: bool = True) -> tuple[dict[str, Record], str]:
        """A quorum list: records by object name, and the version at which it is complete.

        Records of another protocol are foreign ones. strict: raises ProtocolMismatch for one of which not even the
        range is known; else it is left out.
        """
        found: dict[str, Record] = {}
        scope = scope_of(kind, self.names)
        selectors = (("labelSelector", scope.label_selector), ("fieldSelector", scope.field_selector))
        query = [pair for pair in selectors if pair[1]]
        page = _ListMeta()
        while True:
            rest = [("continue", page.continue_)] if page.continue_ else []
            with _told(f"list of {kind} records", write=False):
                body = await self._request("GET", resource_of(kind), query=[*query, *rest])
                decoded = msgspec.json.decode(body, type=_Items)
                version_key(decoded.metadata.resource_version)
                for raw in decoded.items or ():
                    record = self._record_or_foreign(kind, bytes(raw), strict=strict)
                    if record is not None:
                        found[msgspec.json.decode(raw, type=_Item).metadata.name] = record
            page = decoded.metadata
            if not page.continue_:
                return found, page.resource_version

    def _record_or_foreign(self, kind: Kind, raw: bytes, *, strict: bool) -> Record | None:
        try:
            return self.record(kind, raw)
        except ProtocolMismatch:
            found = self.foreign(kind, raw)
            if found is None and strict:
                raise
            return found

    async def write(self, resource: Resource, body: Object, *, not_after: float | None = None) -> bytes:
        """Replaces the version that the body names, or creates the object where it names none."""
        metadata: Mapping[str, str] = body["metadata"]
        name, replaces = metadata["name"], "resourceVersion" in metadata
        with _told(f"write of {name}", write=True):
            try:
                return await self._request(
                    "PUT" if replaces else "POST",
                    resource,
                    name if replaces else "",
                    body=msgspec.json.encode(body),
                    not_after=not_after,
                )
            except NotFound as error:
                if not replaces:
                    raise
                raise CasConflict(f"{name} is gone") from error

    async def patch(self, resource: Resource, name: str, patch: Object, *, not_after: float | None = None) -> bytes:
        """A merge patch, which names the version that it changes."""
        with _told(f"change of {name}", write=True):
            try:
                return await self._request(
                    "PATCH",
                    resource,
                    name,
                    body=msgspec.json.encode(patch),
                    content_type=MERGE_PATCH,
                    not_after=not_after,
                )
            except NotFound as error:
                raise CasConflict(f"{name} is gone") from error

    async def delete(self, resource: Resource, name: str, *, uid: str, version: str) -> None:
        """Deletes that object at that version only. Without effect where it is gone."""
        body = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": uid, "resourceVersion": version},
        }
        with _told(f"deletion of {name}", write=True):
            try:
                await self._request("DELETE", resource, name, body=msgspec.json.encode(body))
            except NotFound:
                return

    async def _request(
        self,
        method: str,
        resource: Resource,
        name: str = "",
        *,
        query: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
        content_type: str = JSON,
        not_after: float | None = None,
    ) -> bytes:
        return await self.transport.request(
            method,
            resource.path(self.names.namespace, name),
            query=query,
            body=body,
            content_type=content_type,
            user_agent=self.user_agent(),
            timeout_seconds=self.timeout_seconds,
            not_after=not_after,
        )


@contextmanager
def _told(what: str, *, write: bool) -> Iterator[None]:
    """A 5xx leaves a write in doubt: it may come from behind the point where the write was stored."""
    try:
        yield
    except Conflict as error:
        raise CasConflict(f"{what}: {error}") from error
    except NotOwner as error:
        raise CoordinationUnavailable(f"{what}: not sent, {error}") from error
    except Unreachable as error:
        raise CoordinationUnavailable(f"{what}: {error}", maybe_applied=write and error.maybe_applied) from error
    except ApiError as error:
        raise CoordinationUnavailable(f"{what}: {error}", maybe_applied=write and error.status >= 500) from error
    except ValueError as error:  # of msgspec and version_key
        raise CoordinationUnavailable(f"{what}: not an answer of this API: {error}", maybe_applied=write) from error
