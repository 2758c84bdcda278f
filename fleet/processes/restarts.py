"""When a child that ended is started again."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 10.0
"""Short against a human's patience, long enough that a crash loop costs a core less than a tenth of its time."""
HEALTHY_SECONDS = 60.0
"""A child that lived this long starts with a clean record."""
QUICK_DEATHS = 5
"""Ends in a row after which a worker stays away for long enough that others take its shards. So many happen when a key
that kills its worker meets a few others; more of them are the worker's own trouble, or that of its place."""


@dataclass(slots=True)
class RestartPolicy:
    """At once the first time, then 0.5 s doubling to 10 s; forgiven after a healthy minute.

    away_seconds: least delay after more than QUICK_DEATHS ends: so long that the coordinator has seen a worker silent
    for its lease, and given its shards to others. It comes back as any member does that joins. Below that, a worker
    that renews once between two deaths would keep its shards for ever, and serve them for moments.
    failures: ends since the last healthy minute. The first restart has no delay because the takeover target (one
    second from the death of a worker to its first reconcile) counts from there.
    """

    away_seconds: float = 0.0
    failures: int = 0

    def delay_seconds(self, uptime_seconds: float) -> float:
        """Counts one end and returns how long to wait. uptime_seconds: how long the child had lived."""
        if uptime_seconds >= HEALTHY_SECONDS:
            self.failures = 0
        failures, self.failures = self.failures, self.failures + 1
        if not failures:
            return 0.0
        # The exponent is bounded so that a child failing for weeks does not overflow the float.
        delay = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(failures - 1, 16))
        return max(delay, self.away_seconds) if failures >= QUICK_DEATHS else delay
