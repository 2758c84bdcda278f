"""Processes that play histories. No seed is lost when one of them dies, and none of them outlives the crew.

They are spawned, not forked: each starts from nothing, with a hash seed of its own, so that an order that hangs on
hashes shows up as a failure that does not repeat.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType

import msgspec

from chaos.simulation.campaign.errand import Errand, Failure, Played
from chaos.simulation.campaign.player import serve
from shards.errors import ShardError

STUCK_SECONDS = 300.0
"""Of real time for one history. The longest takes seconds; only a loop that never ends takes this long."""
LOOK_SECONDS = 0.2
RETIRE_AFTER = 20_000
"""Histories of one process. What leaks a little in each of them does not fill the memory in a million."""
MOST_DEATHS = 4
"""In a row, without a history between them: then it is not the histories that kill."""


@dataclass(slots=True, eq=False)
class _Hand:
    """One process. rest: what it still has to play. since: when it was last heard of. played: histories so far."""

    process: BaseProcess
    connection: Connection
    since: float
    rest: Errand | None = None
    played: int = 0


class Crew:
    """A context manager. serve: main function of the processes."""

    def __init__(
        self,
        jobs: int,
        *,
        clock: Callable[[], float],
        stuck_seconds: float = STUCK_SECONDS,
        retire_after: int = RETIRE_AFTER,
        serve: Callable[[Connection], None] = serve,
    ) -> None:
        self._jobs = jobs
        self._clock = clock
        self._stuck_seconds = stuck_seconds
        self._retire_after = retire_after
        self._serve = serve
        self._decoder = msgspec.msgpack.Decoder(Played)
        self._hands: list[_Hand] = []
        self._again: deque[Errand] = deque()
        self._suspects: set[int] = set()
        self._deaths = 0

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hand in self._hands:
            hand.process.kill()
        for hand in self._hands:
            self._bury(hand)
        self._hands.clear()

    def play(self, errands: Iterator[Errand]) -> Generator[Played | Failure | None, None, None]:
        """Tells of each history as it ends, and None from time to time. Ends when all have been played."""
        while True:
            self._employ(errands)
            busy = [hand for hand in self._hands if hand.rest is not None]
            if not busy:
                return
            ready = wait([hand.connection for hand in busy], LOOK_SECONDS)
            for hand in busy:
                if hand.connection in ready:
                    yield from self._hear(hand)
                elif self._clock() - hand.since > self._stuck_seconds:
                    yield self._stuck(hand)
            yield None

    # -- what is to be done ------------------------------------------------------------------------------------------

    def _employ(self, errands: Iterator[Errand]) -> None:
        """Something to do for everybody who has nothing."""
        for hand in [hand for hand in self._hands if hand.rest is None and hand.played >= self._retire_after]:
            self._dismiss(hand)
        while True:
            idle = next((hand for hand in self._hands if hand.rest is None), None)
            if idle is None and len(self._hands) >= self._jobs:
                return
            errand = self._again.popleft() if self._again else next(errands, None)
            if errand is None:
                return
            hand = idle or self._hire()
            hand.rest, hand.since = errand, self._clock()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it is dead: the next look says so
                hand.connection.send_bytes(msgspec.msgpack.encode(errand))

    def _hire(self) -> _Hand:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=self._serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()  # with our copy gone, its death closes the pipe
        self._hands.append(_Hand(process, ours, self._clock()))
        return self._hands[-1]

    # -- what comes of it --------------------------------------------------------------------------------------------

    def _hear(self, hand: _Hand) -> Iterator[Played | Failure]:
        """All that it has told so far."""
        try:
            while hand.rest is not None and hand.connection.poll():
                played = self._decoder.decode(hand.connection.recv_bytes())
                hand.since, hand.rest, hand.played = self._clock(), after(hand.rest, played.seed), hand.played + 1
                self._deaths = 0
                yield played
        except (EOFError, ConnectionResetError):
            yield from self._lost(hand)

    def _lost(self, hand: _Hand) -> Iterator[Failure]:
        """It has died: the history at hand is played once more; if that kills the next one too, it is the history's
        doing."""
        rest, code = hand.rest, self._dismiss(hand, kill=False)
        self._deaths += 1
        if self._deaths >= MOST_DEATHS:
            raise ShardError(f"the processes of the simulation die before they play anything ({_cause(code)})")
        assert rest is not None, "only busy processes are listened to"
        seed = rest.first_seed
        following = after(rest, seed)
        if following is not None:
            self._again.append(following)
        if seed in self._suspects:
            yield Failure(seed=seed, kind="died", what=f"its process died twice in this history ({_cause(code)})")
        else:
            self._suspects.add(seed)
            self._again.appendleft(msgspec.structs.replace(rest, seeds=1))

    def _stuck(self, hand: _Hand) -> Failure:
        rest = hand.rest
        assert rest is not None, "only busy processes are waited for"
        self._dismiss(hand)
        following = after(rest, rest.first_seed)
        if following is not None:
            self._again.append(following)
        what = f"it did not come to an end within {self._stuck_seconds:g} s of real time"
        return Failure(seed=rest.first_seed, kind="stuck", what=what)

    def _dismiss(self, hand: _Hand, *, kill: bool = True) -> int | None:
        """Returns its exit code. kill: False for one that ends by itself, so that the code is its own."""
        self._hands.remove(hand)
        if kill:
            hand.process.kill()
        return self._bury(hand)

    def _bury(self, hand: _Hand) -> int | None:
        hand.connection.close()
        hand.process.join()
        code = hand.process.exitcode
        hand.process.close()
        return code


def after(errand: Errand, seed: int) -> Errand | None:
    """What is left of it once a seed has been played; None for nothing."""
    left = errand.first_seed + errand.seeds - seed - 1
    return msgspec.structs.replace(errand, first_seed=seed + 1, seeds=left) if left > 0 else None


def _cause(code: int | None) -> str:
    return signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
