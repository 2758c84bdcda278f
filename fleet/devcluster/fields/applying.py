"""Server-side apply: the live object and its owners after somebody states what it wants.

Semantics: merge/update.go of structured-merge-diff and managedfields/internal of apimachinery (KEP-555). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from fleet.devcluster.fields.comparison import Comparison, compare
from fleet.devcluster.fields.elements import show
from fleet.devcluster.fields.extents import fields_of, with_named_fields
from fleet.devcluster.fields.ledger import Holder, Holding, Ledger, has_member, stripped
from fleet.devcluster.fields.manager import UPDATE, Manager
from fleet.devcluster.fields.merging import merged
from fleet.devcluster.fields.removing import removed
from fleet.devcluster.fields.sets import FieldSet, difference, intersection, ordered, paths_of, union
from fleet.devcluster.fields.updating import Versions, disowned, owners_after
from fleet.devcluster.kinds.structure import Structure

BEFORE_FIRST_APPLY: Final = "before-first-apply"
KUBECTL: Final = "kubectl"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


class Conflicts(Exception):
    """Others own fields that an apply wants to change. fields: by holder."""

    def __init__(self, fields: dict[Holder, Holding]) -> None:
        super().__init__(f"{len(fields)} conflicting managers")
        self.fields = fields

    def each(self) -> list[tuple[str, str]]:
        """Holder and path, as shown."""
        return [
            (holder.shown(held), show(path))
            for holder, held in sorted(self.fields.items(), key=lambda item: item[0])
            for path in paths_of(held.fields)
        ]


@dataclass(frozen=True, slots=True)
class Application:
    """One apply. live and wanted are without managedFields; live None: the object does not exist.

    ignored: fields that this kind of request cannot change.
    """

    live: Mapping[str, Any] | None
    wanted: Mapping[str, Any]
    manager: Manager
    versions: Versions
    ignored: FieldSet
    structure: Structure

    def result(self, ledger: Ledger, *, force: bool) -> tuple[dict[str, Any], Ledger]:
        """The object and its ledger. Raises Conflicts."""
        if not ledger and self.live is not None:
            ledger = self._first()
        try:
            found, after = self._applied(ledger, force=force)
        except Conflicts as conflicts:
            if self.manager.name != KUBECTL:
                raise
            rest = self._beyond_last_applied(conflicts)
            if rest is None or rest.fields:
                raise rest or conflicts from None
            found, after = self._applied(ledger, force=True)
        if self.manager.name == KUBECTL:
            found = self._with_last_applied(found)
        return found, after

    def _first(self) -> Ledger:
        """Whatever exists belonged to somebody before the first apply."""
        before = Manager(
            BEFORE_FIRST_APPLY, UPDATE, self.manager.subresource, self.manager.api_version, self.manager.timestamp
        )
        return owners_after({}, None, self.live or {}, before, self.versions, self.ignored)

    def _applied(self, ledger: Ledger, *, force: bool) -> tuple[dict[str, Any], Ledger]:
        live, me = self.live or {}, Holder.of(self.manager)
        found = merged(live, self.wanted, self.structure)
        last = ledger.get(me)
        claim = difference(fields_of(self.wanted, self.structure), self.ignored, recursive=True)
        time = last.time if last is not None else ""
        ledger = {**ledger, me: Holding(claim, self.manager.api_version, time)}
        if last is not None and last.fields:
            found = self._pruned(found, ledger, last)
        changes = compare(live, found, self.structure).without(self.ignored)
        if not force:
            self._refuse_conflicts(ledger, changes, found, me)
        after = disowned(ledger, {self.manager.api_version: changes}, live, found, self.versions, but=me)
        claim = stripped(claim)
        if not has_member(claim):
            after.pop(me, None)
        else:
            moved = self.live is None or found != live
            after[me] = Holding(ordered(claim), self.manager.api_version, self.manager.timestamp if moved else time)
        return found, after

    def _refuse_conflicts(self, ledger: Ledger, changes: Comparison, found: Mapping[str, Any], me: Holder) -> None:
        """Raises Conflicts."""
        known = {self.manager.api_version: changes}
        conflicts: dict[Holder, Holding] = {}
        for holder, held in ledger.items():
            if holder == me:
                continue
            theirs = known.get(held.api_version)
            if theirs is None:
                structure = self.versions(held.api_version)
                if structure is None:
                    continue
                theirs = known[held.api_version] = compare(self.live or {}, found, structure)
            common = intersection(held.fields, theirs.changed)
            if common:
                conflicts[holder] = held.of(common)
        if conflicts:
            raise Conflicts(conflicts)

    def _pruned(self, found: dict[str, Any], ledger: Ledger, last: Holding) -> dict[str, Any]:
        """Without what this manager applied last time, does not apply now, and nobody else owns."""
        structure = self.versions(last.api_version)
        if structure is None:
            return found
        mine = with_named_fields(last.fields, structure)
        rest = removed(found, mine, structure) or {}
        owned: dict[str, FieldSet] = {last.api_version: {}}
        for held in ledger.values():
            owned[held.api_version] = union(owned.get(held.api_version, {}), held.fields)
        for version, fields in owned.items():
            each = self.versions(version)
            if each is None:
                continue
            whole = with_named_fields(fields_of(found, each), each)
            kept = union(with_named_fields(fields_of(rest, each), each), with_named_fields(fields, each))
            rest = removed(found, difference(whole, kept), each) or {}
        whole = with_named_fields(fields_of(found, structure), structure)
        kept = with_named_fields(fields_of(rest, structure), structure)
        return removed(found, intersection(difference(whole, kept), mine), structure) or {}

    # ------------------------------------------------------------------ kubectl's move from client-side apply

    def _beyond_last_applied(self, conflicts: Conflicts) -> Conflicts | None:
        """The conflicts about fields that kubectl did not apply itself, client-side. None: it never did."""
        live = self.live or {}
        text = _annotations(live).get(LAST_APPLIED)
        try:
            applied = msgspec.json.decode(text or "")
        except msgspec.DecodeError:
            return None
        if not isinstance(applied, dict) or applied.get("apiVersion") != self.manager.api_version:
            return None
        changes = compare(applied, live, self.structure)
        allowed = fields_of(applied, self.structure)
        for lost in (changes.modified, changes.added, changes.removed):
            allowed = difference(allowed, lost)
        rest = {holder: held.of(difference(held.fields, allowed)) for holder, held in conflicts.fields.items()}
        return Conflicts({holder: held for holder, held in rest.items() if has_member(held.fields)})

    def _with_last_applied(self, found: dict[str, Any]) -> dict[str, Any]:
        """The annotation of a client-side apply, where there is one, says what was applied now."""
        if not _annotations(found).get(LAST_APPLIED):
            return found
        wanted = {**self.wanted, "metadata": dict(self.wanted.get("metadata") or {})}
        annotations = {name: value for name, value in _annotations(self.wanted).items() if name != LAST_APPLIED}
        wanted["metadata"].pop("annotations", None)
        if annotations:
            wanted["metadata"]["annotations"] = annotations
        text = msgspec.json.encode(wanted, order="sorted").decode() + "\n"
        metadata = {**found["metadata"], "annotations": {**found["metadata"]["annotations"], LAST_APPLIED: text}}
        return {**found, "metadata": metadata}


def _annotations(body: Mapping[str, Any]) -> Mapping[str, str]:
    return (body.get("metadata") or {}).get("annotations") or {}
