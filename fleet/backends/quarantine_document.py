"""The fleet's `quarantine` document: read, changed by compare-and-swap, written."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

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
    for _ in range(ATTEMPTS):
        found = await coordination.read_document(DocumentName.QUARANTINE)
        before = readable(found, otherwise)
        after = change(before)
        if after == before:
            return Changed(before, after)
        draft = found or Document(DocumentName.QUARANTINE, "", "")
        try:
            await coordination.write_document(draft._replace(text=quarantine_text(after)))
        except CasConflict:
            continue
        return Changed(before, after)
    raise CoordinationUnavailable(f"the quarantine document moved {ATTEMPTS} times while it was changed")
