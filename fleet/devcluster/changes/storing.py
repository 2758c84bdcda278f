"""The last step of every write: a complete body becomes a new version of its object, or nothing at all.

Synchronous: one commit at most.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fleet.devcluster.changes.deletion import may_vanish
from fleet.devcluster.changes.preconditions import check_version
from fleet.devcluster.changes.remarks import warnings_of
from fleet.devcluster.changes.stamps import Stamps
from fleet.devcluster.changes.strategy import prepare_create, prepare_update
from fleet.devcluster.fields.ledger import Entries
from fleet.devcluster.fields.tracking import set_entries, unchanged
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.storage.outcome import Outcome
from fleet.devcluster.storage.storage import Storage, Stored, Table, encode, object_key
from fleet.devcluster.wire import statuses
from shards.objects import Object


@dataclass(slots=True)
class Storing:
    """Bodies here are complete: see `strategy.complete_body`.

    kind: of the request's version. entries: who owns what. dry_run: nothing is committed. blanks: of an apply whose
    metadata has fields that say nothing.
    """

    storage: Storage
    stamps: Stamps
    blanks: set[str] = field(default_factory=set)
    """UIDs of objects that were stored with such metadata: the real server's next write differs from what is stored,
    whatever it changes."""

    def insert(
        self,
        kind: ResourceType,
        table: Table,
        body: Object,
        entries: Entries | None,
        *,
        dry_run: bool,
        blanks: bool = False,
    ) -> Outcome:
        """A new object. Raises StatusError."""
        metadata = body["metadata"]
        if metadata.get("generateName") and not metadata.get("name"):
            metadata["name"] = self.stamps.name(metadata["generateName"])
        if metadata.pop("resourceVersion", ""):
            raise statuses.StatusError(500, "", "resourceVersion should not be set on objects to be created")
        asked = kind
        reshaping = kind.reshaping
        if reshaping is not None:
            kind, body = table.kind, reshaping.store(body)
            metadata = body["metadata"]
        prepare_create(kind, body, uid=self.stamps.uid(), timestamp=self.stamps.time(), asked=asked)
        name = metadata["name"]
        there = table.objects.get(object_key(metadata.get("namespace", ""), name))
        if there is not None:
            refusal = statuses.already_exists(asked, name, dying=bool(there.meta.deletion_timestamp))
            refusal.warnings = tuple(warnings_of(kind, body, None))  # the object was valid, and remarked on
            raise refusal
        if entries:
            metadata["managedFields"] = entries
        if blanks and not dry_run:
            self.blanks.add(metadata["uid"])
        return Outcome(self.put(table, body, dry_run=dry_run), created=True)

    def replace(
        self,
        kind: ResourceType,
        table: Table,
        stored: Stored,
        old: Object,
        body: Object,
        entries: Entries | None,
        subresource: str,
        *,
        dry_run: bool,
        blanks: bool = False,
    ) -> Outcome:
        """A new version of what is stored. old: that, decoded. Raises StatusError."""
        check_version(kind, stored, body["metadata"].get("resourceVersion", ""))
        asked = kind
        reshaping = kind.reshaping
        if reshaping is not None:
            body, old, kind = reshaping.store(body), stored.decode(), table.kind
        new = prepare_update(kind, body, old, subresource, asked=asked)
        metadata = new["metadata"]
        metadata["resourceVersion"] = str(stored.version)
        new["kind"], new["apiVersion"] = kind.kind, kind.api_version
        set_entries(metadata, entries)
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers") and may_vanish(kind, new, old):
            last = encode(kind, new, stored.version)
            if not dry_run:
                self.storage.delete(table, stored.key)
            return Outcome(last, removed=not dry_run, replaced=stored)
        uid = stored.meta.uid
        if unchanged(old, new) and not blanks and uid not in self.blanks:
            return Outcome(stored, replaced=stored)
        if not dry_run:
            (self.blanks.add if blanks else self.blanks.discard)(uid)
        return Outcome(self.put(table, new, dry_run=dry_run), replaced=stored)

    def put(self, table: Table, body: Object, *, dry_run: bool) -> Stored:
        """The next version. dry_run: as it would be."""
        if table.kind.schema is not None and body.get("apiVersion") != table.kind.api_version:
            table.kind.schema.complete(body)
        if dry_run:
            version = int(body["metadata"].get("resourceVersion") or 0)
            return encode(table.kind, body, version)
        stored = self.storage.put(table, body).new
        if stored is None:
            raise AssertionError("a put stores an object")
        return stored
