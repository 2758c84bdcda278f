"""What surrounds the processes of a simulated fleet, and what strikes there: the server, ways to it, people's hands."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections import Counter
from typing import Literal

from chaos.simulation.happenings import Happening
from chaos.simulation.protocol.hands import Hands
from chaos.simulation.protocol.network import Network
from chaos.simulation.protocol.node import FLEET
from chaos.simulation.protocol.server import Server
from chaos.simulation.protocol.wire import Wire
from chaos.simulation.stage import EditHow
from chaos.simulation.strikes import Record
from fleet.backends.local_store import LocalStore

BACKUP_SECONDS = 0.5
"""Between two backups that a restore can go back to."""

CONFIG = """\
fleet: {fleet}
controller: a:b
shards: {{count: {shards}}}
rebalance: {{churnPerRound: 1.0, cooldownSeconds: 1}}
"""


class Surroundings:
    """The part of `chaos.simulation.stage.Stage` that is not about processes. hits: see there."""

    def __init__(self, network: Network, seed: int, replicas: int) -> None:
        self.network = network
        self.hits: Counter[str] = Counter()
        self.server = Server(network, replicas, self._hear)
        self._hands = Hands(self.server.store, self.hits)
        self._wires: dict[str, Wire] = {}
        self._wire_seed = seed
        network.at(BACKUP_SECONDS, self._back_up)

    @abstractmethod
    def _hear(self, happening: Happening) -> None: ...

    @property
    def store(self) -> LocalStore:
        """The newest truth."""
        return self.server.store

    def _back_up(self) -> None:
        self.server.backup()
        self.network.at(self.network.now + BACKUP_SECONDS, self._back_up)

    def _wire(self, name: str) -> Wire:
        wire = self._wires.get(name)
        if wire is None:
            rng = random.Random(f"{self._wire_seed} wire {name}")
            wire = self._wires[name] = Wire(name, self.network, self.server, rng, self.hits)
        return wire

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

    def refuse(self, process: str, *, shard_writes: bool, object_lists: bool) -> None:
        wire = self._wire(process)
        wire.refuses_shard_writes, wire.refuses_object_lists = shard_writes, object_lists

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
