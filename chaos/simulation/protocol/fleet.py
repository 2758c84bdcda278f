"""A simulated fleet of the protocol depth: the cast and its server, as a stage for strikes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Literal

from chaos.simulation.happenings import Changed, Closed, Happening, Lived, Opened, Written
from chaos.simulation.loop import SimulationLoop
from chaos.simulation.plan import Shape
from chaos.simulation.process import Process
from chaos.simulation.protocol.hands import Hands
from chaos.simulation.protocol.network import Network
from chaos.simulation.protocol.node import FLEET, Birth, Node
from chaos.simulation.protocol.server import Server, Thing
from chaos.simulation.protocol.wire import Wire
from chaos.simulation.stage import EditHow
from chaos.simulation.strikes import Record
from chaos.simulation.trouble import Trouble
from fleet.backends.local_store import LocalStore
from fleet.records.object_names import Kind
from fleet.records.record import Incarnation, StoredMap
from shards.keyrange import KeyRange, fnv1a64

BACK_SECONDS = 0.1
"""After which a supervisor has started a process again that ended by itself."""

BACKUP_SECONDS = 0.5

CONFIG = """\
fleet: {fleet}
controller: a:b
shards: {{count: {shards}}}
rebalance: {{churnPerRound: 1.0, cooldownSeconds: 1}}
"""


class ProtocolFleet:
    """See `chaos.simulation.stage.Stage`. Nobody runs at first. hear: the jury, the trace. hits: see Stage.

    now: true seconds since the start. nodes: of the processes that live, by name.
    """

    def __init__(self, shape: Shape, seed: int, *, hear: Callable[[Happening], None] = lambda happening: None) -> None:
        self.shape = shape
        self.hits: Counter[str] = Counter()
        self.loop = SimulationLoop(random.Random(f"{seed} order"), on_trouble=self._trouble)
        self.troubles: list[Trouble] = []
        self.network = Network(self.loop)
        self.nodes: dict[str, Node] = {}
        self._seed = seed
        self._heard = hear
        self._open: dict[tuple[str, KeyRange, int], Opened] = {}
        self._starts: Counter[str] = Counter()
        self._supervisors: Counter[str] = Counter()
        self._wires: dict[str, Wire] = {}
        self._rates: dict[str, float] = {}
        self._left: dict[str, Callable[[], None]] = {}
        self.server = Server(self.network, shape.replicas, self._hear)
        self._hands = Hands(self.server.store, self.hits)
        self._backing_up = True
        self.network.at(BACKUP_SECONDS, self._back_up)

    @property
    def now(self) -> float:
        return self.loop.now

    @property
    def store(self) -> LocalStore:
        """The newest truth."""
        return self.server.store

    # -- what happens -----------------------------------------------------------------------------------------------

    def _hear(self, happening: Happening) -> None:
        if isinstance(happening, Opened):
            self._open[happening.process, happening.range, happening.epoch] = happening
        elif isinstance(happening, Closed):
            self._open.pop((happening.process, happening.range, happening.epoch), None)
        elif isinstance(happening, Written) and happening.kind is Kind.MAP and isinstance(happening.after, StoredMap):
            self._hands.saw(happening.after)
        self._heard(happening)

    def _trouble(self, trouble: Trouble) -> None:
        """What nobody caught: an error of the model ends the history as what it is."""
        self.troubles.append(trouble)

    def check(self) -> None:
        """Raises what went wrong in the model, or was caught by nobody in a process that lives."""
        for trouble in self.troubles:
            raise RuntimeError(f"{trouble.at:.3f} {trouble.what}") from trouble.error

    def _back_up(self) -> None:
        if self._backing_up:
            self.server.backup()
            self.network.at(self.now + BACKUP_SECONDS, self._back_up)

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

    def _wire(self, name: str) -> Wire:
        wire = self._wires.get(name)
        if wire is None:
            rng = random.Random(f"{self._seed} wire {name}")
            wire = self._wires[name] = Wire(name, self.network, self.server, rng, self.hits)
        return wire

    def start(self, process: str, reaped: bool = False) -> None:
        if process in self.nodes:
            return
        self._starts[process] += 1
        count = self._starts[process]
        rng = random.Random(f"{self._seed} {process}/{count}")
        made = Process(process, count, self.loop, rng)
        made.run_at(self._rates.get(process, 1.0))
        birth = Birth(
            member=process.removesuffix("-twin"),
            incarnation=Incarnation(self._supervisor(process, reaped=reaped), count),
            reaped=reaped,
            shards=self.shape.shards,
            lease_seconds=self.shape.lease_seconds,
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
            )

    def _supervisor(self, process: str, *, reaped: bool) -> str:
        """Who has not seen the last process die is another supervisor."""
        if not reaped:
            self._supervisors[process] += 1
        return f"pod-{process}-{self._supervisors[process]}"

    def _end(self, name: str, how: Literal["crashed", "left", "died"]) -> None:
        node = self.nodes.pop(name)
        process = node.process
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

    # -- the way to the server --------------------------------------------------------------------------------------

    def wire(self, process: str, *, to_server: bool, to_client: bool, latency_seconds: float) -> None:
        self._wire(process).set(to_server=to_server, to_client=to_client, extra_seconds=latency_seconds)

    def lose_answers(self, process: str, times: int) -> None:
        self._wire(process).lost_answers += times

    def lose_requests(self, process: str, times: int) -> None:
        self._wire(process).lost_requests += times

    def land_late(self, process: str, late_seconds: float, times: int) -> None:
        wire = self._wire(process)
        wire.late += times
        wire.late_seconds = late_seconds

    def brown_out(self, on: bool) -> None:
        self.server.brown_out = on
        if not on:
            for wire in self._wires.values():
                wire.server_is_back()

    # -- what is read -----------------------------------------------------------------------------------------------

    def lag(self, replica: int, seconds: float | None) -> None:
        if replica < len(self.server.front_ends):
            self.hits["stale-replica"] += 1
            self.server.front_ends[replica].lag(seconds)

    def silence(self, process: str, on: bool) -> None:
        wire = self._wire(process)
        wire.silent = on
        wire.flush()

    def cut_watches(self, process: str, *, gone: bool) -> None:
        for stream in tuple(self._wire(process).streams):
            self.hits["cut-watch"] += 1
            stream.break_off(gone)

    def drop_events(self, process: str, times: int) -> None:
        self._wire(process).drops += times

    def truncate_lists(self, process: str, times: int) -> None:
        self._wire(process).truncations += times

    # -- hands ------------------------------------------------------------------------------------------------------

    def delete(self, record: Record, index: int) -> None:
        self._hands.delete(record, index)

    def steal(self, record: Literal["member", "shard", "coordinator"], index: int, holder: str) -> None:
        self._hands.steal(record, index, holder)

    def edit(self, record: Record, index: int, how: EditHow) -> None:
        self._hands.edit(record, index, how)

    def restore(self, back_seconds: float) -> None:
        self.hits["restore"] += 1
        self.server.restore(back_seconds)

    def reshard(self, shards: int) -> None:
        self._hands.reshard(CONFIG.format(fleet=FLEET, shards=shards))

    def disarm(self) -> None:
        for wire in self._wires.values():
            wire.disarm()
