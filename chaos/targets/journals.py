"""The journals of a server and of workers, read line by line in order of time: none is ever held as a whole."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec

from fleet.devcluster.recording.journal import Entry
from shards.journal import Note

T = TypeVar("T", Entry, Note)

Line = Entry | Note


def entries_in(journal: Path, rest: Callable[[int], Iterable[Entry]]) -> Iterator[Entry]:
    """All of a server's journal. rest: what is behind that number, for what its writer has not written yet."""
    last = 0
    if journal.exists():
        for entry in _decoded(journal, msgspec.json.Decoder(Entry)):
            last = entry.seq
            yield entry
    yield from rest(last)


def notes_below(directory: Path) -> Iterator[Note]:
    """Of all workers. A file is opened when its first line is due: of hundreds of processes few live at once.

    The lines of a process begin when it does something under its name: while it waits for its name to be free, that
    name is another's, whose lines these would be taken for.
    """
    waiting = sorted((note.time, str(file)) for file in directory.rglob("*.jsonl") for note in islice(_told(file), 1))
    running: list[tuple[float, str, Note, Iterator[Note]]] = []
    while waiting or running:
        if waiting and (not running or waiting[0][0] <= running[0][0]):
            _, file = waiting.pop(0)
            _push(running, file, _told(Path(file)))
        else:
            _, file, note, others = heapq.heappop(running)
            yield note
            _push(running, file, others)


def in_order(entries: Iterable[Entry], notes: Iterable[Note]) -> Iterator[Line]:
    """What a worker notes follows from what the server did: of two lines at one time, the server's comes first."""
    return heapq.merge(entries, notes, key=_moment)


def _moment(line: Line) -> tuple[float, bool]:
    return line.time, isinstance(line, Note)


def _push(running: list[tuple[float, str, Note, Iterator[Note]]], file: str, notes: Iterator[Note]) -> None:
    for note in notes:
        heapq.heappush(running, (note.time, file, note, notes))
        return


def _told(file: Path) -> Iterator[Note]:
    notes = _decoded(file, msgspec.json.Decoder(Note))
    begin = None
    for note in notes:
        if note.what == "begin":
            begin = note
        elif note.what not in ("pulse", "end"):
            if begin is not None:
                yield _later(begin, note.time)
            yield note
            yield from notes


def _later(begin: Note, time: float) -> Note:
    wall = (begin.figures or {}).get("wall", 0.0) + time - begin.time
    return msgspec.structs.replace(begin, time=time, figures={"wall": wall})


def _decoded(file: Path, decoder: msgspec.json.Decoder[T]) -> Iterator[T]:
    """Whole lines: a writer may be at the last one, or was killed there."""
    with file.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield decoder.decode(line)
