"""What hands do to the records of a fleet: its Leases, and its map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaos.simulation.stack.members import FLEET, NAMESPACE
from chaos.simulation.stage import EditHow
from chaos.simulation.strikes import Record
from fleet.devcluster.server import ApiServer
from fleet.devcluster.storage.storage import Commit
from fleet.records.object_names import CONFIG_MAPS, KIND_LABEL, LEASES, Kind, Names
from shards.api.client import Client
from shards.errors import ApiError, Unreachable
from shards.objects import DOMAIN, Object, Resource

_KINDS: Mapping[str, Kind] = {
    "member": Kind.MEMBER, "shard": Kind.SHARD, "coordinator": Kind.COORDINATOR, "map": Kind.MAP,
}  # fmt: skip
_MAPS_KEPT = 16


class Hands:
    """client: of a person. server: read past its door, to know what is there."""

    def __init__(self, client: Client, server: ApiServer) -> None:
        self._client = client
        self._server = server
        self._maps: list[dict[str, str]] = []
        """What maps held, oldest first."""
        server.storage.listeners.append(self._committed)

    def _committed(self, commit: Commit) -> None:
        new = commit.new
        if new is not None and commit.kind.resource == CONFIG_MAPS and new.meta.name == Names(FLEET, NAMESPACE).map:
            data = new.decode().get("data")
            if isinstance(data, dict):
                self._maps = [*self._maps, data][-_MAPS_KEPT:]

    def find(self, record: Record, index: int) -> Object | None:
        """One of those that are there, in order of names, modulo their number."""
        resource, wanted = resource_of(record), _KINDS[record]
        kind = self._server.registry.get(resource)
        assert kind is not None
        there = [each.decode() for each in self._server.storage.table(kind).scan(f"{NAMESPACE}/")]
        there = [each for each in there if (each["metadata"].get("labels") or {}).get(KIND_LABEL) == wanted]
        return sorted(there, key=_name)[index % len(there)] if there else None

    async def delete(self, record: Record, found: Object) -> None:
        await self._ask(self._client.delete(resource_of(record), NAMESPACE, _name(found)))

    async def steal(self, found: Object, holder: str) -> None:
        await self._patch("member", found, {"spec": {"holderIdentity": holder or None}})

    async def edit(self, record: Record, found: Object, how: EditHow) -> bool:
        """Whether it means something for that record."""
        patch = self._edited(record, found, how)
        if patch is None:
            return False
        await self._patch(record, found, patch)
        return True

    def _edited(self, record: Record, found: Object, how: EditHow) -> Object | None:
        if how == "touch":
            return {"metadata": {"annotations": {"example.com/touched": found["metadata"]["resourceVersion"]}}}
        if record == "map":
            return self._edited_map(how)
        if how == "lower-epoch":
            epoch = max(0, int(found["spec"].get("leaseTransitions") or 0) - 1)
            copy = {"metadata": {"annotations": {f"{DOMAIN}/epoch": str(epoch)}}}
            return {"spec": {"leaseTransitions": epoch}, **copy}
        if record == "shard" and how in ("retire", "activate"):
            status = "retired" if how == "retire" else "active"
            return {"metadata": {"annotations": {f"{DOMAIN}/status": status}}}
        if how == "mangle":
            note = "status" if record == "shard" else "lease-seconds"
            return {"metadata": {"annotations": {f"{DOMAIN}/{note}": "?"}}}
        return None

    def _edited_map(self, how: EditHow) -> Object | None:
        if how == "rollback" and len(self._maps) > 1:
            return {"data": self._maps[-2]}
        if how == "mangle" and self._maps:
            return {"data": dict.fromkeys(self._maps[-1], "{")}
        return None

    async def _patch(self, record: Record, found: Object, patch: Object) -> None:
        await self._ask(self._client.merge_patch(resource_of(record), NAMESPACE, _name(found), patch))

    async def reshard(self, text: str) -> None:
        """Writes the fleet's config."""
        names = Names(FLEET, NAMESPACE)
        name = f"{FLEET}-config"
        data = {"fleet.yaml": text}
        if not await self._ask(self._client.merge_patch(CONFIG_MAPS, NAMESPACE, name, {"data": data})):
            metadata = {"name": name, "labels": names.labels(Kind.DOCUMENT)}
            body = {"kind": "ConfigMap", "metadata": metadata, "data": data}
            await self._ask(self._client.create(CONFIG_MAPS, NAMESPACE, body))

    @staticmethod
    async def _ask(request: Any) -> bool:
        """Whether it was carried out: others may have been quicker."""
        try:
            await request
        except (ApiError, Unreachable):
            return False
        return True


def resource_of(record: Record) -> Resource:
    return CONFIG_MAPS if record == "map" else LEASES


def _name(found: Object) -> str:
    return str(found["metadata"]["name"])
