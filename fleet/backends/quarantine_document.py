"""The fleet's `quarantine` document: read, changed by compare-and-swap, written."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from fleet.backends.document_change import change_document
from fleet.records.coordination import CasConflict, Coordination, CoordinationUnavailable
from fleet.records.quarantine import Quarantine, QuarantineUnreadable, parse_quarantine, quarantine_text
from fleet.records.record import Document, DocumentName

log = logging.getLogger(__name__)

ATTEMPTS = 20
"""Of one change, against others that write at the same time: as many workers as may die of one cause."""


class Changed(NamedTuple):
    """What the document said, and what it says now."""

    before: Quarantine
    after: Quarantine


def readable(document: Document | None, otherwise: Quarantine) -> Quarantine:
    """What the document says. otherwise: what is known of it where somebody has made it unreadable."""
    if document is None:
        return Quarantine()
    try:
        return parse_quarantine(document.text)
    except QuarantineUnreadable as error:
        log.error("the quarantine document cannot be read, what it said before holds: %s", error)
        return otherwise


async def change_quarantine(
    coordination: Coordination, change: Callable[[Quarantine], Quarantine], otherwise: Quarantine
) -> Changed:
    """Nothing is written where nothing changes. otherwise: as of `readable`; the change replaces what is unreadable.

    Raises CoordinationUnavailable, and ConfigError for a ConfigMap that lacks its labels.
    """
    changed = Changed(otherwise, otherwise)

    def edit(found: Document | None) -> str | None:
        nonlocal changed
        before = readable(found, otherwise)
        changed = Changed(before, change(before))
        return None if changed.after == before else quarantine_text(changed.after)

    try:
        await change_document(coordination, DocumentName.QUARANTINE, edit, attempts=ATTEMPTS)
    except CasConflict as conflict:
        raise CoordinationUnavailable(str(conflict)) from conflict
    return changed
