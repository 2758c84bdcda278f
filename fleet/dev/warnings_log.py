"""The warnings in the log of all processes: read from its file while it grows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from pathlib import Path

_KEPT = 200
_CHUNK_BYTES = 1 << 20
_SEVERITIES = frozenset({b"WARNING", b"ERROR", b"CRITICAL"})


class WarningsLog:
    """Follows one log file in the text format of `fleet.logs.logformat`. count: warnings and worse in what was read."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.count = 0
        self._position = 0
        self._rest = b""
        self._last: deque[str] = deque(maxlen=_KEPT)

    def read(self) -> None:
        """What was written since the last call; a file that is not there is an empty one."""
        try:
            with self.file.open("rb") as stream:
                stream.seek(self._position)
                while chunk := stream.read(_CHUNK_BYTES):
                    self._position += len(chunk)
                    self._take(chunk)
        except FileNotFoundError:
            return

    def last(self, limit: int, about: Iterable[str] = ()) -> list[str]:
        """At most so many, in their order: the last one about each of these names, else simply the last ones."""
        chosen: set[int] = set()
        for name in about:
            chosen.update([i for i, line in enumerate(self._last) if name in line.split()][-1:])
        lines = list(self._last)
        return [lines[i] for i in sorted(chosen)][-limit:] if chosen else lines[-limit:]

    def _take(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            fields = line.split(maxsplit=2)
            if len(fields) == 3 and fields[1] in _SEVERITIES and line[:1].isdigit():
                self.count += 1
                self._last.append(line.decode(errors="replace"))
