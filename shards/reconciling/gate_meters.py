"""What the gate of one controller in one shard counts, and what it compares."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import islice

from shards.gate_metrics import shown
from shards.gates.parking import Parking
from shards.gates.view_lag import ViewLag
from shards.limits.breaker import BreakerState
from shards.objects import Resource
from shards.ownership.fence import Fence
from shards.ownership.view import Views
from shards.queue.busiest_key import BusiestKey
from shards.runtime import WorkerRuntime

log = logging.getLogger(__name__)

MOST_LOOKED_AT = 1000
"""Keys that one look goes through: it comes every second, between other tasks of the loop."""


class GateMeters:
    """What is done for a key that runs and was not held back is to count it in `busiest`, and no more.

    What is the case is looked at every second.
    """

    def __init__(self, runtime: WorkerRuntime, controller: str, shard: str, stores: Views) -> None:
        self.controller = controller
        self.busiest = BusiestKey(runtime.clock())
        self._metrics = runtime.metrics.gate
        self._runtime = runtime
        self._shard = shard
        self._stores = stores
        self._parked = runtime.metrics.parked.labels(controller, shard)
        self._waits = self._metrics.wait_seconds.labels(controller)
        self._longest = self._metrics.longest_wait.labels(controller, shard)
        self._consecutive = self._metrics.consecutive_skips.labels(controller, shard)
        self._in_doubt = self._metrics.in_doubt.labels(controller, shard)
        self._busiest_key = self._metrics.busiest_key.labels(controller, shard)
        self._busiest_share = self._metrics.busiest_share.labels(controller, shard)
        self._states = {state: self._metrics.breaker_state.labels(controller, state.value) for state in BreakerState}
        self._not_held = {each: self._metrics.not_held.labels(controller, str(each), shard).inc for each in stores}
        for each in stores:
            self._metrics.skips.count(controller, each, shard, times=0)
        self._lags = {
            resource: (
                ViewLag(),
                self._metrics.lag_seconds.labels(controller, str(resource), shard),
                self._metrics.target_version.labels(
                    controller, resource.group, resource.version, resource.plural, shard
                ),
            )
            for resource in stores
        }

    def skipped(self, resources: Iterable[Resource]) -> None:
        """A key was held back, because these views do not show what it must see."""
        for resource in resources:
            self._metrics.skips.count(self.controller, resource, self._shard)

    def not_held(self, resources: Iterable[Resource]) -> None:
        """A key would have been, with the gate on."""
        for resource in resources:
            self._not_held[resource]()

    def released(self, seconds: float) -> None:
        """A key runs that was held back for so long."""
        self._waits.observe(seconds)

    def measured(self, now: float, parking: Parking, fence: Fence | None) -> None:
        """What is the case now."""
        self._parked.set(len(parking))
        since = parking.oldest_since()
        self._longest.set(now - since if since is not None else 0.0)
        parked = islice(parking.keys.values(), MOST_LOOKED_AT)
        self._consecutive.set(max((each.skips for each in parked), default=0))
        self._in_doubt.set(fence.writes.in_doubt_count(MOST_LOOKED_AT) if fence is not None else 0)
        for resource, (lag, seconds, target) in self._lags.items():
            known = fence.highest.get(resource, "") if fence is not None else ""
            seconds.set(lag.look(now, known, self._stores[resource]))
            target.set(shown(known))
        self._compare_breaker(now)
        self._look_for_hot_key(now)

    def _compare_breaker(self, now: float) -> None:
        breaker = self._runtime.guards_of(self.controller).breaker
        state = breaker.state(now)
        for each, gauge in self._states.items():
            gauge.set(each is state)

    def _look_for_hot_key(self, now: float) -> None:
        """The log has its name, which no metric holds."""
        if not self.busiest.look(now):
            return
        found = self.busiest.last
        self._busiest_key.set(found.per_second)
        self._busiest_share.set(found.share)
        if found.hot:
            log.warning(
                "%s %s is reconciled %.1f times a second, %.0f %% of all reconciles of shard %s",
                self.controller,
                found.key,
                found.per_second,
                100.0 * found.share,
                self._shard,
            )
