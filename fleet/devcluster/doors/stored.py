"""What an embedded server stores, over HTTP: for experiments that harm it.

POST /-/storage/compact    versions before now can neither be listed nor watched from any more
POST /-/storage/back-up    keeps what is stored now
POST /-/storage/restore    goes back to what was kept last, as after a restore from a backup: versions go back as well

A fault proxy has no hold of what is behind it, and has to be told for the judge:

POST /-/storage/restored   the server behind goes back to an older state now
"""

from __future__ import annotations

import msgspec

from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.storage.storage import Snapshot, Storage
from fleet.devcluster.wire.answers import Answer

PATH = "/-/storage/"


class Stored:
    """Answers for one storage. recorder: is told of what it goes back to. storage: None where it is not ours."""

    def __init__(self, storage: Storage | None, recorder: Recorder | None) -> None:
        self._storage = storage
        self._recorder = recorder
        self._kept: Snapshot | None = None

    def answer(self, method: str, path: str) -> Answer:
        """409 where there is nothing to go back to, 404 for what cannot be done here."""
        if method != "POST":
            return _failed(405, "POST only")
        what, storage = path.removeprefix(PATH), self._storage
        if storage is None:
            if what != "restored":
                return _failed(404, f"nothing at {path}: what is stored is not stored here")
            self._note()
        elif what == "compact":
            storage.compact()
        elif what == "back-up":
            self._kept = storage.snapshot()
        elif what == "restore" and self._kept is not None:
            self._note()
            storage.restore(self._kept)
        elif what == "restore":
            return _failed(409, f"nothing was kept: POST {PATH}back-up comes first")
        else:
            return _failed(404, f"nothing at {path}; there are {PATH}compact, {PATH}back-up and {PATH}restore")
        return Answer(200, b"{}")

    def _note(self) -> None:
        if self._recorder is not None:
            self._recorder.restored()


def _failed(status: int, why: str) -> Answer:
    return Answer(status, msgspec.json.encode({"field": "", "error": why}))
