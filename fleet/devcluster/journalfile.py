"""A journal that is written to a file while it grows, so that memory need not hold it."""

from __future__ import annotations

from io import FileIO
from pathlib import Path

import msgspec

from fleet.devcluster.journal import Entry
from fleet.devcluster.recorder import Recorder
from shards.errors import ConfigError

_BLOCK_BYTES = 64 * 1024


class JournalFile:
    """Writes each entry of a recorder from now on as a JSON line, in blocks. Leads nowhere back: nothing is read."""

    def __init__(self, recorder: Recorder, path: Path) -> None:
        """The file is emptied first; its directory is made. Raises ConfigError."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = FileIO(path, "w")
        except OSError as error:
            raise ConfigError("--journal", f"cannot write {path}: {error.strerror}") from error
        self._encoder = msgspec.json.Encoder()
        self._buffer = bytearray()
        self._recorder = recorder
        recorder.listeners.append(self._hear)

    def flush(self) -> None:
        self._file.write(self._buffer)
        self._buffer.clear()

    def close(self) -> None:
        """Writes what is left; idempotent."""
        if not self._file.closed:
            self._recorder.listeners.remove(self._hear)
            self.flush()
            self._file.close()

    def _hear(self, entry: Entry) -> None:
        self._buffer += self._encoder.encode(entry)
        self._buffer += b"\n"
        if len(self._buffer) >= _BLOCK_BYTES:
            self.flush()
