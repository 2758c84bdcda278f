"""Posts what happened as Kubernetes Events: beside everything else, a few a minute, the same one only once.

Nothing waits for it and nothing depends on it. What is too much is counted and told in one Event at the end; what the
server refuses is dropped.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from fleet.records.happening import Happening, event_body, event_repeated, object_name
from fleet.records.object_names import EVENTS, Kind, Names
from shards.api.client import JSON, MERGE_PATCH, Transport
from shards.clock import Clock, boot_seconds
from shards.errors import ApiError, NotFound, ShardError
from shards.objects import Object

log = logging.getLogger(__name__)

BURST = 25
PER_MINUTE = 20.0
WAITING = 256
"""Happenings that wait to be posted; the oldest go first, and are counted."""

SAME_SECONDS = 600.0
"""The same happening within this time is counted in the Event that is there."""

REMEMBERED = 128
SHORTEST_SECONDS = 0.001
"""Of a pause: what is missing of a token may be less than the clock can show, which then never shows it."""
TIMEOUT_SECONDS = 5.0


class _Posted(NamedTuple):
    """name: of the Event. times: how often it happened. at: the last time, on the boot clock."""

    name: str
    times: int
    at: float


class EventPoster:
    """`tell` may be called by anybody on the loop; `run` posts until cancelled.

    reporter: the member or agent that tells. user_agent: asked anew for every request. wall: seconds since 1970.
    """

    def __init__(
        self,
        transport: Transport,
        names: Names,
        *,
        reporter: str,
        user_agent: Callable[[], str],
        clock: Clock = boot_seconds,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._transport = transport
        self._names = names
        self._reporter = reporter
        self._user_agent = user_agent
        self._clock = clock
        self._wall = wall
        self._waiting: deque[Happening] = deque()
        self._left_out: Counter[str] = Counter()
        """By reason, since the last Event that told of them."""
        self._posted: OrderedDict[Happening, _Posted] = OrderedDict()
        self._tokens = float(BURST)
        self._filled_at = clock()
        self._made = 0
        self._wake = asyncio.Event()
        self.refused = 0
        """Requests that the server did not carry out."""

    def tell(self, happening: Happening) -> None:
        """Returns at once, and never raises."""
        if len(self._waiting) >= WAITING:
            self._left_out[self._waiting.popleft().reason] += 1
        self._waiting.append(happening)
        self._wake.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            while not self._waiting:
                self._wake.clear()
                await self._wake.wait()
            await self._afford()
            await self._post(self._waiting.popleft())
            if self._left_out and not self._waiting:
                await self._afford()
                await self._post(self._summary())

    def _summary(self) -> Happening:
        counted = ", ".join(f"{reason} {count} times" for reason, count in sorted(self._left_out.items()))
        self._left_out.clear()
        return Happening("MoreHappened", f"too much happened at once to tell each: {counted}", Kind.MAP)

    async def _afford(self) -> None:
        """Waits for a token. What is told meanwhile, and more than a few can wait for, is left out."""
        while True:
            now = self._clock()
            self._tokens = min(BURST, self._tokens + (now - self._filled_at) * PER_MINUTE / 60)
            self._filled_at = now
            if self._tokens >= 1:
                self._tokens -= 1
                return
            while len(self._waiting) > BURST:
                self._left_out[self._waiting.popleft().reason] += 1
            await asyncio.sleep(max(SHORTEST_SECONDS, (1 - self._tokens) * 60 / PER_MINUTE))

    async def _post(self, happening: Happening) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await self._carry_out(happening)
        except (ShardError, ApiError, TimeoutError, ValueError) as error:
            self.refused += 1
            if self.refused == 1 or isinstance(error, TimeoutError):
                log.info("an Event was not posted (%s: %s): %s", happening.reason, happening.note, error)

    async def _carry_out(self, happening: Happening) -> None:
        now, known = self._clock(), self._posted.get(happening)
        if known is not None and now - known.at <= SAME_SECONDS:
            self._remember(happening, known._replace(times=known.times + 1, at=now))
            try:
                await self._request(
                    "PATCH", known.name, event_repeated(known.times + 1, self._wall()), content_type=MERGE_PATCH
                )
                return
            except NotFound:  # Events go after an hour
                pass
        self._made += 1
        stamp = f"{int(self._wall() * 1e6):x}{self._made:x}"
        name = f"{object_name(happening, self._names)}.{stamp}"
        body = event_body(
            happening,
            self._names,
            event_name=name,
            reporter=self._reporter,
            now=self._wall(),
        )
        self._remember(happening, _Posted(name, 1, now))
        await self._request("POST", "", body)

    def _remember(self, happening: Happening, posted: _Posted) -> None:
        self._posted[happening] = posted
        self._posted.move_to_end(happening)
        if len(self._posted) > REMEMBERED:
            self._posted.popitem(last=False)

    async def _request(self, method: str, name: str, body: Object, *, content_type: str = JSON) -> None:
        await self._transport.request(
            method,
            EVENTS.path(self._names.namespace, name),
            body=msgspec.json.encode(body),
            content_type=content_type,
            user_agent=self._user_agent(),
            timeout_seconds=TIMEOUT_SECONDS,
        )
