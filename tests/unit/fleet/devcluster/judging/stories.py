"""What the tests of invariants share: one invariant's judgement of a story, and a worker's notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fleet.devcluster.checkers.effects import Summary
from fleet.devcluster.evidence.verdict import Judgement
from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.judging.judge import judge
from shards.journal import Note
from tests.unit.fleet.devcluster.chronicle import LOWER, Chronicle


def judged(
    id: str,
    story: Chronicle,
    notes: Sequence[Note] = (),
    *,
    bounds: Bounds | None = None,
    reference: Summary | None = None,
) -> Judgement:
    """What is said about one invariant."""
    verdict = judge(story.entries, notes, bounds=bounds, reference=reference)
    return next(each for each in verdict.invariants if each.id == id)


@dataclass
class Notebook:
    """The journal of member a, a second between two notes."""

    notes: list[Note] = field(default_factory=list)
    now: float = 100.0

    def write(self, what: str, **fields: Any) -> Note:
        self.now += 1.0
        covered = fields.pop("range", str(LOWER))
        note = Note(what, self.now, "a", range=covered, **fields)
        self.notes.append(note)
        return note

    def change(self, cause: str, uid: str, version: str, *, by: str = "event") -> None:
        self.write(
            "change", resource="v1/configmaps", key="default/x", uid=uid, version=version, cause=cause, outcome=by
        )

    def pulse(self, reason: str = "", /, **figures: float) -> None:
        counted = {"owned": 1.0, "open": 1.0, "view_age": 1.0, "longest_wait": 0.0, **figures}
        self.write("pulse", outcome=reason, figures=counted)
