"""A file to which whole lines are added, on a disk that may be full: what could not be written is counted, and told."""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from collections import deque
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger(__name__)

_REMEMBERED_LINES = 16
"""Of the last ones, how long they are: they make room for the marker."""


class LineFile:
    """Never raises for what cannot be written: who is observed must not stop because the observer has no room.

    While lines are missing at its end the file ends with a marker, which takes the place of the last lines where there
    is no room for it; they count as lost then. It goes as soon as something can be written again, in which the caller
    tells of the loss. One process writes the file.
    """

    def __init__(self, path: Path, marker: Callable[[int], bytes], *, anew: bool) -> None:
        """marker: the line that says how many are missing here. anew: what is in the file goes. Raises OSError."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if anew else 0)
        self.path = path
        self.lost = 0
        self.open_losses = 0
        """Lines that are missing at the end of the file."""
        self._marker = marker
        self._fd = os.open(path, flags, 0o600)
        status = os.fstat(self._fd)
        self._size = status.st_size
        self._regular = stat.S_ISREG(status.st_mode)
        self._lengths: deque[int] = deque(maxlen=_REMEMBERED_LINES)
        self._room = 0
        """Bytes that the marker has; it is written over, so it fits as long as it does not grow."""

    def write(self, lines: bytes, count: int) -> bool:
        """Whether the lines, whole ones, are in the file. count: how many are lost if they are not."""
        try:
            self._put(lines, self._size)
            if self._room:
                os.ftruncate(self._fd, self._size + len(lines))
        except OSError as error:
            self._lose(count, error)
            return False
        self._size += len(lines)
        self._lengths.extend(len(each) for each in lines[-65536:].splitlines(keepends=True))
        self._room = self.open_losses = 0
        return True

    def close(self) -> None:
        """Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _lose(self, count: int, error: OSError) -> None:
        if not self.lost:
            log.warning("%s cannot be written: %s; what is lost is counted", self.path, error.strerror)
        self.lost += count
        self.open_losses += count
        while not self._mark() and self._lengths:
            self._size -= self._lengths.pop()
            self.lost += 1
            self.open_losses += 1
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)

    def _mark(self) -> bool:
        """Writes the marker; whether there was room. What goes into a pipe cannot be taken back."""
        if not self._regular:
            return True
        text = self._marker(self.open_losses).rstrip(b"\n")
        text = text.ljust(max(self._room, len(text) + 8) - 1) + b"\n"  # the count may get longer
        try:
            self._put(text, self._size)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)
            return False
        self._room = len(text)
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, self._size + self._room)
        return True

    def _put(self, data: bytes, at: int) -> None:
        written = 0
        while written < len(data):
            rest = data[written:]
            written += os.pwrite(self._fd, rest, at + written) if self._regular else os.write(self._fd, rest)
