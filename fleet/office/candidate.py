"""A candidate for the coordinator's office: stands for election, renews, resigns.

The shell around `fleet.rules.election`. Terms end by themselves at `Office.until`, whatever the network does.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass

from fleet.records.coordination import CasConflict, Coordination, CoordinationUnavailable, ProtocolMismatch
from fleet.records.record import CoordinatorRecord, Incarnation
from fleet.rules.election import Watch, renewed, resigned, stand
from fleet.rules.membership import Sighting, acting_until, sight
from shards.clock import Clock

log = logging.getLogger(__name__)

JITTER = 0.1
"""So much longer a pause may be than it should, so that candidates do not look in step."""


@dataclass(slots=True)
class Office:
    """One term.

    until: boot-clock reading up to which the coordinator may act. renewed_at: when its last acknowledged renewal was
    sent.
    """

    record: CoordinatorRecord
    until: float
    renewed_at: float

    @property
    def epoch(self) -> int:
        return self.record.epoch


class Candidate:
    """Holds `office` while elected.

    known_epoch: the highest epoch of an office that the map remembers. confirmed: whether the view is current enough to
    take office and to stay in it (R13): who cannot see must let others see. eager: whether it would take office soon,
    and so needs a view that is confirmed.
    """

    def __init__(
        self,
        coordination: Coordination,
        me: Incarnation,
        *,
        lease_seconds: float,
        renew_seconds: float,
        reaped_predecessor: bool,
        known_epoch: Callable[[], int],
        confirmed: Callable[[], bool],
        on_elected: Callable[[], None],
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self.coordination = coordination
        self.me = me
        self.lease_seconds = lease_seconds
        self.renew_seconds = renew_seconds
        self.reaped_predecessor = reaped_predecessor
        self.office: Office | None = None
        self._known_epoch = known_epoch
        self._confirmed = confirmed
        self._on_elected = on_elected
        self._clock = clock
        self._rng = rng
        self._sighting: Sighting | None = None
        self.eager = False

    def in_office(self) -> Office | None:
        """The present term, None when there is none or it has run out."""
        office = self.office
        return office if office is not None and self._clock() < office.until else None

    async def run(self) -> None:
        """Until cancelled."""
        conflicts = 0
        while True:
            try:
                pause = await (self._renew(self.office) if self.office is not None else self._stand())
                conflicts = 0
            except CasConflict:
                conflicts += 1
                # One conflict is repeated at once. What conflicts again is no lost answer: it must not become a storm.
                pause = max(await self._contested(), self.renew_seconds / 8 if conflicts > 1 else 0.0)
            except CoordinationUnavailable as error:
                pause = self.renew_seconds / 4
                log.warning("election: no answer (%s)", error)
            except ProtocolMismatch as mismatch:
                pause = self._passed_over(mismatch)
            if self.office is not None and self._clock() >= self.office.until:
                self.lose("it was not renewed in time")
            await asyncio.sleep(pause * (1.0 + JITTER * self._rng.random()))

    def lose(self, why: str) -> None:
        """Out of office, without a write. Whoever acts for the term finds that it is over."""
        office, self.office = self.office, None
        if office is not None:
            office.until = float("-inf")
            log.warning("coordinator: the term of epoch %d has ended: %s", office.epoch, why)

    async def resign(self) -> None:
        """Give the office up in writing, so that the next candidate need not wait for the lease."""
        office, self.office = self.office, None
        if office is None or self._clock() >= office.until:
            return
        try:
            async with asyncio.timeout(2.0):
                await self.coordination.write_coordinator(
                    resigned(office.record), office.record.version, not_after=office.until
                )
        except (CasConflict, CoordinationUnavailable, TimeoutError) as error:
            log.info("the office was not given up in writing (%s): its lease runs out", error)

    async def _stand(self) -> float:
        found = await self.coordination.read_coordinator()
        now = self._clock()
        self._sighting = sight(
            self._sighting,
            found.version if found is not None else "",
            found.lease_seconds if found is not None else self.lease_seconds,
            now,
        )
        decision = stand(
            self.me,
            found,
            sighting=self._sighting,
            lease_seconds=self.lease_seconds,
            known_epoch=self._known_epoch(),
            reaped_predecessor=self.reaped_predecessor,
            now=now,
        )
        self.eager = not isinstance(decision, Watch) or decision.until - now < self.renew_seconds
        if isinstance(decision, Watch):
            return max(0.05, min(self.renew_seconds, decision.until - now))
        if not self._confirmed():
            return self.renew_seconds / 8
        sent_at = self._clock()
        record = await self.coordination.write_coordinator(decision.record, decision.record.version)
        self.office = Office(record, acting_until(sent_at, self.lease_seconds), sent_at)
        log.info("coordinator: in office, epoch %d", record.epoch)
        self._on_elected()
        return self.renew_seconds

    async def _renew(self, office: Office) -> float:
        if not self._confirmed():
            return self.renew_seconds / 4
        sent_at = self._clock()
        record = await self.coordination.write_coordinator(
            renewed(office.record), office.record.version, not_after=office.until
        )
        if self.office is office:  # a term that was lost meanwhile does not come back
            office.record, office.until, office.renewed_at = record, acting_until(sent_at, self.lease_seconds), sent_at
        return self.renew_seconds

    async def _contested(self) -> float:
        """A write conflicted: a lost answer of its own, or somebody else's election. Returns the next pause."""
        office = self.office
        if office is None:
            return self.renew_seconds / 4
        try:
            found = await self.coordination.read_coordinator()
        except CoordinationUnavailable as error:
            log.warning("election: no answer (%s)", error)
            return self.renew_seconds / 4
        except ProtocolMismatch as mismatch:
            return self._passed_over(mismatch)
        if found is not None and found.holder == str(self.me) and found.epoch == office.epoch:
            office.record = found
        else:
            self.lose(f"{found.holder or 'nobody'} holds it" if found is not None else "its record was deleted")
        return 0.0

    def _passed_over(self, mismatch: ProtocolMismatch) -> float:
        """Another version is in office, or was: what runs here goes on, and waits (R16). Returns the next pause."""
        self.lose(str(mismatch))
        log.error("election: %s", mismatch)
        return self.lease_seconds
