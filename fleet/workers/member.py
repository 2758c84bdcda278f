"""One worker's own member record: joining, renewing, leaving.

The shell around `fleet.rules.membership`. What a member may do ends at `until`; what it holds ends with its
incarnation.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable
from dataclasses import replace

from fleet.health.telemetry import Telemetry
from fleet.records.coordination import (
    CasConflict,
    Coordination,
    CoordinationUnavailable,
    CoordinationView,
    MapUnreadable,
    ProtocolMismatch,
)
from fleet.records.record import Holder, Incarnation, MemberRecord
from fleet.rules.membership import (
    Sighting,
    Wait,
    acting_until,
    established,
    highest_named_epoch,
    join,
    leave,
    sight,
    went_back,
)
from fleet.workers.pauses import LEAST_PAUSE_SECONDS, pause_until
from fleet.workers.report import Report
from shards.bell import Bell
from shards.clock import Clock

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.2
"""Pause after a request without an answer, with jitter."""

JITTER = 0.1
"""So much longer a pause may be than it should, so that members do not renew in step. Never shorter: a fleet costs one
write per member and period, and no more."""


class Member:
    """The record of this worker, and the right to act that comes with it.

    `holder` is None while this worker is no member. established: others know that it is one, so it may do something
    about ranges. Invariant: `until` only grows within one epoch.
    """

    def __init__(
        self,
        coordination: Coordination,
        draft: MemberRecord,
        *,
        renew_seconds: float,
        reaped_predecessor: bool,
        report: Callable[[], Report],
        on_change: Callable[[], None],
        telemetry: Telemetry,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        assert draft.holder is not None, "a member names its incarnation"
        self.coordination = coordination
        self.draft = draft
        self.incarnation: Incarnation = draft.holder
        self.renew_seconds = renew_seconds
        self.reaped_predecessor = reaped_predecessor
        self.telemetry = telemetry
        self.renew_now = Bell()
        self._report = report
        self._on_change = on_change
        self._clock = clock
        self._rng = rng
        self._record: MemberRecord | None = None
        self._until = float("-inf")
        self.established = False
        self._attempted: int | None = None
        self._not_before = float("-inf")
        self._setbacks = 0

    @property
    def epoch(self) -> int:
        return self._record.epoch if self._record is not None else 0

    @property
    def holder(self) -> Holder | None:
        return Holder(self._record.name, self._record.epoch) if self._record is not None else None

    def until(self) -> float:
        """Boot-clock reading up to which this incarnation may act; minus infinity while there is none."""
        return self._until if self._record is not None else float("-inf")

    def until_of(self, epoch: int) -> float:
        """The same for what was begun under a member epoch: a later incarnation gives it no new time."""
        return self.until() if self.epoch == epoch else float("-inf")

    # -- joining ----------------------------------------------------------------------------------------------------

    async def join(self, view: CoordinationView, check: Callable[[], None], stop: asyncio.Event) -> bool:
        """Become a member under a higher epoch. False when told to stop first. check: raises when it must not join."""
        sighting: Sighting | None = None
        said = ""
        while not stop.is_set():
            try:
                if self._clock() - view.confirmed_at > self.draft.lease_seconds or not view.synced:
                    await view.confirm()  # R13: who cannot see does not join, or nobody could take over from it
                if view.last_map is None:
                    with contextlib.suppress(MapUnreadable):
                        await self.coordination.read_map()  # R16: one of another protocol is refused by who begins
                check()
                if self.lost_history(view):
                    continue
                found = await self.coordination.read_member(self.draft.name)
                sighting = sight(
                    sighting,
                    found.version if found is not None else "",
                    found.lease_seconds if found is not None else self.draft.lease_seconds,
                    self._clock(),
                )
                wait = await self._try(view, found, sighting)
            except CasConflict:
                await pause_until(stop, RETRY_SECONDS * self._rng.random())
                continue
            except ProtocolMismatch as mismatch:
                if self._attempted is None:
                    raise
                # It was a member before: what runs is not ended by what somebody wrote since.
                log.error("joining waits: %s", mismatch)
                await pause_until(stop, self.renew_seconds)
                continue
            except CoordinationUnavailable as error:
                log.warning("joining: no answer (%s)", error)
                await pause_until(stop, RETRY_SECONDS * (1 + self._rng.random()))
                continue
            if wait is None:
                return True
            if wait.why != said:
                said = wait.why
                log.info("joining waits: %s", said)
            await pause_until(stop, min(wait.until - self._clock(), self.renew_seconds))
        return False

    async def _try(self, view: CoordinationView, found: MemberRecord | None, sighting: Sighting) -> Wait | None:
        """One attempt; None when it succeeded."""
        if self._clock() < self._not_before:
            # The record was looked at all the same: a deletion costs one lease, not two.
            return Wait(self._not_before, "its record is gone, or the server's history went back")
        report = self._report()
        stored, shards = view.last_map, list(view.shards.values())
        if found is None:  # nothing but map and shard records knows how high it was, and the view may lag behind them
            stored, shards = await self.coordination.read_map() or stored, await self.coordination.list_shards()
        known_epoch = highest_named_epoch(self.draft.name, stored.map if stored is not None else None, shards)
        decision = join(
            replace(self.draft, leaving=report.leaving, seen_map=report.followed, demand=report.demand),
            found,
            sighting=sighting,
            known_epoch=known_epoch,
            reaped_predecessor=self.reaped_predecessor,
            now=self._clock(),
            forgotten=stored.map.forgotten if stored is not None else 0,
        )
        if isinstance(decision, Wait):
            return decision
        if self.lost_history(view):
            return Wait(self._not_before, "the server's history went back")
        sent_at = self._clock()
        record = await self.coordination.write_member(decision.record, decision.record.version)
        self._attempted = record.renewals
        self._record, self._until = record, acting_until(sent_at, record.lease_seconds)
        self.established = established(False, known_epoch=known_epoch)
        log.info("member %s at epoch %d", record.name, record.epoch)
        return None

    # -- renewing ---------------------------------------------------------------------------------------------------

    async def keep(self, view: CoordinationView) -> None:
        """Renew until this incarnation is lost. A late renewal does not end it; running past `until` does."""
        pause = self.renew_seconds
        conflicts = 0
        while self._record is not None:
            await self.renew_now.wait(max(LEAST_PAUSE_SECONDS, pause * (1.0 + JITTER * self._rng.random())))
            self.renew_now.clear()
            pause = self.renew_seconds
            record = self._record
            if record is None:
                return
            try:
                await self._renew(record, view)
                conflicts = 0
            except CasConflict:
                self.telemetry.renewal_failed()
                conflicts += 1
                # One conflict is repeated at once. What conflicts again is no lost answer: it must not become a storm.
                pause = max(await self._contested(record), RETRY_SECONDS if conflicts > 1 else 0.0)
            except CoordinationUnavailable as error:
                self.telemetry.renewal_failed()
                log.warning("renewal: no answer (%s)", error)
                pause = self.renew_seconds / 4

    async def _renew(self, record: MemberRecord, view: CoordinationView) -> None:
        """R13: only on a view of map and shard records that was confirmed within a lease."""
        if self._clock() - view.confirmed_at > record.lease_seconds:
            raise CoordinationUnavailable("the view of map and shard records is older than a lease")
        report = self._report()
        new = replace(
            record,
            renewals=record.renewals + 1,
            seen_map=report.followed,
            leaving=report.leaving,
            loads=report.loads,
            failing=report.failing,
            waiting=report.waiting,
            parts=report.parts,
            rollout=report.rollout,
            filters=report.filters,
            demand=report.demand,
            spread=report.spread,
        )
        self._attempted = new.renewals
        known_epoch = self._known_epoch(view)
        sent_at = self._clock()
        stored = await self.coordination.write_member(new, record.version, not_after=self._until)
        self.telemetry.renewed(self._clock() - sent_at)
        if self._record is not None and self._record.epoch == stored.epoch:
            self._record, self._until = stored, acting_until(sent_at, new.lease_seconds)
            if not self.established and established(False, known_epoch=known_epoch):
                self.established = True
                self._on_change()

    def look(self, view: CoordinationView) -> None:
        """Renew at once where that is all that is missing before it may do something about ranges."""
        if not self.established and established(False, known_epoch=self._known_epoch(view)):
            self.renew_now.set()

    def _known_epoch(self, view: CoordinationView) -> int:
        """What others would find who come after it. What it had been itself once is of no interest any more."""
        if self.established:
            return 0
        shown = view.last_map.map if view.last_map is not None else None
        return highest_named_epoch(self.draft.name, shown, view.shards.values())

    async def _contested(self, record: MemberRecord) -> float:
        """A renewal conflicted: its own lost answer, an edit that means nothing, or the end. Returns the next pause."""
        try:
            live = await self.coordination.read_member(record.name)
        except CoordinationUnavailable as error:
            log.warning("renewal: no answer (%s)", error)
            return self.renew_seconds / 4
        except ProtocolMismatch as mismatch:
            self.lose(str(mismatch))
            return 0.0
        if self._record is not record:
            return 0.0
        if live is None:
            self._lose_for_a_lease("its record was deleted")  # or is not in the backup that was restored
        elif went_back(live, record):
            self.telemetry.history_lost()
            self._lose_for_a_lease("its record is an earlier one: the server's history went back")
        elif live.holder != self.incarnation or live.epoch != record.epoch:
            self.lose(f"its record is at epoch {live.epoch}, held by {live.holder or 'nobody'}")
        elif live.renewals not in (record.renewals, self._attempted):
            self.lose("the coordinator expelled it")
        else:
            self._record = live
        return 0.0

    def lose(self, why: str) -> None:
        """The end of this incarnation: nothing may be done under it any more."""
        record, self._record = self._record, None
        self._until = float("-inf")
        if record is not None:
            log.warning("member %s at epoch %d is no more: %s", record.name, record.epoch, why)
            self._on_change()

    def lost_history(self, view: CoordinationView) -> bool:
        """Whether the view has noticed, since this was asked last, that the store of the records was restored.

        Asked before each join as well: whoever is no member just then has to wait like all others.
        """
        noticed, self._setbacks = view.history_went_back != self._setbacks, view.history_went_back
        if noticed:
            self.telemetry.history_lost()
            self._lose_for_a_lease("the server's history went back")
        return noticed

    def _lose_for_a_lease(self, why: str) -> None:
        """Whoever notices first must not take what the restored records say is its own: others act on what they own
        since the backup, for a lease at most, as no renewal of theirs can succeed any more."""
        self._not_before = self._clock() + self.draft.lease_seconds
        self.lose(why)

    # -- leaving ----------------------------------------------------------------------------------------------------

    async def leave(self) -> None:
        """For good: a fence of oneself, to be called after the last act (R5)."""
        record = self._record
        if record is None:
            return
        try:
            async with asyncio.timeout(max(0.1, self._until - self._clock())):
                while True:
                    if await self._left(record):
                        break
                    await asyncio.sleep(RETRY_SECONDS * self._rng.random())
        except (CoordinationUnavailable, ProtocolMismatch, TimeoutError) as error:
            log.warning("leaving was not written (%s): the coordinator will fence this member", error)
        self._record, self._until = None, float("-inf")

    async def _left(self, record: MemberRecord) -> bool:
        """False when the record moved meanwhile: a renewal was still on its way."""
        live = await self.coordination.read_member(record.name)
        if live is None or live.holder != self.incarnation or live.epoch != record.epoch:
            return True
        try:
            await self.coordination.write_member(leave(live), live.version, not_after=self._until)
        except CasConflict:
            return False
        log.info("member %s left for good", record.name)
        return True
