"""The entries of `metadata.managedFields`: reading, checking, ordering, writing. Pure.

Semantics: managedfields/internal/managedfields.go of apimachinery.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from fleet.devcluster.fields.elements import ElementError, check_element
from fleet.devcluster.fields.manager import APPLY, UPDATE, Manager
from fleet.devcluster.fields.sets import MEMBER, SELF, FieldSet, children_of, difference, is_member, ordered, union

UPDATE_MANAGERS_LIMIT: Final = 10
"""Entries of operation Update that one object keeps; older ones are merged into one."""
ANCIENT: Final = "ancient-changes"
_FIELDS_TYPE: Final = "FieldsV1"


class Holder(msgspec.Struct, frozen=True, order=True):
    """Who holds fields. api_version: "" for appliers, who are the same whatever version they use."""

    name: str
    operation: str
    api_version: str
    subresource: str

    @classmethod
    def of(cls, manager: Manager) -> Holder:
        version = "" if manager.operation == APPLY else manager.api_version
        return cls(manager.name or "unknown", manager.operation, version, manager.subresource)

    def shown(self, holding: Holding) -> str:
        """In a conflict's message."""
        text = f'"{self.name}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return text if self.operation == APPLY else f"{text} using {holding.api_version}"


class Holding(msgspec.Struct, frozen=True):
    """What a holder holds, in terms of which version, since when ("" unknown)."""

    fields: FieldSet
    api_version: str
    time: str

    def of(self, fields: FieldSet) -> Holding:
        """The same with other fields."""
        return Holding(fields, self.api_version, self.time)


Ledger = dict[Holder, Holding]

Entries = list[dict[str, Any]]
"""`metadata.managedFields` as in JSON."""


class LedgerError(ValueError):
    """Entries that are no ledger."""


def read(entries: Iterable[Mapping[str, Any]] | None) -> Ledger:
    """Of `metadata.managedFields`. Raises LedgerError."""
    found: Ledger = {}
    for index, entry in enumerate(entries or ()):
        operation, version = entry.get("operation", ""), entry.get("apiVersion", "")
        if operation not in (APPLY, UPDATE):
            raise LedgerError("operation must be `Apply` or `Update`")
        if not version:
            raise LedgerError("apiVersion must not be empty")
        kind = entry.get("fieldsType", "")
        if kind != _FIELDS_TYPE:
            raise LedgerError(
                f'invalid fieldsType "{kind}" in managed fields entry {index}'
                if kind
                else f"missing fieldsType in managed fields entry {index}"
            )
        holder = Holder(
            entry.get("manager", ""), operation, "" if operation == APPLY else version, entry.get("subresource", "")
        )
        found[holder] = Holding(entry.get("fieldsV1") or {}, version, entry.get("time") or "")
    return found


def readable(entries: Iterable[Mapping[str, Any]] | None) -> Ledger:
    """Of a request: with fields that were checked. Raises LedgerError."""
    return {holder: each.of(_checked(each.fields)) for holder, each in read(entries).items()}


def _checked(fields: Any) -> FieldSet:
    if not isinstance(fields, dict):
        raise LedgerError("error decoding set")
    result: FieldSet = {}
    for element, node in fields.items():
        if element == SELF:
            result[SELF] = MEMBER
            continue
        try:
            known = check_element(element)
        except ElementError as error:
            raise LedgerError(f"error decoding set: {error}") from None
        if known:
            result[element] = _checked(node)
    return result


def entries_of(ledger: Ledger) -> Entries:
    """`metadata.managedFields` in its order: appliers first, then by time and name."""
    rows = ledger.items() if len(ledger) == 1 else sorted(ledger.items(), key=_place)
    return [_entry(holder, held) for holder, held in rows]


def _place(row: tuple[Holder, Holding]) -> tuple[str, ...]:
    holder, held = row
    return holder.operation, held.time, holder.name, held.api_version, holder.subresource


def _entry(holder: Holder, held: Holding) -> dict[str, Any]:
    entry: dict[str, Any] = {"manager": holder.name} if holder.name else {}
    entry["operation"], entry["apiVersion"] = holder.operation, held.api_version
    if held.time:
        entry["time"] = held.time
    entry["fieldsType"], entry["fieldsV1"] = _FIELDS_TYPE, held.fields
    if holder.subresource:
        entry["subresource"] = holder.subresource
    return entry


def capped(ledger: Ledger) -> Ledger:
    """At most so many entries of updates: the oldest ones are merged, per version."""
    if len(ledger) <= UPDATE_MANAGERS_LIMIT:
        return ledger
    updates = [holder for holder in ledger if holder.operation == UPDATE]
    surplus = len(updates) - UPDATE_MANAGERS_LIMIT
    if surplus <= 0:
        return ledger
    result, first = dict(ledger), {}
    for holder in sorted(updates, key=lambda each: (ledger[each].time, _identifier(each))):
        if surplus <= 0:
            break
        version = ledger[holder].api_version
        if version not in first:
            first[version] = holder
            continue
        bucket = Holder(ANCIENT, UPDATE, version, "")
        if bucket not in result:
            result[bucket] = result.pop(first[version])
        held = result.pop(holder) if holder != bucket else result[holder]
        result[bucket] = Holding(ordered(union(held.fields, result[bucket].fields)), version, held.time)
        surplus -= 1
    return result


def _identifier(holder: Holder) -> str:
    """Orders holders of one moment."""
    return f"{holder.name}\0{holder.operation}\0{holder.api_version}\0{holder.subresource}"


def is_reset(entries: Any) -> bool:
    """Whether a request asks to forget all owners: [] or [{}]."""
    return entries is not None and (not entries or (len(entries) == 1 and not any(entries[0].values())))


STRIPPED: Final[FieldSet] = {
    "f:apiVersion": MEMBER,
    "f:kind": MEMBER,
    "f:metadata": {
        SELF: MEMBER,
        **{
            f"f:{name}": MEMBER
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "clusterName",
                "generation",
                "managedFields",
                "resourceVersion",
            )
        },
    },
}
"""What nobody owns."""


UNOWNED: Final[FieldSet] = {**STRIPPED, "f:metadata": children_of(STRIPPED["f:metadata"])}
"""The same for `created`, which leaves struct members out by itself."""


def stripped(fields: FieldSet) -> FieldSet:
    """Without what nobody owns."""
    if "f:metadata" in fields or "f:kind" in fields or "f:apiVersion" in fields:
        return difference(fields, STRIPPED)
    return fields


def has_member(fields: FieldSet) -> bool:
    """Whether there is any path in the set."""
    return any(is_member(node) or has_member(node) for element, node in fields.items() if element != SELF)
