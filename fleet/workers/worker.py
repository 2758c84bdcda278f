"""One worker process's part in the fleet: a member, and what it does for every range.

The shell that ties `fleet.workers.member` to one `fleet.workers.range_runner` per range. Every change of the view and
every finished action evaluates again all ranges that concern this member, and so does time where one of them waits for
it. What a member holds ends with its membership: a member that was fenced, or could not renew in time, drops everything
and joins again under a higher epoch.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from fleet.backends.confirmation import keep_confirmed
from fleet.health.health import unready_reason
from fleet.health.range_steps import RangeObserver, told_to, written_to_log
from fleet.health.telemetry import Telemetry
from fleet.records.coordination import Coordination, CoordinationView
from fleet.records.filter_record import FilterRecord
from fleet.records.record import Incarnation, MemberRecord
from fleet.records.report_record import RolloutRecord
from fleet.rules.budget_share import Budget
from fleet.rules.handover import Phase
from fleet.rules.refusal import check_map
from fleet.rules.reshard import has_let_go
from fleet.rules.survey import Survey
from fleet.workers.departure import Departure
from fleet.workers.inquiry import Inquiry
from fleet.workers.layout_runners import follow_layout
from fleet.workers.member import Member
from fleet.workers.owned_shard import OwnedShard
from fleet.workers.range_runner import RangeRunner
from fleet.workers.report import Report
from fleet.workers.runner_context import STOP_SHARE, RunnerContext, last_words
from fleet.workers.spread import Spread
from fleet.workers.worker_budget import WorkerBudget
from fleet.workers.worker_report import report_of
from fleet.workers.worker_settings import WorkerSettings
from shards.bell import Bell
from shards.clock import Clock, boot_seconds
from shards.keyrange import KeyRange

TICK_SECONDS = 0.25
"""Longest wait between two evaluations while something waits for its time: retries and forced releases do."""

REST_SECONDS = 1.0
"""Longest wait while nothing does: whatever changes ends it, but for feature gates, which nobody waits for."""


class Worker:
    """One member of the fleet. `run` is its life."""

    def __init__(
        self,
        coordination: Coordination,
        settings: WorkerSettings,
        incarnation: Incarnation,
        make_shard: Callable[[KeyRange], OwnedShard],
        *,
        reaped_predecessor: bool = False,
        clock: Clock = boot_seconds,
        rng: random.Random | None = None,
        die: Callable[[int], Any] = os._exit,
        telemetry: Telemetry | None = None,
        budget: Budget | None = None,
        today: Callable[[], float] = time.time,
        rollout: Callable[[], RolloutRecord | None] = lambda: None,
        observers: Sequence[RangeObserver] = (written_to_log,),
        filters: Callable[[], tuple[FilterRecord, ...]] = tuple,
        last_words: Callable[[str], None] = last_words,
    ) -> None:
        """budget: what limits requests to a part of the fleet's. today: seconds since 1970. rollout, filters: for the
        record. observers: are told of every step of a range, after the telemetry. last_words: hears why it ends at
        once."""
        rng = rng or random.Random()
        telemetry = telemetry or Telemetry()
        self.coordination = coordination
        self.settings = settings
        self.clock = clock
        self.runners: dict[KeyRange, RangeRunner] = {}
        self._budget, self._today, self._spread = WorkerBudget(budget), today, Spread(clock)
        self._rollout, self._filters = rollout, filters
        self._followed, self._opened = 0, dict[KeyRange, int]()
        self._view: CoordinationView | None = None
        self._wake = Bell()
        self.member = Member(
            coordination,
            MemberRecord(
                name=settings.name,
                holder=incarnation,
                epoch=0,
                lease_seconds=settings.lease_seconds,
                revision=settings.revision,
                pod=settings.pod,
                pid=settings.pid,
                scope=settings.scope,
                weight=settings.weight,
            ),
            renew_seconds=settings.renew_seconds,
            reaped_predecessor=reaped_predecessor,
            report=self._report,
            on_change=self._wake.set,
            telemetry=telemetry,
            clock=clock,
            rng=rng,
        )
        self._departure = Departure(
            settings, self.runners, until=self.member.until, clock=clock, die=die, wake=self._wake.set
        )
        self._inquiry = Inquiry(settings.name, self.runners, self._departure)
        self._looked_at: Survey | None = None
        self._context = RunnerContext(
            member=settings.name,
            coordination=coordination,
            make_shard=make_shard,
            deadline=self.member.until_of,
            drain_seconds=settings.drain_seconds,
            stop_seconds=max(0.2, settings.lease_seconds * STOP_SHARE),
            clock=clock,
            rng=rng,
            die=die,
            die_in_order=self._departure.die_in_order,
            wake=self._wake.set,
            tell=told_to((telemetry.range_step, *observers)),
            last_words=last_words,
        )

    @property
    def view(self) -> CoordinationView:
        assert self._view is not None, "run() opens the view"
        return self._view

    @property
    def has_view(self) -> bool:
        return self._view is not None

    def status(self) -> dict[str, Any]:
        """For the agent: JSON-able. ready: see `fleet.health.health.unready_reason`; reason: why not."""
        reason = "no view of map and shard Leases yet"
        if self._view is not None:
            reason = unready_reason(
                self.clock(),
                held_until=self.member.until(),
                view_confirmed_at=self._view.confirmed_at,
                lease_seconds=self.settings.lease_seconds,
                view_age=max((each.view_age for each in self.open_shards), default=0.0),
            )
        known = sorted(self.runners.items())
        return {
            "member": self.settings.name,
            "epoch": self.member.epoch,
            "ready": not reason,
            "reason": reason,
            "leaving": self._departure.leaving,
            "shards": {str(each): runner.status() for each, runner in known if runner.local.phase is not Phase.IDLE},
        }

    @property
    def open_shards(self) -> list[OwnedShard]:
        """Those that it holds and whose reconciles run."""
        return [each.shard for each in self.runners.values() if each.holding and each.shard and each.shard.open]

    def _report(self) -> Report:
        return report_of(
            Report(followed=self._followed, leaving=self._departure.leaving, demand=self._budget.demand),
            self.runners,
            now=self.clock(),
            today=self._today(),
            rollout=self._rollout,
            filters=self._filters,
            spread=self._spread,
        )

    # -- life -------------------------------------------------------------------------------------------------------

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set and everything is handed over. Raises Refused."""
        self._view = self.coordination.watch(members=False)
        follow = asyncio.create_task(self._follow(), name="worker view")
        stopping = asyncio.create_task(self._watch_stop(stop), name="worker stop")
        try:
            while await self.member.join(self._view, self._check_map, stop):
                if await self._serve(stop, follow):
                    await self.member.leave()
                    break
        finally:
            await self._drop_all("the worker ends")
            for task in (follow, stopping):
                task.cancel()
            await asyncio.gather(follow, stopping, return_exceptions=True)
            await self._view.close()

    async def _watch_stop(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._departure.begin()
        self._wake.set()
        self.member.renew_now.set()

    async def _follow(self) -> None:
        async for _ in self.view.changes():
            self._wake.set()

    async def _serve(self, stop: asyncio.Event, following: asyncio.Task[None]) -> bool:
        """As long as this membership lasts. True when everything was handed over after `stop`."""
        renewing = asyncio.create_task(self.member.keep(self.view), name="renew")
        confirmed = keep_confirmed(self.view, self.settings.lease_seconds, self.clock)
        confirming = asyncio.create_task(confirmed, name="worker confirmation")
        for task in (renewing, following, confirming):
            task.add_done_callback(self._task_ended)
        rung = True
        try:
            while self.member.holder is not None and not self.member.lost_history(self.view):
                self._wake.clear()
                self._evaluate(rung)
                if stop.is_set() and not any(runner.holding or runner.busy for runner in self.runners.values()):
                    return True
                longest = TICK_SECONDS if self._inquiry.depends_on_time else REST_SECONDS
                rung = await self._wake.wait(min(longest, self.member.until() - self.clock()))
                if self.clock() >= self.member.until():
                    self.member.lose("no renewal was acknowledged in time")
                elif self._outlived():
                    self.member.lose("the map or a shard record knows a later epoch of it")
                for task in (renewing, following, confirming):
                    if task.done():
                        task.result()
        finally:
            following.remove_done_callback(self._task_ended)
            for task in (renewing, confirming):
                task.cancel()
            await asyncio.gather(renewing, confirming, return_exceptions=True)
        await self._drop_all("the membership ended")
        return False

    def _task_ended(self, _: asyncio.Task[None]) -> None:
        self._wake.set()

    # -- ranges -----------------------------------------------------------------------------------------------------

    def _check_map(self) -> None:
        """R7 and R16: a worker that cannot serve the map claims nothing. Raises Refused."""
        stored = self.view.last_map
        if stored is not None:
            check_map(stored.map, identity=self.settings.identity, keys=self.settings.partition_keys)

    def _outlived(self) -> bool:
        """R14: records of this member were deleted, and it began again below an epoch that others still remember.

        The ranges that name the later epoch are free for nobody, until it joins above it.
        """
        return 0 < self.member.epoch < self._inquiry.highest_epoch(self.view)

    def _evaluate(self, rung: bool) -> None:
        """Ask the ranges what to do, and have them start it. Raises Refused. rung: not just because time has passed."""
        survey = self._inquiry.survey(self.view)
        if rung or survey is not self._looked_at:
            self._looked_at = survey
            self._check_map()
            follow_layout(self.runners, survey, self._context)
            # Before the map counts as followed: others may have what is given up here once it does.
            if self._budget.follow(self.view.last_map, self.view.shards, self.member.holder):
                self.member.renew_now.set()
        self.member.look(self.view)
        may_act = self.member.established and self.clock() < self.member.until()
        me = self.member.holder if may_act else None
        if self._inquiry.ask(self.view, me, rung=rung):
            self._departure.looked()
            self._follow_map()
        self._report_openings()

    def _report_openings(self) -> None:
        """Renew at once when all that is held has opened: until then the record says nothing about its objects."""
        owned = [runner for runner in self.runners.values() if runner.local.phase is Phase.OWNED]
        opened = {each.range: each.local.epoch for each in owned if each.shard is not None and each.shard.open}
        if len(opened) == len(owned) and opened != self._opened:
            self._opened = opened
            self.member.renew_now.set()

    def _follow_map(self) -> None:
        """R14: a map is followed once what it marks lost has been let go."""
        stored = self.view.last_map
        if stored is None or stored.map.version == self._followed:
            return
        if has_let_go((each for each, runner in self.runners.items() if runner.holding), stored.map):
            self._followed = stored.map.version
            if stored.map.lost:
                self.member.renew_now.set()  # the range comes back when everybody has said so

    async def _drop_all(self, why: str) -> None:
        """Everything at once: tenures end first, so that nothing is sent while the rest stops."""
        for runner in self.runners.values():
            runner.end_tenure()
        for runner in self.runners.values():
            runner.drop(why)
        await asyncio.gather(*(runner.settled() for runner in self.runners.values()))
