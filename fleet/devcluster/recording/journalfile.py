"""A journal that is written to a file while it grows, so that memory need not hold it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from fleet.devcluster.recording.journal import GAP, Entry
from fleet.devcluster.recording.recorder import Recorder
from fleet.logs.linefile import LineFile
from shards.errors import ConfigError

_BLOCK_BYTES = 64 * 1024
KEPT_BESIDE_A_FILE = 50_000
"""Entries that a recorder keeps in memory whose file has all of them: minutes of a busy fleet, for those who look at
what happens just now."""


class JournalFile:
    """Writes each entry of a recorder from now on as a JSON line, in blocks. Leads nowhere back: nothing is read.

    A full disk costs lines and nothing else: the numbers of the entries tell which, or the marker at the end does.
    """

    def __init__(self, recorder: Recorder, path: Path) -> None:
        """The file is emptied first; its directory is made. Raises ConfigError."""
        self._encoder = msgspec.json.Encoder()
        self._buffer = bytearray()
        self._recorder = recorder
        self._last = Entry(0, 0.0, GAP, "")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = LineFile(path, self._marker, anew=True)
        except OSError as error:
            raise ConfigError("--journal", f"cannot write {path}: {error.strerror}") from error
        recorder.listeners.append(self._hear)

    @property
    def lost(self) -> int:
        """Entries that could not be written."""
        return self._file.lost

    def flush(self) -> None:
        if self._buffer:
            self._file.write(bytes(self._buffer), self._buffer.count(b"\n"))
            self._buffer.clear()

    def close(self) -> None:
        """Writes what is left; idempotent."""
        if self._hear in self._recorder.listeners:
            self._recorder.listeners.remove(self._hear)
            self.flush()
            self._file.close()

    def _hear(self, entry: Entry) -> None:
        self._buffer += self._encoder.encode(entry)
        self._buffer += b"\n"
        self._last = entry
        if len(self._buffer) >= _BLOCK_BYTES:
            self.flush()

    def _marker(self, count: int) -> bytes:
        """The number of the last entry says how many there would be."""
        return self._encoder.encode(Entry(self._last.seq, round(self._last.time, 3), GAP, ""))
