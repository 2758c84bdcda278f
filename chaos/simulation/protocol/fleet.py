"""A simulated fleet of the protocol depth: the cast and its server, as a stage for strikes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Literal

from chaos.simulation.happenings import Changed, Closed, Happening, Lived, Opened, Written
from chaos.simulation.loop import SimulationLoop
from chaos.simulation.plan import Shape, said_name
from chaos.simulation.process import Process
from chaos.simulation.protocol.network import Network
from chaos.simulation.protocol.node import Birth, Node
from chaos.simulation.protocol.server import Thing
from chaos.simulation.protocol.surroundings import Surroundings
from chaos.simulation.trouble import Trouble
from fleet.records.record import Incarnation
from shards.keyrange import KeyRange, fnv1a64

BACK_SECONDS = 0.1
"""After which a supervisor has started a process again that ended by itself."""

LOOKOUT_EVERY = 4
"""Histories of which one has lookouts: they change nothing, and cost a tenth of the time."""


class ProtocolFleet(Surroundings):
    """See `chaos.simulation.stage.Stage`. Nobody runs at first. hear: the jury, the trace.

    now: true seconds since the start. nodes: of the processes that live, by name.
    """

    def __init__(self, shape: Shape, seed: int, *, hear: Callable[[Happening], None] = lambda happening: None) -> None:
        self.shape = shape
        self.loop = SimulationLoop(random.Random(f"{seed} order"), on_trouble=self._trouble)
        super().__init__(Network(self.loop), seed, shape.replicas)
        self.troubles: list[Trouble] = []
        self.nodes: dict[str, Node] = {}
        self._seed = seed
        self._heard = hear
        self._open: dict[tuple[str, KeyRange, int], Opened] = {}
        self._starts: Counter[str] = Counter()
        self._supervisors: Counter[str] = Counter()
        self._rates: dict[str, float] = {}
        self._left: dict[str, Callable[[], None]] = {}

    @property
    def now(self) -> float:
        return self.loop.now

    # -- what happens -----------------------------------------------------------------------------------------------

    def _hear(self, happening: Happening) -> None:
        if isinstance(happening, Opened):
            self._open[happening.process, happening.range, happening.epoch] = happening
        elif isinstance(happening, Closed):
            self._open.pop((happening.process, happening.range, happening.epoch), None)
        elif isinstance(happening, Written):
            self._hands.saw(happening)
        self._heard(happening)

    def _trouble(self, trouble: Trouble) -> None:
        """What nobody caught: an error of the model ends the history as what it is."""
        self.troubles.append(trouble)
        self.loop.stop()

    def check(self) -> None:
        """Raises what went wrong in the model, or was caught by nobody in a process that lives."""
        for trouble in self.troubles:
            raise RuntimeError(f"{trouble.at:.3f} {trouble.what}") from trouble.error

    def populate(self) -> None:
        """Creates the objects."""
        rng = random.Random(f"{self._seed} objects")
        for _ in range(self.shape.objects):
            uid = f"{rng.getrandbits(64):016x}"
            stored = self.server.put_thing(Thing(uid, fnv1a64(uid), 0, 1, 0))
            self._hear(Changed(self.now, stored.hash, stored.version))

    def touch(self, index: int) -> None:
        """Somebody changes an object: its owner is to act on it."""
        thing = list(self.server.things.values())[index]
        stored = self.server.put_thing(thing._replace(generation=thing.generation + 1))
        self._hear(Changed(self.now, stored.hash, stored.version))

    def advance(self, seconds: float) -> None:
        """So many true seconds pass. Raises what went wrong in the model."""
        self.loop.run_until(self.now + seconds)
        if self.troubles:
            self.check()

    def advance_until(self, question: Callable[[], bool], at_most_seconds: float, step_seconds: float = 0.05) -> bool:
        """Until that is so, asked every step; whether it is."""
        until = self.now + at_most_seconds
        while not question():
            if self.now >= until:
                return False
            self.advance(step_seconds)
        return True

    def acting(self) -> list[tuple[KeyRange, str, int]]:
        """Range, process and shard epoch of all that reconciles, and whose deadline has not passed."""
        found = [(each.range, each.process, each.epoch) for each in self._open.values() if each.deadline() > self.now]
        return sorted(found)

    def _inside(self) -> AbstractContextManager[None]:
        return nullcontext() if self.loop.is_running() else self.loop.entered()

    def close(self) -> None:
        """The end of the history."""
        self._heard = lambda happening: None
        with self._inside():  # the last words of tasks ask for a running loop
            for node in self.nodes.values():
                node.process.kill()
        self.loop.close()

    # -- processes --------------------------------------------------------------------------------------------------

    def start(self, process: str, reaped: bool = False) -> None:
        if process in self.nodes:
            return
        self._starts[process] += 1
        count = self._starts[process]
        rng = random.Random(f"{self._seed} {process}/{count}")
        made = Process(process, count, self.loop, rng)
        made.run_at(self._rates.get(process, 1.0))
        birth = Birth(
            member=said_name(process),
            incarnation=Incarnation(self._supervisor(process, reaped=reaped), count),
            reaped=reaped,
            shards=self.shape.shards,
            lease_seconds=self.shape.lease_seconds,
            looks_out=self._seed % LOOKOUT_EVERY == 0,
            standby_deadline_seconds=self.shape.standby_deadline_seconds,
        )
        self._hear(Lived(self.now, made.label, "started"))
        with self._inside():
            self.nodes[process] = Node(
                made,
                self._wire(process),
                birth,
                rng,
                hear=self._hear,
                die=partial(self._died, process, made),
                ended=partial(self._ended, process, made),
                neighbours=partial(self._statuses, process),
            )

    def _supervisor(self, process: str, *, reaped: bool) -> str:
        """Who has not seen the last process die is another supervisor."""
        if not reaped:
            self._supervisors[process] += 1
        return f"pod-{process}-{self._supervisors[process]}"

    def _statuses(self, agent: str) -> list[dict[str, Any]]:
        """Of the workers in the pod of an agent that can answer. Pods have every so-manieth worker, in order."""
        agents = self.shape.agent_names
        if agent not in agents:
            return []
        mine = self.shape.worker_names[agents.index(agent) :: len(agents)]
        nodes = [self.nodes[name] for name in mine if name in self.nodes]
        return [each.worker.status() for each in nodes if each.worker is not None and not each.process.paused]

    def _end(self, name: str, how: Literal["crashed", "left", "died"]) -> None:
        node = self.nodes.pop(name)
        process = node.process
        with self._inside():
            process.kill()
        node.wire.forget(process)
        self._hear(Lived(self.now, process.label, how))
        for each in [each for each in self._open.values() if each.process == process.label]:
            self._hear(Closed(self.now, each.process, each.range, each.epoch))

    def _died(self, name: str, process: Process) -> None:
        """`os._exit`, from within."""
        if name in self.nodes and self.nodes[name].process is process:
            self._end(name, "died")
            left = self._left.pop(name, None)
            if left is not None:
                left()
            else:
                self.network.at(self.now + BACK_SECONDS, partial(self.start, name, reaped=True))

    def _ended(self, name: str, process: Process, error: BaseException | None) -> None:
        node = self.nodes.get(name)
        if node is None or node.process is not process:
            return
        if error is not None or not node.leaving:
            self._died(name, process)
            return
        self._end(name, "left")
        self._left.pop(name, lambda: None)()

    def crash(self, process: str, crashed: Callable[[], None], *, after_write: bool) -> None:
        if process not in self.nodes:
            return
        if after_write:
            self._wire(process).wrote = partial(self.crash, process, crashed, after_write=False)
            return
        self.hits["crash"] += 1
        self._left.pop(process, None)
        self._end(process, "crashed")
        crashed()

    def leave(self, process: str, left: Callable[[], None]) -> None:
        node = self.nodes.get(process)
        if node is None or node.leaving:
            return
        self.hits["leave"] += 1
        self._left[process] = left
        self._hear(Lived(self.now, node.process.label, "leaving"))
        with self._inside():
            node.leave()

    def pause(self, process: str) -> None:
        node = self.nodes.get(process)
        if node is not None and not node.process.paused:
            self.hits["pause"] += 1
            node.process.pause()
            self._hear(Lived(self.now, node.process.label, "paused"))

    def resume(self, process: str) -> None:
        node = self.nodes.get(process)
        if node is not None and node.process.paused:
            node.process.resume()
            self._hear(Lived(self.now, node.process.label, "resumed"))

    def run_at(self, process: str, rate: float) -> None:
        self._rates[process] = rate
        if process in self.nodes:
            self.hits["clock-rate"] += 1
            self.nodes[process].process.run_at(rate)
