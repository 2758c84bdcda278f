"""managedFields of what is posted and answered without being stored: the real server fills them in all the same."""

from __future__ import annotations

from functools import cache
from typing import Any

from fleet.devcluster.fields.ledger import entries_of
from fleet.devcluster.fields.manager import UPDATE, Manager
from fleet.devcluster.fields.updating import owners_after
from fleet.devcluster.kinds.catalogue import schema_name, schemas
from fleet.devcluster.kinds.structure import ANYTHING, Structure
from fleet.devcluster.wire.requests import Request
from shards.objects import Object


def owned(request: Request, kind: str, group: str, spec: Object, timestamp: str, subresource: str = "") -> Object:
    """{"managedFields": [...]}, or {} where the request set nothing. timestamp: RFC 3339. The group's version is v1."""
    version = f"{group}/v1"
    manager = Manager(request.field_manager, UPDATE, subresource, version, timestamp)
    body: dict[str, Any] = {"kind": kind, "apiVersion": version, "metadata": {}}
    if spec:
        body["spec"] = spec
    entries = entries_of(owners_after({}, None, body, manager, lambda _: _structure(group, kind), {}))
    for entry in entries:
        # An empty TokenRequest has a null here already, so that nobody adds the field as such.
        entry["fieldsV1"].get("f:spec", {}).get("f:boundObjectRef", {}).pop(".", None)
    return {"managedFields": entries} if entries else {}


@cache
def _structure(group: str, kind: str) -> Structure:
    name = schema_name(group, "v1", kind)
    return Structure(schemas()[name], schemas()) if name else ANYTHING
