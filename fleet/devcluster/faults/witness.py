"""What faults do, in the words of the recorder: the judge must know what a client could not know."""

from __future__ import annotations

import msgspec

from fleet.devcluster.faults.documents import written
from fleet.devcluster.faults.inforce import Witness
from fleet.devcluster.faults.words import Refuse, TooLarge, Word
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.wire.requests import Request


def witness_for(recorder: Recorder | None) -> Witness | None:
    """Notes every strike; None where nothing is recorded."""
    if recorder is None:
        return None

    def witness(what: str, fault: Word, request: Request | None) -> None:
        status = fault.status if isinstance(fault, Refuse) else 504 if isinstance(fault, TooLarge) else 0
        seconds = fault.retry_after_seconds if isinstance(fault, Refuse) else None
        told = what == "refused"
        recorder.note(
            what,
            fault=msgspec.json.encode(written(fault)).decode(),
            request=request,
            status=status if told else 0,
            retry_after="" if seconds is None or not told else str(seconds),
        )

    return witness
