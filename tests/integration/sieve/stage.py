"""Plays a plan: the embedded server with a spare front end, the actor for StatefulSets, a user, and the operator's
processes, in virtual time. One seed gives one history."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from typing import Any

from fleet.devcluster.faults import Events, Match
from fleet.devcluster.faults.injection import Injection
from fleet.devcluster.faults.words import DelayEvents, HideEvents, StaleReplica
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.storage.commits import Commit
from shards.gates.watermark import Watermark
from shards.objects import Object, Resource
from shards.settings import ShardSettings
from shards.testing.observed import Failures
from shards.testing.virtual_time import loop_seconds, run_virtually
from tests.integration.sieve import plans
from tests.integration.sieve.actor import Actor
from tests.integration.sieve.outcome import Outcome, raised, told_of
from tests.integration.sieve.parts import COMPARED, CRDS, DEFINITION
from tests.integration.sieve.plans import THAW_SECONDS, Act, At, On, Rule, Scenario, Way
from tests.integration.sieve.process import Asked, Process, TappedTransport, Taps
from tests.integration.sieve.runtimes import runtime_of
from tests.integration.sieve.user import User

SPARE = "spare"
QUIET_SECONDS = 15.0
"""Without a write: nothing goes on any more."""
LONGEST_SECONDS = 400.0
"""Of the time after the workload; a run that still writes then does not settle."""
SWITCH_SECONDS = 10.0
"""From its trigger to the switch: the figure of Sieve's plans."""


def play(
    scenario: Scenario,
    protections: frozenset[str],
    *,
    way: Way | None = Way.RESTART,
    seed: int = 0,
    switch_seconds: float = SWITCH_SECONDS,
) -> Outcome:
    """way: None: without any fault. switch_seconds: see SWITCH_SECONDS."""
    with runtime_of(protections) as settings:
        return run_virtually(_played(scenario, settings, way, seed, switch_seconds))


async def _played(
    scenario: Scenario, settings: ShardSettings, way: Way | None, seed: int, switch_seconds: float
) -> Outcome:
    stage = Stage(scenario, settings, way, seed, switch_seconds)
    try:
        return await stage.run()
    finally:
        await stage.close()


class Stage:
    """One run."""

    def __init__(
        self, scenario: Scenario, settings: ShardSettings, way: Way | None, seed: int, switch_seconds: float
    ) -> None:
        self.outcome = Outcome()
        self._scenario = scenario
        self._settings = settings
        self._way = way
        self._seed = seed
        self._switch_seconds = switch_seconds
        self._server = ApiServer(
            ServerSettings(bookmark_seconds=5.0), rng=random.Random(seed), wall_seconds=lambda: 1.0e9 + loop_seconds()
        )
        self._spare = self._server.another(SPARE)
        # Behind the spare front end: what it stands still after, it has seen.
        self._server.backend.storage.listeners.append(self._committed)
        self._commits: list[Commit] = []
        self._user = User(self._server, self._asked)
        self._failures = Failures()
        self._pending: list[Rule] = list(scenario.rules) if way is not None else []
        self._count = 0
        self._moved_at = 0.0
        self._epoch = 0
        self._process: Process | None = None
        self._standby: Process | None = None
        self._hides: list[Injection] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._background: list[asyncio.Task[None]] = []

    # -- the run -----------------------------------------------------------------------------------------------------

    async def run(self) -> Outcome:
        self._server.seed(CRDS, DEFINITION)
        actor = Actor(self._server)
        self._background = [
            asyncio.create_task(actor.run(), name="actor"),
            asyncio.create_task(self._server.run_controllers(), name="garbage"),
        ]
        if self._way in (Way.TAKEOVER, Way.HANDOVER):
            self._to_spare("op-b")
            self._standby = self._made("op-b")
            await self._standby.stand_by()
        self._process = self._made("op-a")
        await self._begin(self._process)
        for step in self._scenario.workload:
            self._say(f"user: {step}")
            await self._user.do(step)
        await self._settle()
        self._conclude()
        return self.outcome

    def _made(self, name: str) -> Process:
        taps = Taps(self._asked, self._answered, self._seen, lambda: len(self._commits))
        transport = TappedTransport(self._server, taps)
        return Process(name, self._scenario.make(), self._settings, transport, self._failures, self._seed)

    async def _begin(self, process: Process, mark: Watermark | None = None) -> None:
        self._epoch += 1
        await process.own(self._epoch, mark)

    def _say(self, what: str) -> None:
        self.outcome.log.append(f"{loop_seconds():9.3f} {what}")

    async def _settle(self) -> None:
        until = loop_seconds() + LONGEST_SECONDS
        self._moved_at = loop_seconds()
        while self._tasks or loop_seconds() - self._moved_at < QUIET_SECONDS:
            if loop_seconds() > until:
                self.outcome.errors.append(f"still writing {LONGEST_SECONDS:g} s after the workload")
                return
            await asyncio.sleep(0.5)

    def _conclude(self) -> None:
        outcome = self.outcome
        for resource in COMPARED:
            kind = self._server.registry.get(Resource.parse(resource))
            assert kind is not None
            found = list(self._server.backend.storage.table(kind).objects.values())
            outcome.ended(resource, found, self._scenario.masked)
        outcome.errors += [*self._user.errors, *raised(self._failures)]
        outcome.told = told_of(self._process)
        outcome.unfired = [str(each.on) for each in self._pending]

    async def close(self) -> None:
        for task in (*self._tasks, *self._background):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._background, return_exceptions=True)
        for process in (self._process, self._standby):
            if process is not None:
                await process.bury()
        self._spare.close()
        self._server.close()

    # -- triggers ----------------------------------------------------------------------------------------------------

    def _committed(self, commit: Commit) -> None:
        self._commits.append(commit)
        self._moved_at = loop_seconds()
        self.outcome.committed(commit)
        old, new = _states(commit)
        name = commit.key.rpartition("/")[2]
        if str(commit.kind.resource) in COMPARED:
            verb = "created" if old is None else "deleted" if new is None else "updated"
            self._say(f"{verb} {commit.kind.resource} {name} at {commit.version}")
        self._look(At.SERVER, str(commit.kind.resource), name, old, new)

    def _seen(self, resource: str, old: Object | None, new: Object | None) -> None:
        body = new or old
        assert body is not None
        self._look(At.VIEW, resource, body["metadata"]["name"], old, new)

    def _answered(self, asked: Asked, since: int) -> None:
        for commit in self._commits[since:]:
            name = commit.key.rpartition("/")[2]
            if (str(commit.kind.resource), name) == (asked.resource, asked.name):
                self._look(At.WRITE, asked.resource, name, *_states(commit))

    def _asked(self, asked: Asked) -> None:
        old: Object | None = None if asked.verb == "create" else {}
        new: Object | None = asked.body
        if asked.verb == "delete":
            # Whether something will hold the object is not known yet: it is gone, or doomed, as the plan calls it.
            ends = bool(self._pending) and self._pending[0].on.verb == "delete"
            new = None if ends else {"metadata": {"deletionTimestamp": "now"}}
        self._look(At.REQUEST, asked.resource, asked.name, old, new)

    def _look(self, at: At, resource: str, name: str, old: Object | None, new: Object | None) -> None:
        if not self._pending or self._pending[0].on.at is not at or resource not in COMPARED:
            return
        on = self._pending[0].on
        if not on.names(resource, name) or not on.changes(old, new):
            return
        self._count += 1
        if self._count < on.nth:
            return
        self._count = 0
        rule = self._pending.pop(0)
        self._say(f"trigger: {_trigger(on)}")
        for act in rule.acts:
            self._act(act)

    # -- acts --------------------------------------------------------------------------------------------------------

    def _act(self, act: Act) -> None:
        """At once, or as far as it can be at once."""
        self._say(f"act: {act}")
        process = self._process
        assert process is not None
        if isinstance(act, plans.Freeze):
            self._spare.cache.freeze()
        elif isinstance(act, plans.Switch):
            self._later(self._switch())
        elif isinstance(act, plans.Crash):
            process.kill()
            self._later(self._restart(act.restart_seconds))
        elif isinstance(act, plans.Hide):
            events = Events(types=act.types, name=act.name)  # type: ignore[arg-type]
            match = Match(resource=act.resource, user_agent="fleet/")
            self._hides.append(self._server.faults.inject(HideEvents(match=match, events=events)))
        elif isinstance(act, plans.Delay):
            match = Match(resource=act.resource, verbs=("watch",), user_agent="fleet/")
            self._server.faults.inject(DelayEvents(match=match, seconds=act.seconds))
        elif isinstance(act, plans.Show):
            for each in self._hides:
                each.release()
            self._hides = []
        elif isinstance(act, plans.Pause):
            process.transport.going.clear()
        else:
            self._later(self._resume(process, act))

    def _later(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _resume(self, process: Process, act: plans.Resume) -> None:
        await asyncio.sleep(act.after_seconds)
        process.transport.going.set()

    async def _restart(self, seconds: float) -> None:
        process = self._process
        assert process is not None
        process.kill()
        await process.bury()
        await asyncio.sleep(seconds)
        self._process = self._made("op-a")
        self._say("the process begins anew")
        await self._begin(self._process)

    def _to_spare(self, member: str) -> None:
        self._server.faults.inject(StaleReplica(match=Match(member=member), replica=SPARE))

    async def _switch(self) -> None:
        await asyncio.sleep(self._switch_seconds)
        self._say(f"the spare front end serves whoever acts, by {self._way}")
        thaw = asyncio.create_task(self._thaw())
        if self._way is Way.RESTART:
            self._to_spare("op-a")
            await self._restart(1.0)
        else:
            await self._pass_on()
        await thaw

    async def _pass_on(self) -> None:
        old, new = self._process, self._standby
        assert old is not None
        assert new is not None
        mark: Watermark | None = None
        if self._way is Way.HANDOVER:
            mark = await old.let_go()
        else:
            await old.bury()
        self._process, self._standby = new, None
        await self._begin(new, mark)

    async def _thaw(self) -> None:
        await asyncio.sleep(THAW_SECONDS)
        self._say("the spare front end goes on")
        self._spare.cache.thaw()


def _states(commit: Commit) -> tuple[Object | None, Object | None]:
    """Before and after."""
    old, new = (None if each is None else each.decode() for each in (commit.old, commit.new))
    return old, new


def _trigger(on: On) -> str:
    return f"{on.verb} {on.resource} {on.name} {on.path} {on.at}"
