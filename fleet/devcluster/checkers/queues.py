"""I19 and I20: when keys run, and when they run again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.invariant import NOTES, Invariant
from shards.journal import Note

Who = tuple[str, str, str, str]
"""(member, controller, range, UID)."""

_ROUNDING = 1e-3
"""Seconds, and a share: figures are floats."""


def who(note: Note) -> Who:
    return note.member, note.controller, note.range, note.uid


def _ends(note: Note, each: Who) -> bool:
    """Whether the queue of that key ends with the note, or nothing is known of it any more."""
    if note.what in ("begin", "end", "lost"):
        return each[0] == note.member
    return note.what in ("drained", "stopped") and (each[0], each[2]) == (note.member, note.range)


class NoStarvation(Invariant):
    """A key that can run, or whose delay is over, starts within the bound: as its worker says when it starts and in its
    pulses, and, for one that was to be tried again, by the time of the try. A key that the gate holds back waits for
    its view, which I18 bounds; one that is set aside waits for somebody's word."""

    id = "I19"
    sentence = "No key starves, and delayed keys start when they are due."
    what = "starts of reconciles, and retries that came due"
    needs = (NOTES,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._due: dict[Who, tuple[float, str]] = {}
        self._last: dict[str, float] = {}
        """Time of the last line of each member: what came after it nobody saw."""

    def hears_note(self, note: Note) -> None:
        self._last[note.member] = note.time
        if note.what == "started":
            self._started(note)
        elif note.what == "retry":
            self._due[who(note)] = note.time + note.seconds, note.key
        elif note.what == "aside":
            self._due.pop(who(note), None)
        elif note.what == "parked":
            for each in [each for each in self._due if (each[0], each[1], each[3]) == (*who(note)[:2], note.uid)]:
                del self._due[each]
        elif note.what == "pulse":
            waited = (note.figures or {}).get("longest_wait", 0.0)
            if waited > self.bounds.wait_seconds:
                self.found(note.time, f"a key has waited {waited:.1f} s on {note.member}")
        elif note.what in ("begin", "end", "lost", "drained", "stopped"):
            self._end(note)

    def _started(self, note: Note) -> None:
        self.checks += 1
        due = self._due.pop(who(note), None)
        late = note.time - due[0] if due is not None else 0.0
        waited = max(note.seconds, late)
        if waited > self.bounds.wait_seconds:
            self.found(note.time, f"{note.key} waited {waited:.1f} s on {note.member}")

    def _end(self, note: Note) -> None:
        for each in [each for each in self._due if _ends(note, each)]:
            due, key = self._due.pop(each)
            if note.what not in ("begin", "lost") and note.time - due > self.bounds.wait_seconds:
                self.checks += 1
                self.found(note.time, self._never(each, key, note.time - due))

    def pending(self, end: float) -> list[str]:
        waits = ((each, key, self._last[each[0]] - due) for each, (due, key) in self._due.items())
        return [self._never(each, key, late) for each, key, late in waits if late > self.bounds.wait_seconds]

    def checks_by(self, end: float) -> int:
        return self.checks + len(self.pending(end))

    @staticmethod
    def _never(each: Who, key: str, late: float) -> str:
        return f"{key} was to be tried again on {each[0]} and never was, {late:.1f} s after it was due"


@dataclass(slots=True)
class _Failing:
    """A key that runs, or has failed. count: failures in a row before the last; None where that is not known.

    began: when it ran last. due: when it is to run again; None: it runs. told: a retry was told of since it began.
    """

    count: int | None = -1
    seconds: float = 0.0
    asked: bool = False
    began: float = 0.0
    due: float | None = None
    told: bool = True


class BackingOff(Invariant):
    """The failures of a key count up by one, and from none after a success, or once it was set aside. Each delay is
    what its worker says about its queue: the first one, doubled for each failure, up to the longest, within the jitter,
    or what the server asked for. What fails has a delay, and does not run before that is over unless something stirred
    on its worker meanwhile.
    """

    id = "I20"
    sentence = "Delays of a failing key grow to their limit, and begin anew after a success."
    what = "retries"
    needs = (NOTES,)

    _JITTER = 0.75
    _SUCCESSES = ("success", "requeue_after", "terminal")
    _FAILURES = ("error", "timeout")

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._keys: dict[Who, _Failing] = {}
        self._unsure: set[str] = set()
        """Members whose journals lost lines: failures that were counted may be among them."""
        self._stirred: dict[str, float] = {}

    def hears_note(self, note: Note) -> None:
        if note.what in ("change", "listed", "live", "parked", "opened"):
            self._stirred[note.member] = note.time
        elif note.what == "started":
            self._started(note)
        elif note.what == "ended":
            self._ended(note)
        elif note.what == "aside" and note.cause != "turn":
            self._forget(note)
        elif note.what == "retry":
            self.checks += 1
            self._retry(note)
        elif note.what in ("begin", "end", "lost", "drained", "stopped"):
            for each in [each for each in self._keys if _ends(note, each)]:
                del self._keys[each]
            if note.what == "lost":
                self._unsure.add(note.member)
            elif note.what == "begin":
                self._unsure.discard(note.member)

    def _key(self, note: Note) -> _Failing:
        fresh = _Failing(count=None if note.member in self._unsure else -1, began=note.time)
        return self._keys.setdefault(who(note), fresh)

    def _started(self, note: Note) -> None:
        key = self._key(note)
        if not key.told:
            self.found(note.time, f"{note.key} on {note.member} failed and runs again without a delay")
        early = key.due - note.time if key.due is not None else 0.0
        if early > _ROUNDING and self._stirred.get(note.member, float("-inf")) < key.began:
            self.found(note.time, f"{note.key} on {note.member} runs {early:.3g} s before its delay is over")
        key.began, key.due, key.told = note.time, None, False

    def _ended(self, note: Note) -> None:
        key = self._keys.get(who(note))
        if note.outcome in self._SUCCESSES:
            self._forget(note)
        elif key is not None and note.outcome not in self._FAILURES:
            key.told = True

    def _forget(self, note: Note) -> None:
        """Its failures do not count any more."""
        self._keys.pop(who(note), None)
        if note.member in self._unsure:
            self._keys[who(note)] = _Failing(began=note.time)

    def _retry(self, note: Note) -> None:
        key = self._key(note)
        for what in (*self._wrong(note, key), *self._off(note)):
            self.found(note.time, f"{note.key} on {note.member}: {what}")
        key.count, key.seconds, key.due, key.told = note.count, note.seconds, note.time + note.seconds, True
        key.asked = bool((note.figures or {}).get("asked"))

    def _wrong(self, note: Note, before: _Failing) -> Iterator[str]:
        asked = (note.figures or {}).get("asked", 0.0)
        if not 0 < note.seconds <= max(self.bounds.longest_delay_seconds, asked):
            yield f"a delay of {note.seconds:g} s"
        elif note.seconds < before.seconds * self._JITTER and not before.asked:
            yield f"a delay of {note.seconds:g} s after one of {before.seconds:g} s, without a success between"
        if before.count is not None and note.count != before.count + 1:
            yield f"failure {note.count} follows failure {before.count}"

    def _off(self, note: Note) -> Iterator[str]:
        """What the queue's own figures do not allow."""
        figures = note.figures or {}
        base, longest = figures.get("base", 0.0), figures.get("longest", 0.0)
        if not base:
            return
        asked = figures.get("asked", 0.0)
        wanted = min(base * 2.0 ** min(note.count, 60), longest)
        least, most = max(wanted * self._JITTER, asked), max(wanted, asked)
        if not least * (1.0 - _ROUNDING) <= note.seconds <= most * (1.0 + _ROUNDING):
            yield f"failure {note.count} waits {note.seconds:g} s; {wanted:g} s would be right"
