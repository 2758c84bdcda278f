"""How writes other than apply change who owns what. Semantics: merge/update.go of structured-merge-diff and the
managers of managedfields/internal in apimachinery. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fleet.devcluster.fields.comparison import Comparison, compare, created
from fleet.devcluster.fields.ledger import (
    UNOWNED,
    Entries,
    Holder,
    Holding,
    Ledger,
    LedgerError,
    capped,
    is_reset,
    read,
    readable,
    stripped,
)
from fleet.devcluster.fields.manager import Manager
from fleet.devcluster.fields.sets import FieldSet, difference, ordered, union
from fleet.devcluster.kinds.structure import Structure

Versions = Callable[[str], Structure | None]
"""The type of the object in a version of its API; None for a version that does not exist any more."""


def claimed(given: Entries | None, kept: Entries | None, *, ignore_given: bool) -> Ledger:
    """The ledger that a write starts from. given: of the request; kept: of the stored object.

    ignore_given: a write to a subresource cannot change owners by hand.
    """
    if not ignore_given and given is not None and given != kept:
        if is_reset(given):
            return {}
        try:
            found = readable(given)
        except LedgerError:
            found = {}
        if found:
            return found
    try:
        return read(kept)
    except LedgerError:
        return {}


def owners_after(
    ledger: Ledger,
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any],
    manager: Manager,
    versions: Versions,
    ignored: FieldSet,
) -> Ledger:
    """The ledger after a create (old None) or an update. Both objects are without managedFields and complete.

    ignored: fields that this kind of request cannot change.
    """
    if old is None and not ledger:
        return _first(new, manager, versions, ignored)
    structure = versions(manager.api_version)
    if not ledger or structure is None:
        return ledger
    found = compare(old or {}, new, structure).without(ignored)
    me = Holder.of(manager)
    alone = len(ledger) == 1 and me in ledger
    result = ledger if alone else disowned(ledger, {manager.api_version: found}, old or {}, new, versions, but=me)
    previous = result.get(me)
    fields: FieldSet = {} if previous is None else previous.fields
    if found.removed:
        fields = difference(fields, found.removed)
    mine = stripped(found.changed)
    if mine:
        fields = union(fields, mine)
        if previous is None or fields is not previous.fields:
            fields = ordered(fields)
        result = {**result, me: Holding(fields, manager.api_version, manager.timestamp)}
        return capped(result)
    if previous is None or fields is previous.fields:
        return result
    return _replaced(result, me, previous.of(fields))


def _first(new: Mapping[str, Any], manager: Manager, versions: Versions, ignored: FieldSet) -> Ledger:
    """Of a new object: all of it belongs to its creator."""
    structure = versions(manager.api_version)
    if structure is None:
        return {}
    fields = difference(created(new, structure, UNOWNED), ignored, recursive=True)
    return {Holder.of(manager): Holding(fields, manager.api_version, manager.timestamp)} if fields else {}


def _replaced(ledger: Ledger, holder: Holder, held: Holding) -> Ledger:
    if held.fields:
        return {**ledger, holder: held}
    return {each: holding for each, holding in ledger.items() if each != holder}


def disowned(
    ledger: Ledger,
    changes: dict[str, Comparison],
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    versions: Versions,
    *,
    but: Holder | None = None,
) -> Ledger:
    """The ledger without the fields that others lose by these changes. changes: by version; grows by what is needed."""
    result: Ledger = {}
    for holder, held in ledger.items():
        found = changes.get(held.api_version)
        if found is None:
            structure = versions(held.api_version)
            if structure is None:
                continue
            found = changes[held.api_version] = compare(old, new, structure)
        if holder == but:
            result[holder] = held
            continue
        rest = held.fields
        for lost in (found.modified, found.added, found.removed):
            if lost:
                rest = difference(rest, lost)
        if rest:
            result[holder] = held if rest is held.fields else held.of(rest)
    return result
