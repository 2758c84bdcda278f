"""The court of fleet/devcluster/judging, in session while a history goes on."""

from __future__ import annotations

from collections.abc import Callable

from chaos.simulation.outcome import Breach
from fleet.devcluster.evidence.verdict import BROKEN
from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.judging.judge import Judge
from fleet.devcluster.recording.journal import Entry
from shards.journal import Note

BOUNDS = Bounds(wake_seconds=20.0, converge_seconds=30.0, quiet_seconds=4.0, wait_seconds=30.0)

VERDICTS = {"overlap_violations": "I1", "writes_after_release": "I23", "unattributed_writes": "I1"}
"""Counts of the verdict beside its invariants, and what they are about."""


class Courtroom:
    """Hears what the server records and what the workers note, as it happens. now: the true time.

    excused: whether what was found is no breach for a reason that the court cannot know.
    """

    def __init__(self, now: Callable[[], float], *, bounds: Bounds = BOUNDS) -> None:
        self.now = now
        self.excused: Callable[[str, str], bool] = lambda oracle, what: False
        self.told: list[Breach] = []
        """By others than the court."""
        self._judge = Judge(bounds)
        self._court = self._judge.court
        self._seen = 0
        self._sits = True

    def hear(self, entry: Entry) -> None:
        if self._sits:
            self._judge.hear(entry)

    def adjourn(self) -> None:
        """From here on only others find: the court goes by versions, and they mean something else from now on."""
        self.told += self._judged()
        self._sits = False

    def journal(self, member: str, alive: Callable[[], bool]) -> LiveJournal:
        """Of one process of that name."""
        return LiveJournal(member, self.now, alive, self._note)

    def _note(self, note: Note) -> None:
        if self._sits:
            self._judge.note(note)

    def found(self, oracle: str, what: str) -> None:
        self.told.append(Breach(oracle, self.now(), what))

    @property
    def suspicious(self) -> bool:
        """Whether something was found since this was asked last, which may be taken back yet."""
        found = len(self.told) + sum(each.broken for each in self._court.invariants)
        suspicious, self._seen = found > self._seen, found
        return suspicious

    def breaches(self) -> list[Breach]:
        """What is broken as of now, in order of time."""
        found = [*self.told, *(self._judged() if self._sits else [])]
        unique = {(each.oracle, each.what): each for each in reversed(found)}
        return sorted(
            (each for each in unique.values() if not self.excused(each.oracle, each.what)),
            key=lambda each: (each.at, each.oracle, each.what),
        )

    def _judged(self) -> list[Breach]:
        verdict = self._judge.verdict()
        found = [
            Breach(judged.id, each.time, each.what)
            for judged in verdict.invariants
            if judged.outcome == BROKEN
            for each in judged.findings
        ]
        return found + [
            Breach(VERDICTS[each.rule], each.time, each.what) for each in verdict.findings if each.rule in VERDICTS
        ]

    def checks(self) -> dict[str, int]:
        """How often each invariant was looked at, of those that could be judged."""
        return {each.id: each.checks for each in self._judge.verdict().invariants if each.checks}


class LiveJournal:
    """The journal of one process: each note is heard as it is written, at the true time."""

    on = True

    def __init__(
        self, member: str, now: Callable[[], float], alive: Callable[[], bool], hear: Callable[[Note], None]
    ) -> None:
        self._member = member
        self._now = now
        self._alive = alive
        self._hear = hear

    def write(self, note: Note) -> None:
        if not self._alive():
            return
        note.member = self._member
        note.time = self._now()
        self._hear(note)
