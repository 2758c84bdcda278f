from __future__ import annotations

import pytest

from fleet.backends.document_change import change_document
from fleet.backends.local import LocalCoordination
from fleet.records.coordination import CasConflict
from fleet.records.record import Document, DocumentName

NAME = DocumentName.CONTROLS


def appended(found: Document | None) -> str:
    return f"{found.text if found is not None else ''}x"


class Contended(LocalCoordination):
    """Somebody else is quicker the next few times."""

    rivals = 0

    async def write_document(self, new: Document, *, not_after: float | None = None) -> Document:
        if self.rivals:
            self.rivals -= 1
            found = await self.read_document(NAME)
            rival = (found or Document(NAME, "", ""))._replace(text="theirs ")
            await super().write_document(rival)
        return await super().write_document(new, not_after=not_after)


async def test_what_is_not_there_is_created_and_what_is_there_is_changed() -> None:
    coordination = LocalCoordination()
    made = await change_document(coordination, NAME, appended, attempts=1)
    assert made is not None
    assert made.text == "x"
    changed = await change_document(coordination, NAME, appended, attempts=1)
    assert changed == await coordination.read_document(NAME)
    assert changed is not None
    assert changed.text == "xx"


async def test_what_is_to_stay_is_not_written() -> None:
    coordination = LocalCoordination()
    made = await coordination.write_document(Document(NAME, "x", ""))
    assert await change_document(coordination, NAME, lambda found: None, attempts=1) == made
    assert await coordination.read_document(NAME) == made


async def test_the_edit_is_made_again_on_what_somebody_else_wrote_meanwhile() -> None:
    coordination = Contended()
    coordination.rivals = 2
    changed = await change_document(coordination, NAME, appended, attempts=3)
    assert changed is not None
    assert changed.text == "theirs x"


async def test_a_document_that_moves_all_the_time_is_left_to_the_others() -> None:
    coordination = Contended()
    coordination.rivals = 9
    with pytest.raises(CasConflict, match="the controls document moved 3 times"):
        await change_document(coordination, NAME, appended, attempts=3)
    found = await coordination.read_document(NAME)
    assert found is not None
    assert found.text == "theirs "
