"""What lies between the processes and the front ends of the server. It belongs to nobody: what travels, travels on,
whatever becomes of who sent it."""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from chaos.simulation.stack.channel import Channel, Hop
from fleet.devcluster.faults import Faults
from fleet.devcluster.faults.match import Asked
from fleet.devcluster.faults.refusals import expired_line
from fleet.devcluster.faults.witness import witness_for
from fleet.devcluster.recording.journal import LATE, LOST
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.wire.answers import Answer, ConnectionLost
from fleet.devcluster.wire.requests import Request

HOP_SECONDS = 0.004
"""The longest time that a request or an answer takes where nothing is slow."""

SWITCHES = 0.2
"""How often a client's next connection is one to another front end."""

_STRIKES = {
    "lost_ack": "lost-answers",
    "reset": "lost-requests",
    "late_landing": "late-landing",
    "hide": "dropped-events",
    "truncate_list": "truncated-list",
}
"""What the words of the server's faults are called in a plan."""

_LATE = '{"fault":"late_landing"}'


@dataclass
class Link:
    """The way between one process, whichever of that name, and the server. `moved` wakes who waits for it to open."""

    to_server: bool = True
    to_client: bool = True
    silent: bool = False
    latency_seconds: float = 0.0
    crash_after_write: Callable[[], None] | None = None
    waiting: list[asyncio.Future[None]] = field(default_factory=list)

    def moved(self) -> None:
        waiting, self.waiting = self.waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)


class Network:
    """servers: the front ends. faults: what strikes requests and streams on their way. hits: see `Stage.hits`.

    late_seconds: a request that is longer on its way may be carried out when its sender owns nothing any more.
    """

    def __init__(
        self, servers: list[ApiServer], recorder: Recorder, rng: random.Random, *, late_seconds: float
    ) -> None:
        self.servers = servers
        self.recorder = recorder
        self.faults = Faults(rng, self._witness)
        self.brown = False
        self.hits: Counter[str] = Counter()
        self.told: Callable[[str, Request], None] = lambda what, request: None
        self._tell = witness_for(recorder)
        self._late_seconds = late_seconds
        self._links: dict[str, Link] = {}
        self._channels: dict[Channel, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def link(self, name: str) -> Link:
        """Of the processes of that name."""
        return self._links.setdefault(name, Link())

    def moved(self) -> None:
        """Something opened or closed for everybody."""
        for link in self._links.values():
            link.moved()

    # -- requests ------------------------------------------------------------------------------------------------------

    def send(self, hop: Hop, request: Request) -> None:
        """Carries a request, and its answer back."""
        self._do(self._carry(hop, request))

    def open(self, channel: Channel, request: Request) -> None:
        """The same for a watch."""
        self._channels[channel] = channel.hop.name
        self._do(self._stream(channel, request))

    def _do(self, coro: Coroutine[Any, Any, None]) -> None:
        # A context of its own: of no process.
        task = asyncio.get_running_loop().create_task(coro, context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, hop: Hop, request: Request) -> None:
        link = self.link(hop.name)
        try:
            answer = await self._there(hop, link, request)
        except ConnectionLost as error:
            await self._hop(hop, link)
            hop.broke(error)
            return
        if answer is None:
            return
        body = answer.body
        if answer.stream is not None:
            try:
                body = await _whole(answer)
            except ConnectionLost as error:
                hop.broke(error)
                return
        await self._hop(hop, link)
        while (not link.to_client or self.brown) and hop.waiting:
            self.hits["partition"] += not link.to_client
            await self._until_moved(link)
        if not hop.waiting:
            self.recorder.note(LOST, fault='{"fault":"partition"}', request=request)
        hop.answered(answer, body)

    async def _there(self, hop: Hop, link: Link, request: Request) -> Answer | None:
        """What the server answers; None where it was never asked. Raises ConnectionLost.

        What does not get through is sent again, as TCP does, until its sender gives up, or dies: then its sockets are
        reset, and drop what they have not sent.
        """
        began = asyncio.get_running_loop().time()
        await self._hop(hop, link)
        while not link.to_server or self.brown:
            self.hits["partition"] += not link.to_server
            await self._until_moved(link)
            if not hop.waiting:
                return None
        seconds = asyncio.get_running_loop().time() - began
        late = seconds > self._late_seconds and request.method != "GET"
        if late:
            self.recorder.note(LOST, fault=_LATE, request=request)
        try:
            return await self.faults.carry(request, lambda sent: self._served(hop, sent))
        finally:
            if late:
                self.recorder.note(LATE, fault=_LATE, request=request)

    async def _served(self, hop: Hop, request: Request) -> Answer:
        front = self.servers[hop.front]
        answer = await front.handle(request.method, request.path, request.query, request.body, request.headers)
        if request.method != "GET" and answer.status < 300:
            link = self.link(hop.name)
            crash, link.crash_after_write = link.crash_after_write, None
            if crash is not None:
                crash()
        return answer

    async def _hop(self, hop: Hop, link: Link) -> float:
        """One way. Its seconds."""
        seconds = HOP_SECONDS * hop.rng.random()
        if link.latency_seconds:
            seconds += link.latency_seconds * hop.rng.random()
        await asyncio.sleep(seconds)
        return seconds

    # -- watches -------------------------------------------------------------------------------------------------------

    async def _stream(self, channel: Channel, request: Request) -> None:
        hop, link = channel.hop, self.link(channel.hop.name)
        if hop.rng.random() < SWITCHES:
            hop.front = hop.rng.randrange(len(self.servers))
        try:
            answer = await self._there(hop, link, request)
            if answer is None:
                return
            if channel.closed:
                if answer.stream is not None:
                    answer.stream.close()
                return
            await self._flow(link)
            if answer.stream is None:
                channel.opened(answer, answer.body)
                return
            channel.source = answer.stream
            channel.opened(answer, b"")
            while not channel.closed:
                chunk = await answer.stream.read()
                await self._hop(hop, link)
                await self._flow(link)
                channel.put(chunk)
                if not chunk:
                    return
        except ConnectionLost as error:
            channel.broke(error)
        finally:
            self._channels.pop(channel, None)

    async def _flow(self, link: Link) -> None:
        """Until something gets through to the client. What is on its way then arrives: the connection still stands."""
        while not link.to_client or link.silent or self.brown:
            self.hits["silent-watch"] += link.silent
            await self._until_moved(link)

    async def _until_moved(self, link: Link) -> None:
        waiter = asyncio.get_running_loop().create_future()
        link.waiting.append(waiter)
        await waiter

    def cut(self, name: str, *, gone: bool = False) -> int:
        """Breaks the watches of a process. gone: what they knew is compacted away. How many there were."""
        mine = [each for each, owner in self._channels.items() if owner == name]
        for channel in mine:
            if gone and channel.request is not None:
                channel.put(expired_line(Asked(channel.request)))
                channel.put(b"")
            else:
                channel.broke(ConnectionLost("the connection was reset"))
        return len(mine)

    def forget(self, label: str) -> None:
        """Its process is gone: the kernel closes what it had open."""
        for channel in [each for each in self._channels if each.hop.label == label]:
            channel.close()

    def _witness(self, what: str, fault: Any, request: Request | None) -> None:
        if self._tell is not None:
            self._tell(what, fault, request)
        strike = _STRIKES.get(str(fault.__struct_config__.tag))
        if request is not None and strike is not None and what not in ("late", "fault", "fault-end"):
            self.hits[strike] += 1


async def _whole(answer: Answer) -> bytes:
    """Raises ConnectionLost."""
    pieces = []
    assert answer.stream is not None
    try:
        while piece := await answer.stream.read():
            pieces.append(piece)
    finally:
        answer.stream.close()
    return b"".join(pieces)
