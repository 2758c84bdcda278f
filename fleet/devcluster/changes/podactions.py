"""Binding and eviction: the two subresources of pods that one posts to. Source: pkg/registry/core/pod/storage.

An eviction is a delete: PodDisruptionBudgets are not looked at, as nothing here keeps their counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from fleet.devcluster.changes.writes import Writer
from fleet.devcluster.changes.writing import Writing
from fleet.devcluster.storage.storage import Table, object_key
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import Request, Target
from fleet.devcluster.wire.statuses import StatusError, bad_request, not_found
from shards.objects import Object

_SUCCESS = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}'


@dataclass(slots=True)
class PodActions:
    """wall_seconds: since 1970."""

    _writer: Writer
    _writing: Writing
    _wall_seconds: Callable[[], float]

    def bind(self, request: Request, target: Target, table: Table, body: Object) -> Answer:
        """Assigns a pod to a node. Raises StatusError 400, 404, 409, 500."""
        _check_name(body, target, "Binding")
        wanted = body.get("target") or {}
        _check_target(wanted)
        stored = table.objects.get(object_key(target.namespace, target.name))
        if stored is None:
            raise not_found(table.kind, target.name)
        assigned = (stored.decode().get("spec") or {}).get("nodeName")
        if assigned:
            why = f'pod {target.name} is already assigned to node "{assigned}"'
            message = f'Operation cannot be fulfilled on pods/binding "{target.name}": {why}'
            raise StatusError(409, "Conflict", message, details={"name": target.name, "kind": "pods/binding"})
        now = datetime.fromtimestamp(self._wall_seconds(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        change = {"spec": {"nodeName": wanted["name"]}, "status": {"conditions": _scheduled(stored.decode(), now)}}
        for part, subresource in (("spec", "binding"), ("status", "status")):
            patched = msgspec.json.encode({part: change[part]})
            headers = {**request.headers, "content-type": "application/merge-patch+json"}
            step = Request("PATCH", request.path, request.query, patched, headers, request.user)
            where = Target(target.resource, target.namespace, target.name, subresource)
            self._writing.patch(step, where, table)
        return Answer(201, _SUCCESS)

    def evict(self, request: Request, target: Target, table: Table, body: Object) -> Answer:
        """Deletes a pod with the given options. Raises StatusError 400, 404, 409."""
        _check_name(body, target, "Eviction")
        options = dict(body.get("deleteOptions") or {})
        if request.dry_run:
            # A delete with a body does not look at its query.
            options["dryRun"] = ["All"]
        encoded = msgspec.json.encode({"kind": "DeleteOptions", "apiVersion": "v1", **options})
        headers = {**request.headers, "content-type": "application/json"}
        step = Request("DELETE", request.path, request.query, encoded, headers, request.user)
        self._writing.delete(step, Target(target.resource, target.namespace, target.name), table)
        return Answer(201, _SUCCESS)


def _check_name(body: Object, target: Target, kind: str) -> None:
    if (body.get("metadata") or {}).get("name", "") != target.name:
        raise bad_request(f"name in URL does not match name in {kind} object")


def _check_target(wanted: Object) -> None:
    if wanted.get("kind") not in (None, "", "Node"):
        supported = 'supported values: "Node", "<empty>"'
        raise StatusError(500, "", f'target.kind: Unsupported value: "{wanted["kind"]}": {supported}')
    if not wanted.get("name"):
        raise StatusError(500, "", "target.name: Required value")


def _scheduled(pod: Object, now: str) -> list[dict[str, Any]]:
    """The pod's conditions with PodScheduled true."""
    kept = [each for each in (pod.get("status") or {}).get("conditions") or [] if each.get("type") != "PodScheduled"]
    return [*kept, {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}]
