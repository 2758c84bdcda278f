"""Faults between a door and what answers: an embedded server, or a proxy's upstream."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator

from fleet.devcluster.faults import refusals
from fleet.devcluster.faults.inforce import InForce, Witness, loop_seconds
from fleet.devcluster.faults.injection import Injection
from fleet.devcluster.faults.losses import Lose, Loss, lost_by
from fleet.devcluster.faults.match import Asked, version_in
from fleet.devcluster.faults.memberclock import MemberClocks
from fleet.devcluster.faults.reach import BODIES, EACH_EVENT, touches
from fleet.devcluster.faults.replicas import Forward, Replicas
from fleet.devcluster.faults.stream import FaultyStream, WholeBody
from fleet.devcluster.faults.words import (
    Cut,
    DelayAnswers,
    DropEvents,
    ExpireWatch,
    LateLanding,
    LostAck,
    Partition,
    Refuse,
    Reset,
    Silence,
    Slice,
    StaleReplica,
    TooLarge,
    TruncateList,
    Unreachable,
    Word,
)
from fleet.devcluster.wire.answers import Answer, ConnectionLost
from fleet.devcluster.wire.requests import Request
from shards.clock import Clock


class ConnectionRefused(ConnectionLost):
    """There was no connection: the client knows that nothing was carried out."""


class Faults:
    """What is in force at one door. Used on one event loop.

    replicas: the front ends that a client can be moved to. on_change: called when a fault comes or goes, or when its
    time begins or is over. lose: the watch cache's, where there is one of ours.
    """

    def __init__(self, rng: random.Random | None = None, witness: Witness | None = None) -> None:
        """rng: for faults with a probability. witness: is told of what they do."""
        self.replicas = Replicas()
        self.on_change: list[Callable[[], None]] = []
        self.lose: Lose | None = None
        self._losses: dict[int, Loss] = {}
        self._present = InForce(rng or random.Random(), self._changed)
        self._present.witness = witness
        self._streams: dict[FaultyStream, None] = {}
        """In the order in which they were opened, which is the order in which faults strike them."""
        self._landings: dict[asyncio.TimerHandle, tuple[Injection, Callable[[], None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.clocks = MemberClocks()

    def __iter__(self) -> Iterator[Injection]:
        """What was injected and not released, in that order."""
        return iter(self._present)

    @property
    def refuses_all(self) -> bool:
        """Whether nobody gets a connection: a door does not listen then."""
        kinds = [each for each in self if isinstance(each.fault, Unreachable) and each.fault.strikes_all]
        return any(each.lasts(loop_seconds()) for each in kinds)

    # ------------------------------------------------------------------ putting in force, and healing

    @property
    def routes(self) -> dict[str, Forward]:
        """The front ends that a client can be moved to, by name."""
        return self.replicas.routes

    def check(self, fault: Word) -> None:
        """Whether it can be put in force here. Raises ConfigError."""
        if isinstance(fault, StaleReplica):
            self.replicas.check(fault)

    def inject(self, fault: Word) -> Injection:
        """Puts a fault in force: for open streams at once, for requests from the next one on. Raises ConfigError."""
        self.check(fault)
        injection = self._present.add(fault, self.release)
        if isinstance(fault, DropEvents) and self.lose is not None:
            self._losses[injection.id] = self.lose(lost_by(injection, fault, self._present.rng))
        return injection

    def release(self, injection: Injection) -> None:
        """Ends a fault. What it held back arrives now, in order; what was to land late lands now. Idempotent."""
        if injection.released:
            return
        for timer, (cause, land) in tuple(self._landings.items()):
            if cause is injection:
                timer.cancel()
                land()
        loss = self._losses.pop(injection.id, None)
        if loss is not None:
            loss.end()
        self._present.remove(injection)

    def clear(self) -> None:
        """Ends all faults."""
        for injection in self:
            self.release(injection)

    def clock(self, member: str, true: Clock, *, monotonic: bool = True) -> Clock:
        """A member's clock: the true one, as the `clock` faults in force make it run. monotonic: it never goes back."""
        made = self.clocks.make(member, true, monotonic=monotonic)
        self.clocks.follow(self, loop_seconds())
        return made

    # ------------------------------------------------------------------ requests

    async def carry(self, request: Request, forward: Forward) -> Answer:
        """The answer that the client gets. Raises ConnectionLost where it gets none."""
        if self._present.injections:
            return await self._carry(Asked(request), forward)
        answer = await forward(request)
        if answer.stream is not None:
            answer.stream = self._wrap(Asked(request), answer)
        elif self._present.injections:  # injected meanwhile
            return await self._on_the_way_back(Asked(request), answer)
        return answer

    async def _carry(self, asked: Asked, forward: Forward) -> Answer:
        present, request = self._present, asked.request
        await self._while_held(asked, "to_server")
        if refused := present.strike(Unreachable, asked):
            present.tell("refused", refused, request)
            raise ConnectionRefused("the connection was refused")
        if reset := present.strike(Reset, asked):
            present.tell("refused", reset, request)
            raise ConnectionLost("the connection was reset")
        for move, replica in present.striking(StaleReplica, asked):
            forward = self.replicas.of(move, replica)
            break
        for late, fault in present.striking(LateLanding, asked):
            self._land_later(late, fault, request, forward)
            raise ConnectionLost("the connection was reset")
        answer = self._refused(asked) or await forward(request)
        if refuse := present.strike(Refuse, asked, lambda fault: fault.carried_out):
            present.tell("lost", refuse, request)
            _drop(answer)
            answer = refusals.refusal(refuse, asked)
        return await self._on_the_way_back(asked, answer)

    def _refused(self, asked: Asked) -> Answer | None:
        """The answer of a fault that keeps the request from the server."""
        if refuse := self._present.strike(Refuse, asked, lambda fault: not fault.carried_out):
            self._present.tell("refused", refuse, asked.request)
            return refusals.refusal(refuse, asked)
        if asked.request.method == "GET" and version_in(asked.request.option("resourceVersion")) > 0:
            behind = self._present.strike(TooLarge, asked)
            if behind is not None:
                self._present.tell("refused", behind, asked.request)
                return refusals.too_large(behind, asked)
        return None

    async def _on_the_way_back(self, asked: Asked, answer: Answer) -> Answer:
        try:
            if lost := self._present.strike(LostAck, asked):
                self._present.tell("lost", lost, asked.request)
                raise ConnectionLost("the answer was lost")
            await self._delayed(asked)
            await self._while_held(asked, "to_client")
        except BaseException:
            _drop(answer)
            raise
        if answer.stream is None:
            if asked.verb == "list" and answer.status == 200:
                self._truncate(asked, answer)
            if not self._present.any(BODIES, asked):
                return answer
        stream = self._wrap(asked, answer)
        if stream.struck or answer.stream is not None:
            answer.stream, answer.body = stream, b""
        return answer

    async def _delayed(self, asked: Asked) -> None:
        late = list(self._present.striking(DelayAnswers, asked))
        now = began = loop_seconds()
        while True:
            due = began + max((fault.seconds for each, fault in late if each.lasts(now)), default=0.0)
            if due <= now:
                return
            now = await self._present.next_change(due)

    async def _while_held(self, asked: Asked, way: str) -> None:
        """Waits as long as a silence, or a partition of that way, strikes the request; then it goes on."""
        present = self._present
        holding = [each for each, _ in present.striking(Silence, asked)] if way == "to_server" else []
        holding += [each for each, _ in present.striking(Partition, asked, lambda fault: fault.way == way)]
        while any(each.lasts(loop_seconds()) for each in holding):
            await present.next_change()

    def _land_later(self, late: Injection, fault: LateLanding, request: Request, forward: Forward) -> None:
        async def arrive() -> None:
            with contextlib.suppress(ConnectionLost):
                _drop(await forward(request))
                self._present.tell("late", fault, request)

        def land() -> None:
            self._landings.pop(timer, None)
            task = asyncio.get_running_loop().create_task(arrive(), name="a request that lands late")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._present.tell("lost", fault, request)
        timer = asyncio.get_running_loop().call_later(fault.seconds, land)
        self._landings[timer] = (late, land)

    def _truncate(self, asked: Asked, answer: Answer) -> None:
        shorter: bytes | None = None

        def shortens(fault: TruncateList) -> bool:
            nonlocal shorter
            shorter = refusals.truncated(answer.body, fault.keep)
            return shorter is not None

        for _, fault in self._present.striking(TruncateList, asked, shortens):
            answer.body = shorter or answer.body
            self._present.tell("truncated", fault, asked.request)

    # ------------------------------------------------------------------ streams

    def _wrap(self, asked: Asked, answer: Answer) -> FaultyStream:
        whole_bytes = None if answer.stream is not None else len(answer.body)
        inner = answer.stream or WholeBody(answer.body)
        events = "json" in answer.content_type
        stream = FaultyStream(
            asked, inner, self._present.rng, whole_bytes=whole_bytes, events=events, on_close=self._closed
        )
        if whole_bytes is None:
            self._streams[stream] = None
        if self._present.injections:
            self._attach(stream)
        return stream

    def _attach(self, stream: FaultyStream) -> None:
        now = loop_seconds()
        for each in self._present:
            fault = each.fault
            if each.id in stream.considered or not each.lasts(now) or not touches(fault, stream):
                continue
            if isinstance(fault, DropEvents) and self.lose is not None:
                continue
            stream.considered.add(each.id)
            if isinstance(fault, EACH_EVENT) or self._present.decide(each):
                stream.attach(each)
                if isinstance(fault, ExpireWatch):
                    stream.finish(refusals.expired_line(stream.asked))
                if not isinstance(fault, Slice):
                    what = "truncated" if isinstance(fault, Cut | ExpireWatch) else "hidden"
                    self._present.tell(what, fault, stream.asked.request)

    def _closed(self, stream: FaultyStream) -> None:
        self._streams.pop(stream, None)

    def _changed(self) -> None:
        now = loop_seconds()
        self.replicas.follow(self, now)
        self.clocks.follow(self, now)
        for listener in tuple(self.on_change):
            listener()
        present = {each.id for each in self}
        for stream in tuple(self._streams):
            stream.considered &= present
            self._attach(stream)
            stream.changed(now)


def _drop(answer: Answer) -> None:
    if answer.stream is not None:
        answer.stream.close()
