"""What limits a controller's expensive and its dangerous acts. PURE: time comes in as an argument.

Token buckets bound live reads; a circuit breaker pauses destructive acts (design 4.4). Both belong to one controller
on one worker, over all its shards: an API server in trouble does not care how the key space is cut.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import StrEnum

from shards.settings import BreakerSettings


class TokenBucket:
    """Allows `rate` acts per second, and `burst` at once after a quiet time. rate > 0, burst >= 1.

    Below zero tokens, somebody has reserved what is not there yet.
    """

    def __init__(self, rate: float, burst: float, now: float) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError("a bucket needs a rate above 0 and room for one token")
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._filled_at = now

    def take(self, now: float, *, spare_only: bool = False) -> bool:
        """Whether the act may happen now; it is counted if so. spare_only: not from the half that its owner needs."""
        self._fill(now)
        if self._tokens < 1.0 + (self._burst / 2 if spare_only else 0.0):
            return False
        self._tokens -= 1.0
        return True

    def reserve(self, now: float, longest_wait_seconds: float) -> float | None:
        """Counts an act that happens after the wait that is returned, in order of arrival.

        None when the wait would be longer than that: nothing is counted then, see `wait`.
        """
        wait = self.wait(now)
        if wait > longest_wait_seconds:
            return None
        self._tokens -= 1.0
        return wait

    def wait(self, now: float) -> float:
        """Seconds until an act that is asked for now can happen."""
        self._fill(now)
        # Rounded up by a nanosecond, so that a caller who waits exactly this long is never told to wait again.
        return 0.0 if self._tokens >= 1.0 else (1.0 - self._tokens) / self._rate + 1e-9

    def change(self, rate: float, burst: float, now: float) -> None:
        """Other limits from now on; what was saved up beyond the new burst is lost."""
        self._fill(now)
        self._rate, self._burst = rate, burst
        self._tokens = min(self._tokens, burst)

    def _fill(self, now: float) -> None:
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._filled_at) * self._rate)
        self._filled_at = now


class Budget:
    """Acts of two kinds share a rate, and neither can use up what the other one needs.

    Each kind has half of it, and what the other kind leaves over.
    """

    def __init__(self, rate: float, burst: float, now: float) -> None:
        """rate > 0: acts per second of both kinds. burst >= 2: acts at once after a quiet time."""
        self._buckets = (TokenBucket(rate / 2, burst / 2, now), TokenBucket(rate / 2, burst / 2, now))

    def change(self, rate: float, burst: float, now: float) -> None:
        """Other limits from now on."""
        for bucket in self._buckets:
            bucket.change(rate / 2, burst / 2, now)

    def take(self, kind: int, now: float) -> bool:
        """kind: 0 or 1. Whether the act may happen now; it is counted if so."""
        return self._buckets[kind].take(now) or self._buckets[1 - kind].take(now, spare_only=True)

    def reserve(self, kind: int, now: float, longest_wait_seconds: float) -> float | None:
        """Seconds after which the act may happen, and counts it; None when that would take too long."""
        return 0.0 if self.take(kind, now) else self._buckets[kind].reserve(now, longest_wait_seconds)

    def wait(self, kind: int, now: float) -> float:
        """Seconds until an act that is asked for now can happen."""
        return self._buckets[kind].wait(now)


class Cause(StrEnum):
    """Why a breaker opened."""

    LIVE_READS = "live_reads"
    """Live reads failed in a row."""
    ACTS = "acts"
    """The window was full."""


class BreakerState(StrEnum):
    """CLOSED: acts flow. OPEN: none. HALF_OPEN: one at a time, to find out."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Breaker:
    """Pauses destructive acts when the world cannot be asked, or when there are suspiciously many of them.

    closed -> open: live reads failed in a row, or the window is full. open -> half-open: open_seconds have passed.
    half-open -> closed: a live read succeeded and the window has room. half-open -> open: one failed, or it has none.

    on_change: told the cause when it has opened from closed, None when it has closed. A probe that fails opens nothing
    that was closed.
    """

    def __init__(self, settings: BreakerSettings) -> None:
        self._settings = settings
        self.on_change: Callable[[Cause | None], None] = lambda cause: None
        self._acts: deque[float] = deque()
        """Times of admitted acts within the window, oldest first."""
        self._failures = 0
        self._opened_at: float | None = None
        self._probe_at: float | None = None
        """When the last probe of the half-open state was admitted; None: none is under way."""
        self.reason = ""
        """Why it is open; "" while closed."""

    @property
    def opened(self) -> bool:
        """Whether it is open or half-open."""
        return self._opened_at is not None

    def state(self, now: float) -> BreakerState:
        if self._opened_at is None:
            return BreakerState.CLOSED
        waited = now - self._opened_at >= self._settings.open_seconds
        return BreakerState.HALF_OPEN if waited else BreakerState.OPEN

    def refusal(self, now: float) -> str | None:
        """Why no destructive act may be prepared now; None when one may. Its live read comes next, then `admit`.

        Half-open, one at a time is let through: its live read is the probe.
        """
        state = self.state(now)
        if state is BreakerState.OPEN:
            return self.reason
        if state is BreakerState.HALF_OPEN:
            under_way = self._probe_at is not None and now - self._probe_at < self._settings.open_seconds
            if under_way:
                return f"{self.reason}; one act is probing"
            self._probe_at = now
        return None

    def admit(self, now: float) -> str | None:
        """None when a destructive act may be sent now (it is counted); else why not."""
        self._forget_old(now)
        if self._opened_at is not None:
            return self.reason
        if len(self._acts) >= self._settings.destructive_limit:
            reason = f"{len(self._acts)} destructive acts within {self._settings.window_seconds:g} s"
            self._open(now, reason, Cause.ACTS)
            return self.reason
        self._acts.append(now)
        return None

    def read_succeeded(self, now: float) -> None:
        """A live read was answered (an absent object is an answer)."""
        self._failures = 0
        if self.state(now) is not BreakerState.HALF_OPEN:
            return
        self._forget_old(now)
        if len(self._acts) < self._settings.destructive_limit:
            self._opened_at = self._probe_at = None
            self.reason = ""
            self.on_change(None)
        elif self._probe_at is not None:
            self._open(now, self.reason, Cause.ACTS)

    def read_failed(self, now: float) -> None:
        """A live read got no answer, or a failure."""
        self._failures += 1
        if self._failures >= self._settings.failures_to_open or self.state(now) is BreakerState.HALF_OPEN:
            self._open(now, f"{self._failures} live reads failed in a row", Cause.LIVE_READS)

    def change(self, settings: BreakerSettings) -> None:
        """Other limits from now on. What was admitted counts on; an open breaker closes as always, by a probe."""
        self._settings = settings

    def _open(self, now: float, reason: str, cause: Cause) -> None:
        closed = self._opened_at is None
        self._opened_at, self._probe_at, self.reason = now, None, reason
        if closed:
            self.on_change(cause)

    def _forget_old(self, now: float) -> None:
        while self._acts and now - self._acts[0] >= self._settings.window_seconds:
            self._acts.popleft()
