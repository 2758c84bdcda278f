"""One server, one way to it and one process, without a fleet."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chaos.simulation.happenings import Happening
from chaos.simulation.loop import SimulationLoop
from chaos.simulation.process import Process
from chaos.simulation.protocol.network import Network
from chaos.simulation.protocol.request import Request
from chaos.simulation.protocol.server import Server
from chaos.simulation.protocol.wire import Wire
from fleet.backends.local_store import LocalStore


class Bench:
    """heard: what the server told. answers: of requests that `send` sent, in order of their arrival."""

    def __init__(self, *, replicas: int = 1) -> None:
        self.loop = SimulationLoop(random.Random(1))
        self.network = Network(self.loop)
        self.heard: list[Happening] = []
        self.server = Server(self.network, replicas, self.heard.append)
        self.hits: Counter[str] = Counter()
        self.wire = Wire("a", self.network, self.server, random.Random(1), self.hits)
        self.process = Process("a", 1, self.loop, random.Random(1))
        self.answers: list[Any] = []
        self.count = 0

    @property
    def store(self) -> LocalStore:
        return self.server.store

    def advance(self, seconds: float) -> None:
        self.loop.run_until(self.loop.now + seconds)
        assert self.loop.troubles == []

    def send(self, *, write: bool = True, seconds: float = 1.0) -> Request:
        """A write that counts."""

        def act() -> int:
            self.count += 1
            return self.count

        def done(answer: int | None, error: Exception | None) -> None:
            self.answers.append(error if error is not None else answer)

        with self.loop.entered():
            return self.process.call(self.wire.send, act, done, self.process, write=write, seconds=seconds)


@contextmanager
def bench(*, replicas: int = 1) -> Iterator[Bench]:
    made = Bench(replicas=replicas)
    try:
        yield made
    finally:
        made.loop.close()
