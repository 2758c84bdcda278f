"""One history of the stack: a server, a fleet, people, strikes; then healing, and the silence after it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import random
from collections.abc import Callable, Coroutine
from typing import Any

from chaos.simulation.conductor import Conductor
from chaos.simulation.happenings import Happening, Healed, Lived, Struck
from chaos.simulation.loop import SimulationLoop
from chaos.simulation.outcome import Breach, Outcome, Say
from chaos.simulation.plan import Plan
from chaos.simulation.stack.cast import Cast, How
from chaos.simulation.stack.cloud import Cloud
from chaos.simulation.stack.courtroom import Courtroom
from chaos.simulation.stack.demo import CRDS, DEFINITION, site_controller
from chaos.simulation.stack.excuses import Excuses
from chaos.simulation.stack.hands import Hands
from chaos.simulation.stack.members import WALL_SECONDS, Setting
from chaos.simulation.stack.network import Network
from chaos.simulation.stack.people import People
from chaos.simulation.stack.sight import Sight
from chaos.simulation.stack.stage import StackStage
from chaos.simulation.stack.truth import Truth
from chaos.simulation.strikes import Restore
from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.recording.journal import FAULT, FAULT_END, Entry
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.storage.storage import Snapshot
from shards import Context, Request
from shards.api.client import Client
from shards.api.useragent import UserAgent
from shards.authoring.controller import Controller
from shards.settings import GateSettings, ShardSettings

SETTLE_SECONDS = 60.0
"""Until all is as it should be, once nothing goes wrong any more."""
SILENT_SECONDS = 3.0
"""Then nothing is written for so long but signs of life."""
NOTICE_SECONDS = 80.0
"""From a restore. A server keeps a watch from a version that is to come, and says nothing on it: for 75 s, then the
client breaks it off."""
LOOK_SECONDS = 0.25
"""Between two looks at whether all is as it should be."""
LATE_SHARE = 0.05
"""Of a lease. A request that is longer on its way may find that its sender owns nothing any more."""


class History:
    """Everything that one seed is made of. `run` plays it, once."""

    def __init__(self, plan: Plan, say: Say | None, hear: Callable[[Happening], None] | None = None) -> None:
        self.plan = plan
        self.loop = SimulationLoop(random.Random(f"{plan.seed} order"))
        self.say: Say = say or (lambda at, what: None)
        self._ear = hear
        self.rng = random.Random(f"{plan.seed} stack")
        self.court = Courtroom(self._now)
        self.recorder = Recorder(clock=self._now)
        self.server = self._server()
        self.cloud = Cloud(plan.seed)
        self.truth = Truth(self.server, self.cloud)
        self.sight = Sight(self.truth, self.court.found)
        self.network = Network(
            self._front_ends(),
            self.recorder,
            random.Random(f"{plan.seed} network"),
            late_seconds=LATE_SHARE * plan.shape.lease_seconds,
        )
        client = Client(InProcessTransport(self.server, clock=self._now), user_agent="kubectl/sim")
        self.people = People(client, self.truth, random.Random(f"{plan.seed} people"), self._tell, plan.shape.objects)
        self.court.excused = Excuses(plan, self.network.hits, self.people.hidden)
        self.cast = Cast(
            self.loop, self.network, self._setting(),
            lambda process: self.court.journal(process.name, lambda: process.alive), self._lived, seed=plan.seed,
        )  # fmt: skip
        self.stage = StackStage(
            self.cast, self.network, Hands(client, self.server), self._spawn, self._lived, self._restore
        )
        self.conductor = Conductor(plan, self.stage, now=self._now, call_at=self.loop.at, hear=self._hear)
        self.last_write_at = 0.0
        self.noticed_at = 0.0
        """When everybody must have noticed a restore, if there was one."""
        self._backups: dict[float, Snapshot] = {}
        self._struck: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.recorder.listeners += [self.court.hear, self.sight.hear, self._heard]

    # -- what it is made of --------------------------------------------------------------------------------------------

    def _server(self) -> ApiServer:
        settings = ServerSettings(bookmark_seconds=5.0, default_objects=False)
        server = ApiServer(
            settings,
            rng=random.Random(f"{self.plan.seed} server"),
            recorder=self.recorder,
            wall_seconds=lambda: WALL_SECONDS + self.loop.now,
            name="0",
        )
        server.seed(CRDS, DEFINITION)
        return server

    def _front_ends(self) -> list[ApiServer]:
        others = [self.server.another(str(number)) for number in range(1, self.plan.shape.replicas)]
        for each in others:
            each.cache.since = self.server.cache.since
        return [self.server, *others]

    def _setting(self) -> Setting:
        lease_seconds = self.plan.shape.lease_seconds
        return Setting(
            make_controller=self._controller,
            shards=self.plan.shape.shards,
            lease_seconds=lease_seconds,
            settings=ShardSettings(gate=GateSettings()),
            sharded=self.rng.random() < 0.5,
            request_seconds=lease_seconds / 2,
            today=lambda: WALL_SECONDS + self.loop.now,
        )

    def _controller(self, label: str) -> Controller:
        def begins(ctx: Context, request: Request) -> None:
            self.sight.begins(label, ctx, request)

        return site_controller(begins, self.sight.decides, self.cloud)

    # -- what it hears -------------------------------------------------------------------------------------------------

    def _now(self) -> float:
        return self.loop.now

    def _tell(self, what: str) -> None:
        self.say(self.loop.now, what)

    def _lived(self, label: str, how: How) -> None:
        self._tell(f"{label} {how}")
        if self._ear is not None:
            self._ear(Lived(self.loop.now, label, how))

    def _hear(self, happening: Happening) -> None:
        if self._ear is not None:
            self._ear(happening)
        if isinstance(happening, Struck):
            self._tell(f"{'over: ' if happening.over else ''}{happening.strike}")
            words = f'{{"strike":"{happening.strike.__struct_config__.tag}"}}'
            if happening.over and words in self._struck:
                self._struck.remove(words)
                self.recorder.note(FAULT_END, fault=words)
            elif not happening.over:
                self._struck.append(words)
                self.recorder.note(FAULT, fault=words)
        elif isinstance(happening, Healed):
            self._tell("nothing goes wrong any more")
            for words in self._struck:
                self.recorder.note(FAULT_END, fault=words)
            self._struck.clear()

    def _heard(self, entry: Entry) -> None:
        if entry.write and entry.succeeded:
            agent = UserAgent.parse(entry.user_agent)
            if agent is not None and agent.uid:
                self.last_write_at = entry.time
            self._tell(
                f"{entry.verb} {entry.resource} {entry.name}{'/' * bool(entry.subresource)}{entry.subresource} "
                f"at {entry.resource_version} by {entry.user_agent}"
            )

    def _spawn(self, doing: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(doing, context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- a server that goes back ---------------------------------------------------------------------------------------

    def _back_up(self, back_seconds: float) -> None:
        self._backups[back_seconds] = self.server.storage.snapshot()

    def _restore(self, back_seconds: float) -> bool:
        """Whether there is a backup. Front ends are stopped for it: all connections break."""
        backup = self._backups.get(back_seconds)
        if backup is None:
            return False
        self._tell(f"the server goes back from {self.server.storage.version} to {backup.version}")
        self.court.adjourn()
        self.sight.forget()
        self.truth.restored = True
        self.server.storage.restore(backup)
        for name in sorted(self.cast.players):
            self.network.cut(name)
        self.noticed_at = self.loop.now + NOTICE_SECONDS
        self.loop.at(self.noticed_at, self._audit)
        return True

    def _audit(self) -> None:
        """What a view took over of a history that has never been, once versions have passed those of before, only its
        audit finds, hours later: here it comes now."""
        for name in sorted(self.cast.players):
            self.network.cut(name, gone=True)

    # -- the run -------------------------------------------------------------------------------------------------------

    def run(self) -> Outcome:
        try:
            return self.loop.run_until_complete(self._play())
        finally:
            self.cast.over = True
            with self.loop.entered():
                for each in self.network.servers[::-1]:
                    each.close()
                # What processes do as they end may ask for the loop.
                self.loop.close()

    async def _play(self) -> Outcome:
        plan = self.plan
        self._spawn(self.server.backend.garbage.run())
        for each in plan.strikes:
            if isinstance(each, Restore):
                self.loop.at(max(0.0, each.at - each.back_seconds), self._back_up, each.back_seconds)
        self.conductor.start()
        for number in range(plan.shape.agents):
            self.cast.start(f"agent-{number + 1}", reaped=False)
        for number in range(plan.shape.workers):
            self.cast.start(chr(ord("a") + number), reaped=False)
        await self.people.begin()
        self._spawn(self.people.act_until(lambda: self.conductor.healed))
        while not self.conductor.healed:
            await asyncio.sleep(LOOK_SECONDS)
            if self.court.suspicious and self.court.breaches():
                return self._outcome(None)
        return await self._heal()

    async def _heal(self) -> Outcome:
        began = self.loop.now
        wrong = "it was never looked at"
        while self.loop.now < max(began, self.noticed_at) + SETTLE_SECONDS:
            await asyncio.sleep(LOOK_SECONDS)
            if self.court.suspicious and self.court.breaches():
                return self._outcome(None)
            wrong = self.unsettled()
            if self.loop.now <= self.noticed_at:
                continue  # what is desired may be so at once, and not to those who have not noticed it yet
            if not wrong and self.loop.now - self.last_write_at >= SILENT_SECONDS:
                return self._outcome(max(0.0, self.loop.now - began - SILENT_SECONDS))
        self.court.found(*(("I10", wrong) if wrong else ("I10", "the fleet writes and writes")))
        return self._outcome(None)

    def unsettled(self) -> str:
        """What is not as it should be, "" when all is."""
        owners = [
            (each, name)
            for name, worker in self.cast.workers.items()
            for each, runner in worker.runners.items()
            if runner.shard is not None and runner.shard.open
        ]
        held = sum(each.last - each.first + 1 for each, _ in owners)
        if held != 2**64:
            return f"{', '.join(f'{each} on {name}' for each, name in owners) or 'nothing'} is open, and no more"
        return self.truth.undesired()

    def _outcome(self, settled_seconds: float | None) -> Outcome:
        breaches: list[Breach] = self.court.breaches()
        return Outcome(
            seed=self.plan.seed,
            breaches=tuple(breaches),
            seconds=self.loop.now,
            settled_seconds=None if breaches else settled_seconds,
            checks={**self.court.checks(), "P2": self.sight.checks},
            hits={strike: times for strike, times in sorted(self.network.hits.items()) if times},
        )


class quiet:
    """Logs of the product are not shown: a history makes thousands of lines."""

    def __enter__(self) -> None:
        self._level = logging.root.manager.disable
        logging.disable(logging.CRITICAL)

    def __exit__(self, *_: object) -> None:
        logging.disable(self._level)


def played(plan: Plan, say: Say | None, hear: Callable[[Happening], None] | None = None) -> Outcome:
    """hear: is told of strikes, and of what becomes of processes."""
    with quiet():
        return History(plan, say, hear).run()
