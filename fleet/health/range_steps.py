"""The steps of a range on one member, and who is told of them: metrics, the journal, the log, Kubernetes Events.

A planned move, on both members in the order of its steps:

    old owner                        new owner
                                     STANDBY_OPENED   its informers are opened, without reconciles
                                     STANDBY_SYNCED   its views are complete
                                     ANNOUNCED        written on the shard record
    DRAINING   no new keys
    DRAINED    nothing runs any more
    RELEASED   written on the record
                                     CLAIMED          written on the record, by a Cause
                                     OPEN             its gate is open, reconciles run

STANDBY_CLOSED and WITHDRAWN end what a move had begun when it is called off; RENOUNCED gives back a claim that was
never used; DROPPED is the end without a release, whatever step it comes in.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from shards.keyrange import KeyRange

log = logging.getLogger(__name__)


class Step(StrEnum):
    """What has happened to the range on this member."""

    STANDBY_OPENED = "standby-opened"
    STANDBY_SYNCED = "standby-synced"
    ANNOUNCED = "announced"
    WITHDRAWN = "withdrawn"
    STANDBY_CLOSED = "standby-closed"
    DRAINING = "draining"
    DRAINED = "drained"
    RELEASED = "released"
    RENOUNCED = "renounced"
    CLAIMED = "claimed"
    OPEN = "open"
    DROPPED = "dropped"


class Cause(StrEnum):
    """How a range came to the member that claimed it."""

    FIRST = "first"
    """Nobody had held it before."""
    HANDOVER = "handover"
    """Another member released it."""
    BACK = "back"
    """This member had released it itself."""
    RESTART = "restart"
    """An earlier incarnation of this member held it."""
    FENCE = "fence"
    """Its holder was fenced, or had outlived its records."""
    AGAIN = "again"
    """This incarnation was named already: the answer to an earlier claim was lost."""


@dataclass(frozen=True, slots=True)
class RangeStep:
    """One step.

    time: boot-clock reading. epoch: of the shard; 0 where nothing was claimed. why: what led to it, the end of a
    sentence; "" where the step says it. peer: the member on the other side: whom a range is drained for, whose it was.
    cause: of CLAIMED and OPEN. seconds: since STANDBY_OPENED for STANDBY_SYNCED, since DRAINING for DRAINED and
    RELEASED, since CLAIMED for OPEN; 0.0 for others. watermark: of CLAIMED: the last owner left one.
    unowned_seconds: of OPEN after a handover: from the old owner's DRAINING on, but for the way of the release from
    there to here, which neither can measure; None where it is not known.
    """

    step: Step
    range: KeyRange
    member: str
    time: float
    epoch: int = 0
    why: str = ""
    peer: str = ""
    cause: Cause | None = None
    seconds: float = 0.0
    watermark: bool = False
    unowned_seconds: float | None = None


RangeObserver = Callable[[RangeStep], None]
"""Called on the event loop right after the step; must neither block nor wait. What it raises is logged and goes no
further."""


def told_to(observers: Iterable[RangeObserver]) -> RangeObserver:
    """One observer that tells all of them. None of them can stop a handover."""
    everybody = tuple(observers)

    def tell(step: RangeStep) -> None:
        for each in everybody:
            try:
                each(step)
            except Exception:
                log.exception("an observer of ranges failed at %s of %s", step.step, step.range.short)

    return tell


def written_to_log(step: RangeStep) -> None:
    """The log's line of a step."""
    level = _LEVELS.get(step.step, logging.INFO)
    if log.isEnabledFor(level):
        log.log(level, "%s", sentence(step))


_LEVELS = {
    Step.DROPPED: logging.WARNING,
    Step.STANDBY_OPENED: logging.DEBUG,
    Step.STANDBY_SYNCED: logging.DEBUG,
    Step.DRAINED: logging.DEBUG,
}


def sentence(step: RangeStep) -> str:
    """For people: what happened, to which range, and how long it took."""
    text = f"range {step.range.short} {step.step.replace('-', ' ')}"
    if step.epoch:
        text += f" at epoch {step.epoch}"
    if step.cause is not None and step.step is Step.CLAIMED:
        text += f" ({step.cause}{f' from {step.peer}' if step.peer else ''})"
    elif step.peer:
        text += f" for {step.peer}"
    if step.watermark:
        text += ", with a watermark"
    if step.seconds:
        text += f" after {step.seconds:.3f} s"
    if step.unowned_seconds is not None:
        text += f", unowned for {step.unowned_seconds:.3f} s"
    return f"{text}: {step.why}" if step.why else text
