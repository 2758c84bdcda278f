"""The end of a namespace: what kube-controller-manager's namespace controller does with its content and its status.

From kubernetes pkg/controller/namespace/deletion: namespaced_resources_deleter.go and status_condition_utils.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from fleet.devcluster.changes.deleteoptions import DeleteOptions
from fleet.devcluster.changes.writes import Writer
from fleet.devcluster.fields.manager import Manager
from fleet.devcluster.kinds.resources import NAMESPACES
from fleet.devcluster.recording.requestlog import RequestLog
from fleet.devcluster.storage.storage import Storage, Stored, Table
from shards.objects import Object

USER_AGENT = "kube-controller-manager/embedded namespace-controller"

_MANAGER = Manager("kube-controller-manager")
_STATUS_MANAGER = Manager("kube-controller-manager", subresource="status")
_FINALIZER = "kubernetes"
_WELL = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""Reason and message of every condition that does not hold."""


@dataclass(slots=True)
class NamespaceEnd:
    """Brings namespaces that are being deleted to their end."""

    storage: Storage
    writer: Writer
    log: RequestLog

    def advance(self, namespace: Stored) -> int:
        """Deletes what can be deleted, says in the status what is left, and lets the namespace go when nothing is.

        Answers how many objects were deleted.
        """
        name = namespace.meta.name
        tables = sorted((each for each in self.storage.tables() if each.kind.namespaced), key=_pods_first)
        deleted, remaining = 0, Counter[str]()
        finalizers = Counter[str]()
        for table in tables:
            deleted += self._empty(table, name)
            for stored in table.scan(f"{name}/"):
                remaining[f"{table.kind.resource.plural}.{table.kind.resource.group}"] += 1
                finalizers.update(stored.decode()["metadata"].get("finalizers") or ())
            if remaining and table.kind.resource.plural == "pods":
                break
        self._tell(name, remaining, finalizers)
        held = (namespace.decode().get("spec") or {}).get("finalizers") or ()
        return deleted if remaining or _FINALIZER not in held else deleted + self._finish(name)

    def _empty(self, table: Table, namespace: str) -> int:
        deleted = 0
        for stored in tuple(table.scan(f"{namespace}/")):
            if not stored.meta.deletion_timestamp:
                options = DeleteOptions(propagation_policy="Background")
                outcome = self.writer.delete(table, namespace, stored.meta.name, options)
                self.log.own_write("delete", table.kind, outcome, USER_AGENT)
                deleted += outcome.removed
        return deleted

    def _tell(self, name: str, remaining: Counter[str], finalizers: Counter[str]) -> None:
        """Sets the five conditions of the status."""
        holding = dict(_holding(remaining, finalizers))
        now = datetime.fromtimestamp(self.writer.wall_seconds(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

        def change(body: Object) -> Object:
            status = body.get("status") or {}
            old = {each["type"]: each for each in status.get("conditions") or []}
            conditions = [_condition(kind, holding.get(kind), old.get(kind), now) for kind in _WELL]
            kept = [each for each in old.values() if each["type"] not in _WELL]
            return {**body, "status": {**status, "conditions": [*kept, *conditions]}}

        table = self.storage.table(NAMESPACES)
        before = self.storage.version
        outcome = self.writer.patch(table, "", name, change, "status", manager=_STATUS_MANAGER)
        if self.storage.version != before:
            self.log.own_write("update", NAMESPACES, outcome, USER_AGENT)

    def _finish(self, name: str) -> int:
        """Takes the finalizer of this controller away; others may hold the namespace still."""

        def change(body: Object) -> Object:
            spec = dict(body.get("spec") or {})
            kept = [each for each in spec.pop("finalizers", None) or () if each != _FINALIZER]
            return {**body, "spec": {**spec, "finalizers": kept} if kept else spec}

        outcome = self.writer.patch(self.storage.table(NAMESPACES), "", name, change, "finalize", manager=_MANAGER)
        self.log.own_write("update", NAMESPACES, outcome, USER_AGENT)
        return int(outcome.removed)


def _pods_first(table: Table) -> tuple[bool, str, str]:
    resource = table.kind.resource
    return (resource.plural != "pods" or bool(resource.group), resource.group, resource.plural)


def _holding(remaining: Counter[str], finalizers: Counter[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Reason and message of the conditions that hold."""
    if remaining:
        shown = ", ".join(sorted(f"{each} has {count} resource instances" for each, count in remaining.items()))
        yield "NamespaceContentRemaining", ("SomeResourcesRemain", f"Some resources are remaining: {shown}")
    if finalizers:
        shown = ", ".join(sorted(f"{each} in {count} resource instances" for each, count in finalizers.items()))
        why = f"Some content in the namespace has finalizers remaining: {shown}"
        yield "NamespaceFinalizersRemaining", ("SomeFinalizersRemain", why)


def _condition(kind: str, holds: tuple[str, str] | None, old: Object | None, now: str) -> Object:
    reason, message = holds or _WELL[kind]
    status = "True" if holds else "False"
    since = old["lastTransitionTime"] if old and old["status"] == status else now
    return {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}
