"""Faults that a test or an experiment injects into the embedded server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fleet.devcluster.requests import Request
from shards.objects import Resource

WatchPredicate = Callable[[str, Resource], bool]
"""(user agent, resource) of a watch."""

RequestPredicate = Callable[[Request], bool]


class AckLost(Exception):
    """The request was carried out; its answer never leaves. Doors cut the connection."""


@dataclass(eq=False, slots=True)
class Hold:
    """Watch events held back: by `seconds` each, or all of them until the release."""

    predicate: WatchPredicate
    seconds: float
    _end: Callable[[Hold], None]

    def release(self) -> None:
        """What is held back arrives now, in order; idempotent."""
        self._end(self)


@dataclass(eq=False, slots=True)
class LostAck:
    """Answers that get lost. left: how many more; negative without limit. lost: how many did."""

    predicate: RequestPredicate
    left: int
    lost: int = 0


@dataclass(slots=True)
class Faults:
    """The faults in force. on_release: called when a hold ends, so that streams let go."""

    on_release: Callable[[], None] = lambda: None
    holds: list[Hold] = field(default_factory=list)
    lost_acks: list[LostAck] = field(default_factory=list)

    def delay_watch(self, predicate: WatchPredicate, seconds: float | None = None) -> Hold:
        """Holds back every event, bookmarks included, of the watches that match, open ones and later ones.

        seconds: the lag of each event; None holds all of them until `release()`.
        """
        hold = Hold(predicate, float("inf") if seconds is None else seconds, self._end)
        self.holds.append(hold)
        return hold

    def lose_ack(self, predicate: RequestPredicate, *, times: int = 1) -> LostAck:
        """Carries out the matching requests and loses their answers. times: how many, negative for all."""
        fault = LostAck(predicate, times)
        self.lost_acks.append(fault)
        return fault

    def clear(self) -> None:
        """Ends all faults."""
        self.holds.clear()
        self.lost_acks.clear()
        self.on_release()

    def watch_delay(self, user_agent: str, resource: Resource) -> float:
        """Seconds by which an event of that watch is held back."""
        return max((h.seconds for h in self.holds if h.predicate(user_agent, resource)), default=0.0)

    def loses(self, request: Request) -> bool:
        """Whether the answer to this request is lost; counts it."""
        for fault in self.lost_acks:
            if fault.left and fault.predicate(request):
                fault.left -= 1
                fault.lost += 1
                return True
        return False

    def _end(self, hold: Hold) -> None:
        if hold in self.holds:
            self.holds.remove(hold)
            self.on_release()
