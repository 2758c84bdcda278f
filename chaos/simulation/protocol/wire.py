"""A node's way to the server and back, for requests and for watches.

A request is the network's from the moment at which it is sent: it travels on, whether its sender waits, is paused or is
dead. What cannot get through now is sent again until it does or its sender gives up, as TCP does it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from chaos.simulation.process import Process
from chaos.simulation.protocol.network import Network
from chaos.simulation.protocol.request import Done, Request
from chaos.simulation.protocol.server import Server
from shards.errors import Unreachable

LANDS_AFTER_BROWN_OUT = 0.25
"""Part of the requests whose senders have given them up meanwhile that a server has taken all the same, and carries
out when it answers again. Those that somebody still waits for it carries out in any case."""


class OpenStream(Protocol):
    """A watch, as its wire sees it."""

    author: Process

    @property
    def misses_events(self) -> bool: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def break_off(self, gone: bool = False) -> None: ...


class Wire:
    """One node's. Its processes come and go. Times are true ones.

    usual_seconds: most of what each way takes. extra_seconds: up to so much longer. silent: watches say nothing.
    lost_answers, lost_requests, late: how many of the next writes.
    refuses_shard_writes, refuses_object_lists: the server does, of whoever is there.
    """

    def __init__(self, name: str, network: Network, server: Server, rng: random.Random, hits: Counter[str]) -> None:
        self.name = name
        self.server = server
        self.network = network
        self.rng = rng
        self.hits = hits
        self.usual_seconds = 0.002 + 0.01 * rng.random()
        self.extra_seconds = 0.0
        self.to_server = self.to_client = True
        self.silent = False
        self.lost_answers = self.lost_requests = self.late = 0
        self.late_seconds = 0.0
        self.drops = self.truncations = 0
        self.refuses_shard_writes = self.refuses_object_lists = False
        self.healed = False
        self.wrote: Callable[[], None] | None = None
        """Called once after the next write that is accepted, before its answer travels."""
        self.streams: list[OpenStream] = []
        self._out: list[Request] = []
        self._back: list[tuple[Request, Any, Exception | None]] = []
        self._landing: list[Request] = []
        self._queued: list[Request] = []
        """They came while the server answered nobody."""

    def latency(self) -> float:
        drawn = self.rng.random()
        seconds = 20 * drawn if drawn < 0.015 else self.usual_seconds * (0.5 + drawn)
        if not self.extra_seconds:
            return seconds
        self.hits["slow"] += 1
        return seconds + self.extra_seconds * self.rng.random()

    # -- requests ---------------------------------------------------------------------------------------------------

    def send(
        self,
        act: Callable[[], Any],
        done: Done,
        author: Process,
        *,
        write: bool,
        seconds: float,
        direct: bool = False,
    ) -> Request:
        """From the sender's process. act: what the server does. done: is called in the sender's process, once.

        seconds: how long the sender waits, by its clock.
        """
        now = self.network.now
        request = Request(
            act, done, author, write=write, direct=direct, sent_at=now, history=self.server.history, seconds=seconds
        )
        if author.dead:  # what its last words would send
            return request
        if write and self.lost_requests:
            self.lost_requests -= 1
            self.hits["lost-requests"] += 1
            self._break_off(request)
        elif write and self.late:
            self.late -= 1
            self.hits["late-landing"] += 1
            self._break_off(request)
            request.late = True
            self._landing.append(request)
            self.network.at(now + self.late_seconds, self._land, request)
        elif not self.to_server:
            self.hits["partition"] += 1
            self._hold(request)
        else:
            self._travel(request, self._arrive, request)
        return request

    def _travel(self, request: Request, arrive: Callable[..., None], *args: Any) -> None:
        due = self.network.now + self.latency()
        if due >= request.author.clock.to_true(request.give_up_at):
            self._arm(request)
        self.network.at(due, arrive, *args)

    def _arm(self, request: Request) -> None:
        """It may take longer than its sender waits. (Timers cost, and hardly any of them ever goes off.)"""
        if not request.over and request.timer is None and not request.author.dead:
            request.timer = self.network.on_clock(request.context, request.give_up_at, request.run_out)

    def _hold(self, request: Request) -> None:
        self._out.append(request)
        self._arm(request)

    def _break_off(self, request: Request) -> None:
        error = Unreachable("the connection broke", maybe_applied=request.write)
        self.network.at(self.network.now + self.latency(), self._hand_over, request, None, error)

    def _land(self, request: Request) -> None:
        if request in self._landing:
            self._landing.remove(request)
            self._carry_out(request)

    def _arrive(self, request: Request) -> None:
        if not self.to_server:
            self._hold(request)
        elif self.server.brown_out:
            self.hits["brown-out"] += 1
            self._arm(request)
            self._queued.append(request)
        else:
            self._carry_out(request)

    def _carry_out(self, request: Request) -> None:
        if request.history != self.server.history:
            self._break_off(request)
            return
        answer, error = None, None
        request.late = request.late or request.gone
        try:
            answer = self.server.carry_out(request)
        except Exception as raised:  # what the server answers
            error = raised
        if request.write and error is None and self.wrote is not None:
            wrote, self.wrote = self.wrote, None
            wrote()
        if request.over:
            return
        if request.write and self.lost_answers:
            self.lost_answers -= 1
            self.hits["lost-answers"] += 1
            self._break_off(request)
        else:
            self._travel(request, self._answer, request, answer, error)

    def _answer(self, request: Request, answer: Any, error: Exception | None) -> None:
        if self.to_client:
            self._hand_over(request, answer, error)
        else:
            self.hits["partition"] += 1
            self._back.append((request, answer, error))
            self._arm(request)

    def _hand_over(self, request: Request, answer: Any, error: Exception | None) -> None:
        if request.direct and not request.author.shut:
            request.end(answer, error)
        else:
            self.network.hand_over(request.context, request.end_late, answer, error, self.rng)

    # -- what is in force -------------------------------------------------------------------------------------------

    def set(self, *, to_server: bool, to_client: bool, extra_seconds: float) -> None:
        self.to_server, self.to_client, self.extra_seconds = to_server, to_client, extra_seconds
        now = self.network.now
        if to_server:
            out, self._out = self._out, []
            for request in out:
                if not request.gone:
                    self.network.at(now + 0.4 * self.rng.random(), self._arrive, request)
        if to_client:
            back, self._back = self._back, []
            for answered in back:
                self.network.at(now + 0.4 * self.rng.random(), self._answer, *answered)
            self.flush()

    @property
    def muted(self) -> bool:
        return self.silent or not self.to_client or self.server.brown_out

    def flush(self) -> None:
        """Watches may say what they had to keep to themselves."""
        if not self.muted:
            for stream in tuple(self.streams):
                stream.flush()

    def server_is_back(self) -> None:
        """After a brown-out: it goes on with what had come."""
        queued, self._queued = self._queued, []
        for request in queued:
            if request.over:
                if self.rng.random() >= LANDS_AFTER_BROWN_OUT:
                    continue
                request.late = True
            self.network.at(self.network.now + 0.2 * self.rng.random(), self._carry_out, request)
        self.flush()

    def disarm(self) -> None:
        """Nothing that was ordered for later goes wrong any more; what is held lands."""
        self.lost_answers = self.lost_requests = self.late = self.drops = self.truncations = 0
        self.wrote, self.healed = None, True
        for stream in tuple(self.streams):
            if stream.misses_events:
                stream.break_off(gone=True)
        landing, self._landing = self._landing, []
        for request in landing:
            self._carry_out(request)

    def forget(self, author: Process) -> None:
        """That process is dead: its connections are closed, and what did not leave the node never will."""
        self._out = [each for each in self._out if each.author is not author]
        for stream in tuple(self.streams):
            if stream.author is author:
                stream.close()
