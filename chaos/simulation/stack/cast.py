"""Who plays: the processes of workers and agents, and the supervisors that start them again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from chaos.simulation.loop import SimulationLoop
from chaos.simulation.process import Process
from chaos.simulation.stack.members import Setting, Supervision, coordinator_of, run_agent, run_worker, worker_of
from chaos.simulation.stack.network import Network
from chaos.simulation.stack.wire import Wire
from fleet.office.coordinator import Coordinator
from fleet.workers.worker import Worker
from shards.journal import Journal

BACK_SECONDS = (0.1, 0.5)
"""Until a supervisor has started a process again that died by itself."""

How = Literal["started", "crashed", "paused", "resumed", "leaving", "left", "died"]


@dataclass
class Player:
    """One process. stop: SIGTERM. told: who is told when it has ended in order."""

    process: Process
    main: asyncio.Task[None]
    stop: asyncio.Event
    worker: Worker | None = None
    coordinator: Coordinator | None = None
    paused: bool = False
    told: list[Callable[[], None]] = field(default_factory=list)


class Cast:
    """players: those that are alive, paused ones too, by name, in order of their starts."""

    def __init__(
        self,
        loop: SimulationLoop,
        network: Network,
        setting: Setting,
        journal_of: Callable[[Process], Journal],
        lived: Callable[[str, How], None],
        *,
        seed: int,
    ) -> None:
        self.players: dict[str, Player] = {}
        self.rates: dict[str, float] = {}
        """Of clocks, by name; 1 where there is none."""
        self.over = False
        """Nobody is started any more."""
        self._loop = loop
        self._network = network
        self._setting = setting
        self._journal_of = journal_of
        self._lived = lived
        self._seed = seed
        self._rng = random.Random(f"{seed} supervisors")
        self._counts: dict[str, int] = {}
        self._pods: dict[str, int] = {}

    @property
    def workers(self) -> dict[str, Worker]:
        return {name: each.worker for name, each in self.players.items() if each.worker is not None}

    # -- starts --------------------------------------------------------------------------------------------------------

    def start(self, name: str, *, reaped: bool) -> None:
        if name in self.players or self.over:
            return
        if not reaped:
            self._pods[name] = self._pods.get(name, 0) + 1
        count = self._counts[name] = self._counts.get(name, 0) + 1
        process = Process(name, count, self._loop, random.Random(f"{self._seed} {name}/{count}"))
        if name in self.rates:
            process.run_at(self.rates[name])
        wire = Wire(self._network, process, self._stream(process, "wire"))
        die = partial(self._died, process)
        supervision = Supervision(f"supervisor-{self._pods.get(name, 1)}-of-{name}", count, reaped, lambda code: die())
        agent = name.startswith("agent")
        self.players[name] = (self._agent if agent else self._worker)(process, wire, supervision)
        self._lived(process.label, "started")

    def _worker(self, process: Process, wire: Wire, supervision: Supervision) -> Player:
        journal = self._journal_of(process)
        rng = partial(self._stream, process)
        worker, events = worker_of(self._setting, process, wire, journal, supervision, rng)
        stop = asyncio.Event()
        main = process.spawn(run_worker(worker, events, journal, stop), name=f"main of {process.label}")
        player = Player(process, main, stop, worker=worker)
        main.add_done_callback(lambda _: self._ended(player))
        return player

    def _agent(self, process: Process, wire: Wire, supervision: Supervision) -> Player:
        rng = partial(self._stream, process)
        coordinator, events, lookout = coordinator_of(self._setting, process, wire, supervision, rng)
        stop = asyncio.Event()
        main = process.spawn(run_agent(coordinator, events, lookout, stop), name=f"main of {process.label}")
        player = Player(process, main, stop, coordinator=coordinator)
        main.add_done_callback(lambda _: self._ended(player))
        return player

    def _stream(self, process: Process, what: str) -> random.Random:
        return random.Random(f"{self._seed} {process.label} {what}")

    # -- ends ----------------------------------------------------------------------------------------------------------

    def crash(self, name: str) -> bool:
        """Whether there was one."""
        player = self.players.get(name)
        if player is None:
            return False
        self._gone(player)
        self._lived(player.process.label, "crashed")
        return True

    def leave(self, name: str, told: Callable[[], None]) -> None:
        player = self.players.get(name)
        if player is None:
            return
        player.told.append(told)
        if not player.stop.is_set():
            self._lived(player.process.label, "leaving")
            # The signal is handled when the process runs.
            player.process.spawn(_set(player.stop), name=f"SIGTERM of {player.process.label}")

    def _gone(self, player: Player) -> None:
        player.process.kill()
        del self.players[player.process.name]
        self._network.forget(player.process.label)

    def _died(self, process: Process) -> None:
        player = self.players.get(process.name)
        if player is None or player.process is not process:
            return
        self._gone(player)
        self._lived(process.label, "died")
        self._again(player)

    def _ended(self, player: Player) -> None:
        """Its main task has: in order, or because of a fault."""
        if not player.process.alive or self.over:
            return
        error = None if player.main.cancelled() else player.main.exception()
        in_order = player.stop.is_set() and error is None
        self._gone(player)
        self._lived(player.process.label, "left" if in_order else "died")
        if in_order:
            for each in player.told:
                each()
        else:
            self._again(player)

    def _again(self, player: Player) -> None:
        """By its supervisor; one that was told to leave has left, however that came."""
        if player.stop.is_set():
            for each in player.told:
                each()
            return
        first, last = BACK_SECONDS
        seconds = first + (last - first) * self._rng.random()
        self._loop.at(self._loop.now + seconds, partial(self.start, player.process.name, reaped=True))


async def _set(event: asyncio.Event) -> None:
    event.set()
