"""A document is changed: read, edited, and written by compare-and-swap, again where somebody else was quicker."""

from __future__ import annotations

from collections.abc import Callable

from fleet.records.coordination import CasConflict, Coordination
from fleet.records.record import Document, DocumentName


async def change_document(
    coordination: Coordination, name: DocumentName, edit: Callable[[Document | None], str | None], *, attempts: int
) -> Document | None:
    """The document as it is then.

    edit: from what is there, None for nothing, to the text that should be, None to leave it; asked again for each
    attempt. Raises CasConflict when it moved under every attempt, what `edit` raises, and what reads and writes of
    documents do.
    """
    for _ in range(attempts):
        found = await coordination.read_document(name)
        text = edit(found)
        if text is None:
            return found
        try:
            return await coordination.write_document((found or Document(name, "", ""))._replace(text=text))
        except CasConflict:
            continue  # somebody else changed it at the same time
    raise CasConflict(f"the {name} document moved {attempts} times while it was changed")
