"""What becomes of the bytes of one stream under faults: which are let through, when, and in which pieces. Pure."""

from __future__ import annotations

import math
import random
from collections import deque
from dataclasses import dataclass

from fleet.devcluster.faults.injection import Injection
from fleet.devcluster.faults.match import Event, event_in
from fleet.devcluster.faults.words import (
    Cut,
    DelayEvents,
    DropEvents,
    HideEvents,
    NoBookmarks,
    Partition,
    Silence,
    Slice,
    SlowReader,
)
from fleet.devcluster.wire.answers import ConnectionLost

BUFFER_BYTES = 4 << 20
"""What is kept of one stream for a client that does not get it; then the server's stream is left alone."""


@dataclass(slots=True)
class _Waiting:
    """A line on its way. causes: the delays that it waits for, each counted from its arrival."""

    line: bytes
    arrived: float
    causes: tuple[Injection, ...]

    def due(self, now: float) -> float:
        """When it may go; infinity for one that is held until a release."""
        due = self.arrived
        for cause in self.causes:
            seconds = cause.fault.seconds if isinstance(cause.fault, DelayEvents) else 0.0
            if cause.lasts(now):
                due = max(due, math.inf if seconds is None else self.arrived + seconds)
        return due


@dataclass(slots=True)
class _Cutting:
    """A connection that breaks after so many bytes more."""

    injection: Injection
    fault: Cut
    left: int

    def admitted(self, chunk: bytes) -> int:
        """How many bytes of the chunk still get through; all of them where the cut comes later."""
        if not self.fault.inside_character:
            return min(self.left, len(chunk))
        inside = (at for at in range(self.left, len(chunk)) if chunk[at] & 0xC0 == 0x80)
        return next(inside, len(chunk))

    def reached(self, chunk: bytes, admitted: int) -> bool:
        """Whether the cut comes right after those bytes."""
        return admitted < len(chunk) or (not self.fault.inside_character and self.left == admitted)


class Delivery:
    """Bytes go in with `arrive`, and come out with `take`. Order is kept, whatever is delayed.

    attached: the injections that struck this stream, or that look at each of its events.
    """

    def __init__(self, rng: random.Random, *, events: bool) -> None:
        """events: the stream is made of lines, each an event; False: bytes that say nothing to us."""
        self.attached: list[Injection] = []
        self._rng = rng
        self._events = events
        self._partial = b""
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._ready = b""
        self._given = 0  # of `_ready`
        self._cuttings: list[_Cutting] = []
        self._cut: Cut | None = None
        self._over: Exception | None = None
        self._ended = False
        self._finished = False

    @property
    def idle(self) -> bool:
        """Nothing is kept and nothing is to come of what was: the stream can do without."""
        return not (self.attached or self._waiting or self._ready or self._partial or self._ended or self._over)

    @property
    def full(self) -> bool:
        """Nothing more should arrive until some was taken. A line that is not complete yet does not count."""
        return self._waiting_bytes + len(self._ready) - self._given >= BUFFER_BYTES

    @property
    def sliced(self) -> bool:
        """What is taken comes in pieces."""
        return any(isinstance(each.fault, Slice) for each in self.attached)

    def attach(self, injection: Injection, *, whole_bytes: int | None = None) -> None:
        """whole_bytes: the length of a body."""
        self.attached.append(injection)
        fault = injection.fault
        if isinstance(fault, Cut):
            share = None if fault.fraction is None or whole_bytes is None else int(whole_bytes * fault.fraction)
            self._cuttings.append(_Cutting(injection, fault, fault.after_bytes if share is None else share))

    def forget(self, now: float) -> None:
        """Lets go of injections that are over."""
        self.attached = [each for each in self.attached if each.lasts(now)]
        self._cuttings = [each for each in self._cuttings if each.injection in self.attached]

    def pause_seconds(self) -> float:
        """How long the client does not read after it has read."""
        return max((each.fault.seconds for each in self.attached if isinstance(each.fault, SlowReader)), default=0.0)

    def arrive(self, chunk: bytes, now: float) -> None:
        """b"" ends the stream after what is delayed; what is held for good does not arrive any more."""
        if self._finished:
            return
        if not chunk:
            self._ended = True
        elif not self._events:
            self._ready += chunk
        else:
            lines = (self._partial + chunk).split(b"\n")
            self._partial = lines.pop()
            for line in lines:
                self._line(line + b"\n", now)
            if len(self._partial) >= BUFFER_BYTES:  # no event is that long: this stream has no lines
                line, self._partial = self._partial, b""
                self._line(line, now)

    def fail(self, error: Exception) -> None:
        """The stream itself broke."""
        if not self._finished:
            self._over = error

    def finish(self, last_line: bytes) -> None:
        """The stream ends with that line, before whatever waits or comes."""
        self._waiting.clear()
        self._waiting_bytes = 0
        self._partial = b""
        self._ready += last_line
        self._ended = self._finished = True

    def take(self, now: float) -> bytes | None:
        """The next bytes; b"" at the end; None while there is nothing to give.

        Raises ConnectionLost, and what the stream itself failed with.
        """
        cutting = min(self._cuttings, key=lambda each: each.left, default=None)
        if cutting is not None and cutting.left <= 0 and not cutting.fault.inside_character:
            self._cut = cutting.fault
        if self._cut is not None:
            return self._cut_off(self._cut)
        if self._silent:
            return None
        self._let_go(now)
        if self._ready:
            return self._piece(cutting)
        if self._over is not None:
            raise self._over
        if self._ended and (not self._waiting or self._waiting[0].due(now) == math.inf):
            return b""
        return None

    def due_at(self, now: float) -> float:
        """When `take` should be asked again; infinity where only something new can change its answer."""
        return self._waiting[0].due(now) if self._waiting and not self._silent else math.inf

    @property
    def _silent(self) -> bool:
        return any(isinstance(each.fault, Silence | Partition) for each in self.attached)

    def _line(self, line: bytes, now: float) -> None:
        event = event_in(line) if self.attached else None
        if event is not None and self._hides(event, now):
            return
        delays = [each for each in self.attached if isinstance(each.fault, DelayEvents)]
        causes = tuple(each for each in delays if each.strikes(now, self._rng))
        self._waiting.append(_Waiting(line, now, causes))
        self._waiting_bytes += len(line)

    def _hides(self, event: Event, now: float) -> bool:
        for each in self.attached:
            fault = each.fault
            if isinstance(fault, DropEvents):
                if event.version in each.lost_versions and event.type != "BOOKMARK":
                    return True
                if fault.events.admit(event) and each.strikes(now, self._rng):
                    each.lost_versions.add(event.version)
                    return True
            elif isinstance(fault, HideEvents):
                if fault.events.admit(event) and each.strikes(now, self._rng):
                    return True
            elif isinstance(fault, NoBookmarks) and event.type == "BOOKMARK":
                kept = fault.initial_events_end and event.ends_initial_events
                if not kept and each.strikes(now, self._rng):
                    return True
        return False

    def _let_go(self, now: float) -> None:
        gone = []
        while self._waiting and self._waiting[0].due(now) <= now:
            gone.append(self._waiting.popleft().line)
            self._waiting_bytes -= len(gone[-1])
        if self._ended and not self._waiting:
            gone.append(self._partial)
            self._partial = b""
        self._ready += b"".join(gone)

    def _piece(self, cutting: _Cutting | None) -> bytes | None:
        sizes = [each.fault.piece_bytes for each in self.attached if isinstance(each.fault, Slice)]
        piece = self._ready[self._given : self._given + min(sizes)] if sizes else self._ready[self._given :]
        if cutting is not None:
            admitted = cutting.admitted(piece)
            if cutting.reached(piece, admitted):
                self._cut = cutting.fault
                if not admitted:
                    return self._cut_off(self._cut)
            piece = piece[:admitted]
            for each in self._cuttings:
                each.left = max(each.left - admitted, 0)
        self._given += len(piece)
        if self._given == len(self._ready):
            self._ready, self._given = b"", 0
        return piece

    def _cut_off(self, cut: Cut) -> bytes:
        if cut.clean:
            return b""
        raise ConnectionLost("the connection was cut")
