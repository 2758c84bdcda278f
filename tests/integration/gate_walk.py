"""Random faults around two owners of one shard, in virtual time. One seed gives one history.

Members take turns on the shard: handed over with a watermark, or taken over without one. Watches lag and stand still,
answers get lost, histories are compacted, objects are changed, deleted and created again under their names. Whatever
happens, no reconcile may see less than what was written for its key before.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from prometheus_client import CollectorRegistry

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.faults import Match
from fleet.devcluster.faults.match import Verb
from fleet.devcluster.faults.words import DelayEvents, LostAck
from fleet.devcluster.judging.judge import judge
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.api.client import Client
from shards.api.useragent import UserAgent
from shards.errors import ApiError, Unreachable
from shards.gates.watermark import Watermark
from shards.journal import KeptJournal
from shards.keyrange import WHOLE
from shards.metrics import ShardMetrics
from shards.objects import SLOT_LABEL
from shards.ownership.tenure import Tenure
from shards.queue.slots import Slots
from shards.runtime import WorkerRuntime
from shards.settings import GateSettings, ShardSettings
from shards.shard import Shard
from tests.integration.gate_oracle import BAD, SLOW, Life, Oracle, site_controller
from tests.integration.gate_wire import Wire, now
from tests.unit.shards.world import CONFIGMAPS, CRDS, DEFINITION, WEBSITES

MEMBERS = ("a", "b")
SITES = ("one", "two", "three", "four", "five")
MODES = ("create", "ensure", "generate")
LOST: tuple[tuple[Verb, ...], ...] = (
    ("create",),
    ("patch",),
    ("delete",),
    ("get", "list", "watch"),
    ("create", "patch", "delete"),
)
"""Whose answers get lost together."""

WALK_SECONDS = 40.0
HEAL_SECONDS = 90.0
"""Until everything is as desired once nothing goes wrong any more: an informer's longest pause after failures, and then
the backoff of keys that failed meanwhile."""

STUCK_SECONDS = 50.0
"""No key may go without a reconcile for longer, while its shard is open and the server answers: an informer's longest
pause after failures (30 s), before it shows a new object at all, and two live reads whose answers were lost."""

SILENCE_SECONDS = 75.0
"""Longer, where the server was restored: it keeps a watch from a version that is to come, and says nothing on it."""

CREATES_LIMIT = 40
"""Successful creates of one name by one key in a walk: more, and something makes what something else removes."""


class GateWalk:
    """What goes wrong, when, and for how long, all drawn from the seed."""

    def __init__(self, seed: int, *, gate: bool = True, restores: bool = False) -> None:
        """restores: whether the server is restored from a backup once, too."""
        self.restores = restores
        self.rng = random.Random(seed)
        recorder = Recorder(clock=now)
        settings = ServerSettings(bookmark_seconds=5.0)
        self.server = ApiServer(
            settings, rng=random.Random(seed + 1), wall_seconds=lambda: 1.0e9 + now(), recorder=recorder
        )
        self.server.seed(CRDS, DEFINITION)
        self.kubectl = Client(InProcessTransport(self.server, clock=now), user_agent="kubectl")
        self.oracle = Oracle(self.server)
        self.settings = ShardSettings(gate=GateSettings(enabled=gate))
        self.wires = {name: Wire(self.server, random.Random(f"{seed} {name}")) for name in MEMBERS}
        self.journals = {name: KeptJournal(name) for name in MEMBERS}
        self.runtimes = {name: self._runtime(name, seed) for name in MEMBERS}
        self.owner = "a"
        self.epoch = 0
        self.shard: Shard | None = None
        self.tenure: Tenure | None = None
        self.opened_at = 0.0
        self.last_mark: Watermark | None = None
        self.hidden: set[str] = set()
        self.healing: set[asyncio.Task[None]] = set()
        self.garbage = asyncio.create_task(self.server.backend.garbage.run())

    def _runtime(self, name: str, seed: int) -> WorkerRuntime:
        return WorkerRuntime(
            transport=self.wires[name],
            clock=now,
            rng=random.Random(f"{seed} {name}"),
            settings=self.settings,
            metrics=ShardMetrics(CollectorRegistry()),
            slots=Slots(3),
            journal=self.journals[name],
        )

    def say(self, what: str) -> None:
        self.oracle.say(what)

    # -- owners -----------------------------------------------------------------------------------------------------

    def make_shard(self, member: str) -> Shard:
        return Shard(WHOLE, [site_controller(member, self.oracle)], self.runtimes[member], member)

    async def open(self, member: str, shard: Shard, mark: Watermark | None) -> None:
        previous, self.epoch = self.epoch, self.epoch + 1
        self.owner, self.shard = member, shard
        self.tenure = Tenure(member, 1, WHOLE, self.epoch, until=lambda: now() + 60.0)
        await shard.activate(self.tenure, mark, previous_epoch=previous)
        self.opened_at = now()
        self.say(f"{member} opens epoch {self.epoch}")

    async def hand_over(self) -> None:
        """The next owner stands by, the old one drains and releases; its watermark may be lost or be another's."""
        assert self.shard is not None
        old, new_owner = self.shard, "b" if self.owner == "a" else "a"
        new = self.make_shard(new_owner)
        if self.rng.random() < 0.8:
            await new.prewarm()
            await asyncio.sleep(self.rng.choice([0.0, 0.3, 2.0]))
        mark: Watermark | None = await old.drain(self.rng.choice([0.0, 0.05, 5.0]))
        self.say(f"{self.owner} drained with {mark}")
        await old.stop()
        fate = self.rng.random()
        if fate < 0.1:
            mark = None
        elif fate < 0.25:
            mark, self.last_mark = self.last_mark, mark
        else:
            self.last_mark = mark
        await self.open(new_owner, new, mark)

    async def take_over(self) -> None:
        """The owner is gone in the middle of whatever it does."""
        assert self.shard is not None
        self.say(f"{self.owner} dies")
        await self.shard.stop()
        new_owner = self.rng.choice(MEMBERS)
        await self.open(new_owner, self.make_shard(new_owner), None)

    # -- faults -----------------------------------------------------------------------------------------------------

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        async def wait() -> None:
            await asyncio.sleep(seconds)
            act()

        task = asyncio.create_task(wait())
        self.healing.add(task)
        task.add_done_callback(self.healing.discard)

    async def lag(self) -> None:
        member, resource = self.rng.choice(MEMBERS), self.rng.choice([WEBSITES, CONFIGMAPS])
        seconds, pause = self.rng.choice([None, 0.0625, 0.5, 2.5]), 12.0 * self.rng.random() ** 2
        self.say(f"{member}'s watches of {resource} are {seconds or 'for ever'} late, for {pause:.3f} s")
        match = Match(member=member, resource=str(resource))
        hold = self.server.faults.inject(DelayEvents(match=match, seconds=seconds))
        self.later(pause, hold.release)

    async def lose_answers(self) -> None:
        times = self.rng.randrange(1, 4)
        verbs: tuple[Verb, ...] = self.rng.choice(LOST)
        self.say(f"{times} answers to {verbs} get lost")
        self.server.faults.inject(LostAck(match=Match(verbs=verbs), times=times))

    async def outage(self) -> None:
        wire, pause = self.wires[self.owner], 3.0 * self.rng.random() ** 2
        self.say(f"{self.owner} is cut off for {pause:.3f} s")
        wire.down = True
        wire.break_streams()

        def back() -> None:
            wire.down = False
            self.opened_at = now()

        self.later(pause, back)

    async def slow_network(self) -> None:
        wire = self.wires[self.rng.choice(MEMBERS)]
        wire.latency_seconds = self.rng.choice([0.0, 0.0, 0.02, 0.3])

    async def compact(self) -> None:
        self.say("the history is compacted, and all streams break")
        self.server.storage.compact()
        for wire in self.wires.values():
            wire.break_streams()

    async def restore(self) -> None:
        """A backup, some more of the walk, and the restore. What was written meanwhile has never been."""
        assert self.server.recorder is not None
        backup = self.server.storage.snapshot()
        self.say(f"a backup is made at {backup.version}")
        for _ in range(self.rng.randrange(1, 8)):
            await self.rng.choice([self.change_spec, self.recreate, self.meddle, self.lag, self.lose_answers])()
            await asyncio.sleep(self.rng.random() * 2.0)
        self.say(f"the server is restored from {self.server.storage.version} to {backup.version}")
        self.oracle.since = len(self.server.recorder.entries)
        self.server.storage.restore(backup)

    async def relist(self) -> None:
        assert self.shard is not None
        view = self.rng.choice(sorted(self.shard._views))
        self.say(f"{self.owner} lists {view} again")
        self.shard._views[view].informer.relist()

    # -- hands ------------------------------------------------------------------------------------------------------

    async def change_spec(self) -> None:
        name = self.rng.choice(SITES)
        patch = {"pages": self.rng.randrange(4), "text": str(self.rng.randrange(1000))}
        self.say(f"{name} shall be {patch}")
        await self.by_hand(self.kubectl.merge_patch(WEBSITES, "default", name, {"spec": patch}))

    async def recreate(self) -> None:
        name = self.rng.choice((*SITES, SLOW))
        self.say(f"{name} is deleted and created again")
        await self.by_hand(self.kubectl.delete(WEBSITES, "default", name))
        await asyncio.sleep(self.rng.choice([0.0, 0.0, 0.2]))
        self.create_site(name)

    async def meddle(self) -> None:
        """With a page: deletes it, changes it, or hides it from the view that is filtered by its label."""
        pages = [page for site in self.oracle.sites() for page in self.oracle.children(site["metadata"]["uid"])]
        if not pages:
            return
        page = self.rng.choice(pages)["metadata"]["name"]
        act = self.rng.choice(["delete", "delete", "deface", "hide"])
        self.say(f"hands {act} {page}")
        if act == "delete":
            await self.by_hand(self.kubectl.delete(CONFIGMAPS, "default", page))
        elif act == "deface":
            await self.by_hand(self.kubectl.merge_patch(CONFIGMAPS, "default", page, {"data": {"text": "!"}}))
        elif not page.startswith("page-"):
            hide = {"metadata": {"labels": {SLOT_LABEL: None}}}
            self.hidden.add(page)
            await self.by_hand(self.kubectl.merge_patch(CONFIGMAPS, "default", page, hide))

    async def by_hand(self, request: Awaitable[Any]) -> None:
        """A person's request: it may meet what others did meanwhile, and its answer may get lost."""
        try:
            await request
        except (ApiError, Unreachable) as error:
            self.say(f"hands: {error}")

    def create_site(self, name: str) -> None:
        mode = self.rng.choice(MODES)
        spec = {"pages": self.rng.randrange(4), "text": str(self.rng.randrange(1000)), "mode": mode}
        if self.oracle.truth(WEBSITES, name) is None:
            made = self.server.seed(WEBSITES, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
            self.oracle.lives[made["metadata"]["uid"]] = Life(now())

    # -- the walk ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Raises AssertionError with what went wrong."""
        for name in (*SITES, SLOW, BAD):
            self.create_site(name)
        await self.open("a", self.make_shard("a"), None)
        acts: list[Callable[[], Awaitable[None]]] = [self.lag, self.lag, self.lag, self.lose_answers]
        acts += [self.lose_answers, self.outage, self.slow_network, self.compact, self.relist, self.change_spec]
        acts += [self.change_spec, self.change_spec, self.recreate, self.meddle, self.meddle]
        acts += [self.hand_over, self.hand_over, self.take_over]
        until = now() + WALK_SECONDS
        restore_at = now() + WALK_SECONDS * self.rng.random() if self.restores else until
        while now() < until:
            if now() >= restore_at:
                restore_at = until
                await self.restore()
            await self.rng.choice(acts)()
            await asyncio.sleep(self.rng.choice([0.0, 0.1, 1.0, 3.0]) * self.rng.random())
            self.look()
        await self.heal()

    def look(self) -> None:
        """Nothing is broken, and nobody is stuck."""
        assert not self.oracle.broken, self.oracle.broken[0]
        if any(wire.down for wire in self.wires.values()):
            return
        for site in self.oracle.sites():
            life = self.oracle.lives[site["metadata"]["uid"]]
            idle = now() - max(life.started_at, self.opened_at)
            name = site["metadata"]["name"]
            longest = STUCK_SECONDS + (SILENCE_SECONDS if self.restores else 0.0)
            assert idle < longest or name == BAD, f"{name} was not reconciled for {idle:.1f} s"

    async def heal(self) -> None:
        self.say("nothing goes wrong any more")
        while self.healing:
            await asyncio.sleep(0.1)
        self.server.faults.clear()
        for wire in self.wires.values():
            wire.latency_seconds = 0.0
        # What is desired may be so at once after a restore, and not to those who have not noticed it yet.
        noticed = now() + (SILENCE_SECONDS if self.restores else 0.0)
        until = noticed + HEAL_SECONDS
        while ((wrong := self.oracle.undesired()) or now() < noticed) and now() < until:
            await asyncio.sleep(0.25)
            self.look()
        assert not wrong, wrong
        assert self.server.recorder is not None
        writes = len(self.oracle.writes())
        await asyncio.sleep(10.0)
        assert len(self.oracle.writes()) == writes, f"still writing: {self.oracle.writes()[writes:]}"
        if self.restores:
            return  # the judge goes by versions, which mean two things now
        verdict = judge(self.server.recorder.entries, [note for each in self.journals.values() for note in each.notes])
        made = Counter(
            (agent.uid, each.name)
            for each in self.server.recorder.entries
            if each.verb == "create" and each.succeeded and (agent := UserAgent.parse(each.user_agent)) is not None
        )
        assert max(made.values(), default=0) < CREATES_LIMIT, made.most_common(3)
        found = [each.what for each in verdict.findings if each.rule.startswith("duplicate")]
        # What a view cannot show is found by creating it again: the answer says so.
        found = [each for each in found if not any(f"/{page} was posted again" in each for page in self.hidden)]
        assert not found, found[0]
        broken = [each for each in verdict.broken_invariants if each.id != "I11"]
        assert not broken, broken[0].findings[0]

    async def close(self) -> None:
        for task in (*self.healing, self.garbage):
            task.cancel()
        if self.shard is not None:
            await self.shard.stop()
        self.server.close()


async def walk_along(seed: int, *, gate: bool = True, restores: bool = False) -> None:
    """Raises AssertionError with the history when a promise is broken."""
    walk = GateWalk(seed, gate=gate, restores=restores)
    try:
        await walk.run()
    except AssertionError as failure:
        raise AssertionError("\n".join([str(failure), *walk.oracle.log])) from failure
    finally:
        await walk.close()
