"""The entries of managedFields after a request, for objects as the server handles them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from fleet.devcluster.fields.applying import Application
from fleet.devcluster.fields.checking import misfits, together
from fleet.devcluster.fields.elements import ElementError
from fleet.devcluster.fields.ledger import Entries, Ledger, entries_of, read
from fleet.devcluster.fields.manager import Manager
from fleet.devcluster.fields.resetfields import reset_fields
from fleet.devcluster.fields.sets import FieldSet
from fleet.devcluster.fields.updating import claimed, owners_after
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.kinds.structure import Structure
from fleet.devcluster.schemas.values import same
from fleet.devcluster.wire.statuses import StatusError
from shards.objects import Object, Resource

Types = Callable[[Resource], ResourceType | None]


@lru_cache(maxsize=1024)
def _ignored(kind: str, group: str, subresource: str, status: bool, custom: bool) -> FieldSet:
    return reset_fields(kind, group, subresource, status=status, custom=custom)


class Tracking(msgspec.Struct, frozen=True):
    """Of one request. kind: of the request's version. types: the resources of other versions."""

    kind: ResourceType
    manager: Manager
    types: Types

    def structure(self, api_version: str) -> Structure | None:
        """Of the object in a version; None where the version is not served."""
        kind = self.kind
        if api_version == kind.api_version:
            return kind.structure
        group, _, version = api_version.rpartition("/")
        if group != kind.resource.group:
            # The real server keeps no types of other groups here: what was owned through them is forgotten.
            return None
        found = self.types(Resource(group, version, kind.resource.plural))
        if found is None or (found.reshaping is None and kind.reshaping is None):
            return None if found is None else found.structure
        return found.structure.reading(lambda body: _as_version(body, kind, found))

    @property
    def ignored(self) -> FieldSet:
        kind = self.kind
        return _ignored(kind.kind, kind.resource.group, self.manager.subresource, kind.status, kind.custom)

    def entries(self, old: Object | None, new: Object) -> Entries | None:
        """After a create (old None) or an update to `new`, which is complete. None: nobody is tracked.

        Takes managedFields out of `new`.
        """
        given = new["metadata"].pop("managedFields", None)
        if old is None:
            ledger = claimed(given, None, ignore_given=bool(self.manager.subresource))
            return self._written(owners_after(ledger, None, new, self.manager, self.structure, self.ignored))
        metadata = old["metadata"]
        kept: Entries | None = metadata.pop("managedFields", None)
        try:
            ledger = claimed(given, kept, ignore_given=bool(self.manager.subresource))
            return self._written(owners_after(ledger, old, new, self.manager, self.structure, self.ignored))
        finally:
            if kept is not None:
                metadata["managedFields"] = kept

    def apply(self, old: Object | None, wanted: Object, *, force: bool) -> tuple[Object, Entries | None]:
        """The object of an apply, without managedFields, and its entries.

        Raises Conflicts, LedgerError, StatusError.
        """
        live, ledger = None, Ledger()
        if old is not None:
            live = {**old, "metadata": dict(old["metadata"])}
            ledger = read(live["metadata"].pop("managedFields", None))
        application = Application(live, wanted, self.manager, self.structure, self.ignored, self.kind.structure)
        try:
            found, after = application.result(ledger, force=force)
        except ElementError as error:
            raise self._unreadable(live or wanted, error) from None
        return found, self._written(after)

    def _unreadable(self, live: Object, error: ElementError) -> StatusError:
        """500 of an object that breaks the rules of its own lists, which only an apply finds out."""
        metadata, resource = live["metadata"], self.kind.resource
        what = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {resource.group}/{resource.version}"
        known = {name: value for name, value in live.items() if name in self.kind.structure.properties}
        found = list(misfits(known, self.kind.structure)) or [str(error)]
        return StatusError(
            500,
            "",
            f"failed to create manager for existing fields: failed to convert new object ({what}, "
            f"Kind={self.kind.kind}) to smd typed: {together(found)}",
        )

    @staticmethod
    def _written(ledger: Ledger) -> Entries | None:
        return entries_of(ledger) if ledger else None


def _as_version(body: Mapping[str, Any], kind: ResourceType, other: ResourceType) -> Mapping[str, Any]:
    """An object of one version in another one, by way of the stored version."""
    stored = body if kind.reshaping is None else kind.reshaping.store(body)
    return stored if other.reshaping is None else other.reshaping.show(stored)


def set_entries(metadata: Object, entries: Entries | None) -> None:
    """In place."""
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)


def unchanged(old: Object, new: Object) -> bool:
    """Whether a write would change nothing but times of entries: such a write is none."""
    entries, kept = new["metadata"].get("managedFields"), old["metadata"].get("managedFields")
    if entries is kept or entries == kept:
        return same(new, old)
    alike = same({**new, "metadata": {**new["metadata"], "managedFields": kept}}, old)
    return alike and _equal_but_times(entries, kept)


def _equal_but_times(left: Entries | None, right: Entries | None) -> bool:
    if left is None or right is None or len(left) != len(right):
        return False
    return all({**one, "time": ""} == {**other, "time": ""} for one, other in zip(left, right, strict=True))
