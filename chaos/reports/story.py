"""What happened in one experiment, as a page tells it: the shapes. All times are seconds since its start."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from chaos.running.journal import ActivityRun, Status
from fleet.devcluster.evidence.verdict import BROKEN, Judgement


class Kind(StrEnum):
    """How a range stands. Of the last three nobody works on its keys."""

    OPENING = "opening"
    """Claimed; its views are not there yet."""
    OWNED = "owned"
    DRAINING = "draining"
    """Takes no more keys; what runs is let end."""
    DEAD = "dead"
    """Held by a process that is gone."""
    FROZEN = "frozen"
    """Held by a process that stands still."""
    UNOWNED = "unowned"
    """Held by nobody."""


IDLE = frozenset({Kind.DEAD, Kind.FROZEN, Kind.UNOWNED})


@dataclass(frozen=True, slots=True)
class Phase:
    """member, epoch: of the holder; "" and 0 for nobody. why: of those that are idle."""

    kind: Kind
    began: float
    ended: float
    member: str = ""
    epoch: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One range. phases: in order; where it has none it did not exist."""

    range: str
    short: str
    phases: tuple[Phase, ...]


@dataclass(frozen=True, slots=True)
class Band:
    """What was done and for how long. kind: "action" of the experiment, "fault" of the server or the way to it, "harm"
    to a process. label: short; detail: the rest."""

    kind: str
    label: str
    began: float
    ended: float
    detail: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Lapse:
    """A time in which nobody worked on a range. ended: None where it lasts; opened: when somebody worked on it again.

    seconds: until the end of the story where it lasts. before, after: the members.
    """

    range: str
    short: str
    why: str
    began: float
    ended: float | None
    seconds: float
    opened: float | None = None
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """One bucket of time. p50, p99, longest: seconds from when a reconcile could start to its end, of those that ended
    then; None for none. waiting, running, idle: the most at once, of keys and of ranges that nobody works on."""

    at: float
    ended: int
    p50: float | None
    p99: float | None
    longest: float | None
    waiting: int
    running: int
    idle: int


@dataclass(frozen=True, slots=True)
class Load:
    """bucket_seconds: from one moment to the next. p50 to longest: over all reconciles since the start; None for none.

    worst: the moment with the highest p99, of those in which enough ended that a p99 says something; None for none.
    """

    bucket_seconds: float
    moments: tuple[Moment, ...]
    reconciles: int = 0
    p50: float | None = None
    p99: float | None = None
    longest: float | None = None
    noted: bool = False
    worst: Moment | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A finding of the judge. where: in words, by what was going on."""

    id: str
    at: float
    what: str
    where: str


@dataclass(frozen=True, slots=True)
class Question:
    """A probe of the hypothesis. before, after: None where it was not asked."""

    name: str
    before: ActivityRun | None
    after: ActivityRun | None


@dataclass(frozen=True, slots=True)
class Words:
    """The story in sentences. outcome: a few words. done, wanted: always. came: what held, or what did not and where;
    the first says most."""

    outcome: str
    done: str
    wanted: str
    came: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """began, ended: what is shown. attacks: invariants that it is about. excused: those that it takes away.

    lapses: longest first. places: in order of time. without: the rule that the fleet ran without. entries, missing: of
    the recording.
    """

    name: str
    title: str
    description: str
    target: str
    start: str
    seconds: float
    status: Status
    passed: bool
    without: str
    words: Words
    began: float
    ended: float
    members: tuple[str, ...]
    rows: tuple[Row, ...]
    bands: tuple[Band, ...]
    load: Load
    lapses: tuple[Lapse, ...]
    invariants: tuple[Judgement, ...]
    attacks: tuple[str, ...]
    excused: tuple[str, ...]
    promises: str
    places: tuple[Place, ...]
    questions: tuple[Question, ...]
    entries: int
    missing: int

    @property
    def broken(self) -> tuple[Judgement, ...]:
        return tuple(each for each in self.invariants if each.outcome == BROKEN)

    @property
    def longest_lapse_seconds(self) -> float:
        """0 for none."""
        return max((each.seconds for each in self.lapses), default=0.0)
