"""The parent of `fleet dev` while the fleet runs: makes objects, plays Deployments, kills, watches, reports."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any

import msgspec

from fleet import __version__
from fleet.dev.creation import Creation
from fleet.dev.demo import Demo
from fleet.dev.kills import COORDINATOR, victim
from fleet.dev.measure import Measure
from fleet.dev.options import FLEET, NAMESPACE, DevOptions
from fleet.dev.player import DeploymentPlayer
from fleet.dev.primaries import Primaries
from fleet.dev.process import Part, PartFailed
from fleet.dev.pulse import Pulse, PulseReader
from fleet.dev.report import Report, takeover_text
from fleet.dev.view import View
from fleet.dev.warnings_log import WarningsLog
from fleet.devcluster.evidence.verdict import Verdict
from fleet.records.object_names import Names
from fleet.status.status_reader import StatusReader
from fleet.status.statusview import FleetStatus
from shards.api.client import Client, Transport
from shards.authoring.controller import Controller
from shards.clock import Clock, boot_seconds
from shards.objects import Object

_LOOK_SECONDS = 0.05
_STATUS_SECONDS = 0.25
_SAY_SECONDS = 2.0
_START_SECONDS = 5.0
"""A start that takes longer than this is worth a word."""
_SUPERVISOR_SECONDS = 5.0
_VERDICT_SECONDS = 60.0
_NAMES = 5
_WARNINGS = 3
_USER_AGENT = f"fleet-dev/{__version__}"
"""No member's: the recorder must not take our requests for the fleet's."""


class Interrupted(Exception):
    """Ctrl-C before what was asked for was reached."""


class Session:
    """One run. `run` returns the report once the fleet has ended; the server still runs then."""

    def __init__(
        self,
        options: DevOptions,
        controller: Controller,
        demo: Demo,
        objects: list[Object],
        *,
        transport: Transport,
        run_dir: Path,
        server: Part,
        pod: Part,
        view: View,
        log: WarningsLog,
        clock: Clock = boot_seconds,
    ) -> None:
        self._options = options
        self._server = server
        self._pod = pod
        self._view = view
        self._log = log
        self._clock = clock
        self._client = Client(transport, user_agent=_USER_AGENT)
        self._primaries = Primaries(transport, controller.primary, demo.settled, user_agent=_USER_AGENT)
        self._creation = Creation(self._client, objects, self._primaries)
        self._player = DeploymentPlayer(transport, user_agent=_USER_AGENT)
        self._pulses = PulseReader(run_dir)
        self._reader = StatusReader(self._client, Names(FLEET, NAMESPACE), today=time.time)
        self._measure = Measure()
        self._status: FleetStatus | None = None
        self._kills = list(options.kills)
        self._told: set[str] = set()
        self._said = ""
        self._begun_at = clock()
        self._settled_reconciles: int | None = None

    async def run(self, stop: asyncio.Event) -> Report:
        """Until `stop`, or what the options ask for. Raises PartFailed, Interrupted, and what requests raise."""
        background = [
            asyncio.create_task(self._primaries.run(), name="primaries"),
            asyncio.create_task(self._player.run(), name="player"),
            asyncio.create_task(self._creation.run(), name="demo objects"),
            asyncio.create_task(self._every(_STATUS_SECONDS, self._read_status), name="status"),
            asyncio.create_task(self._every(_SAY_SECONDS, self._say_progress), name="progress"),
        ]
        try:
            await self._watch(stop, background)
            await self._pulses.count()
        except PartFailed:
            self._say_warnings()
            raise
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
        seconds = self._clock() - self._begun_at
        settled = self._is_settled()
        await self._end_pod(stop)
        return await self._report(settled, seconds)

    # What happens meanwhile

    async def _watch(self, stop: asyncio.Event, background: Iterable[asyncio.Task[None]]) -> None:
        """Looks, kills and shows, until it is time to end."""
        while not stop.is_set():
            self._check(background)
            pulse = await self._pulses.look()
            now = self._clock()
            self._measure.look(now, pulse.shards, pulse.rss_mib)
            await self._note_settled(now)
            self._say_events()
            self._kill_due(now, pulse)
            self._view.show(self._status, self._progress())
            if self._reached(now):
                self._say_unsettled()
                return
            await asyncio.sleep(_LOOK_SECONDS)
        self._say_unsettled()
        if self._options.until_settled or self._options.for_seconds is not None:
            raise Interrupted

    def _check(self, background: Iterable[asyncio.Task[None]]) -> None:
        """Raises when a part has ended or cannot go on."""
        for part in (self._server, self._pod):
            if not part.alive():
                raise part.failure()
        for task in background:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise error
        if self._primaries.trouble:
            raise PartFailed(self._primaries.trouble)

    async def _every(self, seconds: float, step: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            await step()
            await asyncio.sleep(seconds)

    async def _read_status(self) -> None:
        self._status = await self._reader.read()
        self._measure.layout(self._status, self._clock())

    async def _note_settled(self, now: float) -> None:
        measure = self._measure
        if measure.settled_at is None and measure.first_owned_at is not None and self._existing and self._is_settled():
            await self._pulses.count()
            self._settled_reconciles = self._pulses.reconciles
            self._measure.settled(now)

    def _is_settled(self) -> bool:
        return self._primaries.settled == self._existing

    @property
    def _existing(self) -> int:
        """Objects that exist or are still to be made."""
        return self._primaries.total + self._creation.waiting

    def _reached(self, now: float) -> bool:
        options = self._options
        elapsed = now - self._begun_at
        if options.for_seconds is not None:
            return elapsed >= options.for_seconds
        if not options.until_settled:
            return False
        owned = self._measure.first_owned_at is not None and not self._measure.closed_since
        if owned and self._is_settled() and not self._kills and self._measure.overcome:
            return all(each.first_reconcile_at is not None or not each.objects for each in self._measure.takeovers)
        return elapsed >= options.timeout_seconds

    # Kills

    def _kill_due(self, now: float, pulse: Pulse) -> None:
        began = self._measure.first_owned_at
        while self._kills and began is not None and now >= began + self._kills[0].after_seconds:
            kill = self._kills[0]
            name = victim(kill.target, self._status, pulse.children) if self._status else None
            if name is None or self._status is None:
                return  # it has not come back from an earlier kill: as soon as it has
            del self._kills[0]
            child = pulse.children[name]
            os.kill(child.pid, signal.SIGKILL)
            killed_at = self._clock()
            if kill.target == COORDINATOR:
                self._measure.killed_coordinator(str(kill), name, killed_at, self._status.coordinator_epoch)
                self._view.say(f"killed {name} (pid {child.pid}), which held the coordinator's office")
            else:
                objects = sum(row.objects for row in self._status.shards if _slot(row.owner) == _slot(name))
                takeover = self._measure.killed_worker(str(kill), name, killed_at, objects)
                self._view.say(f"killed {name} (pid {child.pid}), which owned {len(takeover.lost)} shards")

    # What is said

    def _say_events(self) -> None:
        measure = self._measure
        if measure.first_owned_at is not None:
            seconds = measure.first_owned_at - self._begun_at
            self._say_once("owned", f"all {len(measure.ranges)} shards are owned after {seconds:.2f} s")
        if measure.settled_seconds is not None:
            text = f"all {self._primaries.total} objects are settled after {measure.settled_seconds:.2f} s of work"
            self._say_once("settled", text)
        if self._status is not None and (self._status.failing_keys or self._status.waiting_keys):
            text = "some keys keep failing, or wait for long: `fleet status --failing` says which, and why"
            self._say_once("stuck", text)
        for each in measure.kills:
            if each.over:
                self._say_once(f"over {each.kill}", takeover_text(each.report()))

    def _say_once(self, key: str, text: str) -> None:
        if key not in self._told:
            self._told.add(key)
            self._view.say(text)

    async def _say_progress(self) -> None:
        self._log.read()
        measure = self._measure
        if measure.settled_at is not None:
            return
        text = self._progress()
        if measure.first_owned_at is None:
            if self._clock() - self._begun_at < _START_SECONDS:
                return
            text = f"not every shard is owned yet; {text}"
        if text != self._said:
            self._said = text
            self._view.say(text)

    def _progress(self) -> str:
        existing, count = self._existing, self._log.count
        text = f"{self._primaries.settled} of {existing} objects are settled" if existing else "there are no objects"
        return f"{text}; {count} warning{'s' * (count != 1)} in the log" if count else text

    def _say_unsettled(self) -> None:
        """At the end: which objects are not settled, and what may say why."""
        names = [str(name) for name in self._primaries.unsettled()]
        if not names:
            return
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        self._view.say(f"not settled: {', '.join(names[:_NAMES])}{more}")
        waiting = [row for row in self._status.waiting if row.key in names] if self._status is not None else []
        for row in waiting[:_NAMES]:
            self._view.say(f"{row.key} has been waiting since {row.since} ({row.waits_for}): {row.why}")
        self._say_warnings(about=names[:_NAMES])

    def _say_warnings(self, about: Iterable[str] = ()) -> None:
        self._log.read()
        for line in self._log.last(_WARNINGS, about):
            self._view.say(line)

    # The end

    async def _end_pod(self, stop: asyncio.Event) -> None:
        """Lets the fleet drain; another Ctrl-C kills it."""
        stop.clear()
        self._pod.terminate()
        grace_seconds = self._options.config().workers.grace_seconds + _SUPERVISOR_SECONDS
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_seconds):
                while self._pod.alive() and not stop.is_set():  # noqa: ASYNC110 - the end of a process sets no event
                    await asyncio.sleep(_LOOK_SECONDS)

    async def _report(self, settled: bool, seconds: float) -> Report:
        answer = await self._client.transport.request("GET", "/-/verdict", timeout_seconds=_VERDICT_SECONDS)
        return Report.of(
            self._measure,
            msgspec.json.decode(answer, type=Verdict),
            workers=self._options.workers,
            objects=self._primaries.total,
            reconciled=self._primaries.settled,
            settled=settled,
            reconciles=self._pulses.reconciles,
            reconciles_until_settled=self._settled_reconciles,
            seconds=seconds,
        )


def _slot(name: str) -> str:
    """Of a child or a member: both end with it."""
    return name.rpartition("-")[2]
