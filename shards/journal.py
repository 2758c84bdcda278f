"""What a worker did and saw, line by line: the evidence that no recording of requests can give.

Off by default: the places that would write ask `on` first, and pay for no more than that. A judge reads the lines
together with the server's own journal; both carry the boot clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec


class Note(msgspec.Struct, gc=False, omit_defaults=True):
    """One line. what: see below. time: boot-clock seconds. member: filled in by the journal.

    begin, end           of the journal. cause: the incarnation; figures: wall, seconds since 1970 at that time
    opened, draining,    one shard: its gate is open; it takes no more keys; its reconciles have ended for good; its
      drained, stopped   views are closed. epoch: of the shard
    step                 of a range on its way from owner to owner. cause: which (`fleet.health.range_steps.Step`);
                         outcome: how it came to its owner, or why; seconds: since the step before that it refers to;
                         figures: unowned, seconds without an owner, of a range that opened after a handover
    started              a reconcile. uid, key. views: version of each view. seconds: since it could have started
    ended                the same. outcome: as in the metric of reconciles. seconds: that it took
    lost                 lines could not be written, up to this one. count: how many
    retry                a failure was counted. seconds: until the next try. count: failures in a row before this one.
                         figures: base and longest delay of the queue, asked: what a server, or the limit of all retries
                         together, asked for, 0 for nothing
    parked               the gate held a key back. cause: why. views: where the views stand
    aside                a key does not run. cause: paused or quarantined, until somebody says otherwise, and its
                         failures are forgotten; turn, until another suspect has ended. views: version of each view
    act                  one that cannot be taken back. cause: delete, scale, or the author's reason; outcome: as in the
                         metric of acts. uid, key. resource, version: of what it was done to, as it was decided on
    live                 a live read. outcome: found, absent, failed or over_budget; cause: its purpose
    list, listed,        one list of a view: begun; complete, at a version, with count objects; given up
      unlisted
    change               a view moved and its handlers were told. cause: added, modified or deleted; outcome: what
                         told of it: list or event. uid, key, version
    view                 what a view holds. objects: versions by UID. version: of the view. outcome: "whole" where its
                         range is all that filters it, "namespace" where only the namespace `key` does beside it
                         Lines of a view name its resource and range; role: what the objects are to their controllers
    hook                 an author's function failed, or took too long: outcome. cause: which one. key: of the object;
                         "handler" is the fleet's own. As often as the log has it
    pulse                every few seconds. figures: see `fleet.workers.worker_journal`. outcome: "" or why it is not
    ready
    """

    what: str
    time: float
    member: str = ""
    controller: str = ""
    range: str = ""
    resource: str = ""
    role: str = ""
    key: str = ""
    uid: str = ""
    version: str = ""
    epoch: int = 0
    count: int = 0
    seconds: float = 0.0
    outcome: str = ""
    cause: str = ""
    views: dict[str, str] | None = None
    objects: dict[str, str] | None = None
    figures: dict[str, float] | None = None


class Journal(Protocol):
    """Where notes go. on: whether anybody reads them."""

    @property
    def on(self) -> bool: ...

    def write(self, note: Note) -> None: ...


class NoJournal:
    """Keeps nothing."""

    on = False

    def write(self, note: Note) -> None:
        """Nobody reads it."""


class KeptJournal:
    """Keeps the notes of one member in memory, for tests."""

    on = True

    def __init__(self, member: str) -> None:
        self.notes: list[Note] = []
        self._member = member

    def write(self, note: Note) -> None:
        note.member = self._member
        self.notes.append(note)


NO_JOURNAL: Journal = NoJournal()


def on_wall_clock(notes: Iterable[Note]) -> Iterator[Note]:
    """The same notes with the times that a wall clock showed, for a reader whose other evidence has no boot clock.

    notes: of any number of journals, each from its `begin` on.
    """
    offsets: dict[str, float] = {}
    for note in notes:
        if note.what == "begin" and note.figures is not None:
            offsets[note.member] = note.figures["wall"] - note.time
        note.time += offsets.get(note.member, 0.0)
        yield note


def encode_notes(notes: Iterable[Note]) -> bytes:
    """JSON lines."""
    return msgspec.json.Encoder().encode_lines(notes)


def decode_notes(data: bytes) -> Iterator[Note]:
    """The inverse; a last line that its writer did not finish (it was killed) is left out.

    Raises msgspec.DecodeError.
    """
    decoder = msgspec.json.Decoder(Note)
    for line in data.splitlines(keepends=True):
        if line.endswith(b"\n"):
            yield decoder.decode(line)
