"""The number of replicas, through the scale subresource: upwards any other write, downwards an act like a deletion.

A Scale carries UID and version of its object, so that the gate counts its answer for that object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shards.errors import ConfigError, NotFound
from shards.objects import Object, ObjectName, Resource
from shards.ownership.acts import Acts, Basis
from shards.ownership.fenced_requests import FencedRequests
from shards.ownership.overlay import Snapshot

MOST_REPLICAS = 2**31 - 1

_AT_SPEC_REPLICAS = frozenset(
    {("apps", "deployments"), ("apps", "replicasets"), ("apps", "statefulsets"), ("", "replicationcontrollers")}
)
"""Where a view tells how many replicas are wanted. Of others only the server knows which field that is."""


class Scaling:
    """Changes numbers of replicas for one reconcile."""

    __slots__ = ("_acts", "_requests")

    def __init__(self, requests: FencedRequests, acts: Acts) -> None:
        self._requests = requests
        self._acts = acts

    async def scale(self, basis: Basis, replicas: int, reads: Sequence[Basis]) -> None:
        """See `FencedClient.scale`."""
        given: Any = replicas
        if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= MOST_REPLICAS:
            raise ValueError(f"replicas is a whole number from 0 to {MOST_REPLICAS}, not {replicas!r}")
        basis, current = await self._current(basis)
        if current == replicas:
            return
        assert basis.snapshot is not None, "what was not read before is read live first"
        if replicas > current:
            await self._write(basis, replicas, basis.snapshot)
            return
        await self._acts.carry_out("scale", (basis, *reads), self._down(basis, replicas, reads))

    async def _down(self, basis: Basis, replicas: int, reads: Sequence[Basis]) -> str:
        self._acts.begin()
        await self._acts.confirm(reads, "scale")
        found = await self._acts.look(basis, "scale")
        if found is None:
            raise _missing(basis)
        self._acts.check_controller(basis.resource, basis.name, found)
        self._acts.compare(basis, found)
        self._acts.admit()
        await self._write(basis, replicas, Snapshot.of(found))
        return "ok"

    async def _current(self, basis: Basis) -> tuple[Basis, int]:
        """How many replicas are wanted now, and what that was read from. Which way it goes decides only how strict the
        write is; that nothing else is written over is for its preconditions."""
        view = self._requests.view
        resource, name = basis.resource, basis.name
        body = view.peek(resource, name) if view.holds(resource) else None
        if basis.snapshot is None:
            body = await self._requests.read(resource, name, "scale")
            if body is None:
                raise _missing(basis)
            basis = basis._replace(snapshot=Snapshot.of(body))
        if body is not None and (resource.group, resource.plural) in _AT_SPEC_REPLICAS:
            spec = body.get("spec") or {}
            if "replicas" in spec:  # a view may be trimmed, or of metadata only
                return basis, int(spec["replicas"])
        return basis, await self._asked(resource, name)

    async def _asked(self, resource: Resource, name: ObjectName) -> int:
        """From the Scale itself."""
        fence, view = self._requests.fence, self._requests.view
        found = await fence.read_live(view, resource, name, "scale", subresource="scale")
        if found is not None:
            spec: dict[str, Any] = found.get("spec") or {}
            return int(spec.get("replicas") or 0)
        if await self._requests.read(resource, name, "scale") is None:
            raise _missing(Basis(resource, name, None))
        raise ConfigError(str(resource), "its objects have no scale subresource; patch the field that says how many")

    async def _write(self, basis: Basis, replicas: int, snapshot: Snapshot) -> Object:
        metadata = {"uid": snapshot.uid, "resourceVersion": snapshot.resource_version}
        body = {"metadata": metadata, "spec": {"replicas": replicas}}
        write = self._requests.write
        return await write(
            "scale", basis.resource, basis.name, body, method="PATCH", snapshot=snapshot, subresource="scale"
        )


def _missing(basis: Basis) -> NotFound:
    return NotFound(404, "NotFound", f"{basis.resource} {basis.name} does not exist")
