"""A disk that is full, for tests of what is written to it."""

from __future__ import annotations

import errno
import os

import pytest


class Disk:
    """limit: bytes that a file may have. A write beyond it writes what fits, or fails where nothing does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.limit = 1 << 40
        self._pwrite = os.pwrite
        monkeypatch.setattr(os, "pwrite", self._write)

    def _write(self, fd: int, data: bytes, offset: int) -> int:
        room = self.limit - offset
        if room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._pwrite(fd, data[:room], offset)
