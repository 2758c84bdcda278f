"""What one runner tells of its range: each step as it happens, and how long the steps before it took."""

from __future__ import annotations

from dataclasses import replace

from fleet.health.range_steps import Cause, RangeObserver, RangeStep, Step
from fleet.records.record import Holder, ShardRecord
from fleet.rules.handover import Seen
from shards.clock import Clock
from shards.keyrange import KeyRange


class RangeDiary:
    """Lives as long as the runner. Remembers of the present ownership when its steps began, and whom it is for."""

    def __init__(self, each: KeyRange, member: str, clock: Clock, tell: RangeObserver) -> None:
        self._range = each
        self._member = member
        self._clock = clock
        self._tell = tell
        self._began_at = 0.0
        """Of the last standby, drain or claim."""
        self._peer = ""
        self._freed = ("", 0.0)
        """The version at which the record was first seen free, and when that was."""
        self._cause: Cause | None = None
        self._unowned_seconds: float | None = None
        """Before the record was seen free; None where nobody says."""

    def _step(self, step: Step, *, epoch: int = 0, why: str = "", peer: str = "", timed: bool = False) -> RangeStep:
        now = self._clock()
        seconds = now - self._began_at if timed else 0.0
        return RangeStep(step, self._range, self._member, now, epoch, why, peer, seconds=seconds)

    # -- a standby ---------------------------------------------------------------------------------------------------

    def standby_opened(self, record: ShardRecord | None) -> None:
        self._began_at = self._clock()
        self._peer = record.holder.member if record is not None and record.holder is not None else ""
        self._tell(self._step(Step.STANDBY_OPENED, peer=self._peer))

    def standby_synced(self) -> None:
        self._tell(self._step(Step.STANDBY_SYNCED, peer=self._peer, timed=True))

    def announced(self, record: ShardRecord) -> None:
        self._tell(self._step(Step.ANNOUNCED, epoch=record.epoch, peer=self._peer))

    def withdrawn(self, record: ShardRecord, why: str) -> None:
        self._tell(self._step(Step.WITHDRAWN, epoch=record.epoch, why=why))

    def standby_closed(self, why: str) -> None:
        self._tell(self._step(Step.STANDBY_CLOSED, why=why))

    # -- an ownership ------------------------------------------------------------------------------------------------

    def seen_free(self, record: ShardRecord) -> None:
        """A claim is about to be tried, perhaps not for the first time."""
        if self._freed[0] != record.version:
            self._freed = (record.version, self._clock())

    def claimed(self, before: ShardRecord, stored: ShardRecord, me: Holder, *, watermark: bool) -> None:
        """before: the record as it was free."""
        self._began_at = self._clock()
        self._cause = cause_of(before, me)
        self._unowned_seconds = before.unowned_seconds if self._cause in (Cause.HANDOVER, Cause.BACK) else None
        last = before.holder or before.last_holder
        peer = last.member if last is not None and last.member != self._member else ""
        step = self._step(Step.CLAIMED, epoch=stored.epoch, peer=peer)
        self._tell(replace(step, cause=self._cause, watermark=watermark))

    def open(self, epoch: int) -> None:
        step = self._step(Step.OPEN, epoch=epoch, timed=True)
        unowned = None if self._unowned_seconds is None else self._unowned_seconds + step.time - self._freed[1]
        self._tell(replace(step, cause=self._cause, unowned_seconds=unowned))

    def draining(self, epoch: int, seen: Seen) -> None:
        target = seen.map.target_of(self._range) if seen.map is not None else None
        self._began_at, self._peer = self._clock(), target or ""
        if self._peer == self._member:
            self._peer = ""
        self._tell(self._step(Step.DRAINING, epoch=epoch, peer=self._peer, why=why_drained(seen, target)))

    def drained(self, epoch: int) -> None:
        self._tell(self._step(Step.DRAINED, epoch=epoch, peer=self._peer, timed=True))

    @property
    def draining_seconds(self) -> float:
        """Since the drain began."""
        return self._clock() - self._began_at

    def released(self, epoch: int) -> None:
        self._tell(self._step(Step.RELEASED, epoch=epoch, peer=self._peer, timed=True))

    def renounced(self, epoch: int) -> None:
        self._tell(self._step(Step.RENOUNCED, epoch=epoch))

    def dropped(self, epoch: int, why: str) -> None:
        self._tell(self._step(Step.DROPPED, epoch=epoch, why=why))


def cause_of(free: ShardRecord, me: Holder) -> Cause:
    """How the range that was free for `me` comes to it."""
    if free.holder is not None:
        if free.holder.member != me.member:
            return Cause.FENCE
        return Cause.AGAIN if free.holder.epoch == me.epoch else Cause.RESTART
    if free.last_holder is None:
        return Cause.FIRST
    return Cause.BACK if free.last_holder.member == me.member else Cause.HANDOVER


def why_drained(seen: Seen, target: str | None) -> str:
    """Why a range that is owned is let go; target: of the range, None where the map has no such range."""
    if target is None:
        return "the map has no such range any more"
    if seen.forced:
        return "its member leaves, and nobody was ready in time"
    if seen.me is not None and target == seen.me.member:
        return "its views are to be opened anew"
    return ""
