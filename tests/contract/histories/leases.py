"""Leases, as coordination uses them."""

from __future__ import annotations

from typing import Any

from tests.contract.histories.objects import LEASES, preconditions
from tests.contract.transcripts import MERGE, Document, Stage


async def leases(stage: Stage) -> None:
    collection, one = stage.path(LEASES), stage.path(LEASES, "one")
    head: Document = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1"}

    def lease(spec: Document, **metadata: Any) -> Document:
        return {**head, "metadata": {"name": "one", **metadata}, "spec": spec}

    spec: Document = {"holderIdentity": "a", "leaseDurationSeconds": 8, "leaseTransitions": 1}
    await stage.ask("PUT", one, lease(spec))
    await stage.ask("DELETE", one)
    await stage.ask("POST", collection, lease(spec | {"acquireTime": "2026-01-02T03:04:05Z"}))
    times = {"acquireTime": "2026-01-02T03:04:05.000000Z", "renewTime": "2026-01-02T03:04:05.678901Z"}
    made = await stage.ask("POST", collection, lease(spec | times))
    version = made["metadata"]["resourceVersion"]
    await stage.ask("PUT", one, lease(spec | {"holderIdentity": "b"}))
    moved = await stage.ask("PUT", one, lease(spec | {"holderIdentity": "b"}, resourceVersion=version))
    await stage.ask("PUT", one, lease(spec | {"holderIdentity": "c"}, resourceVersion=version))
    version = moved["metadata"]["resourceVersion"]
    await stage.ask("PUT", one, lease({"holderIdentity": "", "leaseTransitions": 2}, resourceVersion=version))
    await stage.ask("PATCH", one, {"spec": {"leaseDurationSeconds": 0}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"leaseTransitions": -1}}, content_type=MERGE)
    bad = await stage.ask("PATCH", one, {"spec": {"renewTime": "yesterday"}}, content_type=MERGE, quiet=True)
    # The message quotes the whole object as Go encodes it.
    stage.note("bad time", (bad["code"], bad["reason"], bad["details"]["causes"][0]["field"]))
    fields = {"preferredHolder": "x", "strategy": "OldestEmulationVersion"}
    changed = {"spec": {**fields, "leaseTransitions": 3}, "status": {"a": 1}}
    await stage.ask("PATCH", one, changed, content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"annotations": {"a": "b"}}, "spec": None}, content_type=MERGE)
    await stage.ask("DELETE", one, preconditions(resourceVersion=version))
    await stage.ask("DELETE", one)


HISTORIES = (leases,)
