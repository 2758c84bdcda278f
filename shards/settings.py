"""Settings of one shard: what `fleet.configuration.config` fills in from the config file.

Defaults live here, with the reason for each; `fleet.configuration.config` validates and documents them for users.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from shards.features import Canary, Feature, Rollout


@dataclass(frozen=True, slots=True)
class QueueSettings:
    max_concurrent_reconciles: int = 8
    """Per worker, over all its shards. Reconciles wait for the API server most of the time; 8 keep one core busy."""
    base_delay_seconds: float = 0.005
    """First retry of a failed key; doubles with each failure (client-go's figure)."""
    max_delay_seconds: float = 300.0
    """Longest retry delay of a failed key. client-go waits up to 1000 s, which users take for a hang."""
    reconcile_timeout_seconds: float = 60.0
    """A reconcile that takes longer is cancelled and retried. A controller may say otherwise."""
    retries_per_second: float = 100.0
    """Of all failing keys of one controller on one worker. client-go's 10 let 10,000 keys that failed together wait for
    a quarter of an hour; an API server's own flow control bears more."""
    retry_burst: int = 1000
    """Retries at once after a quiet time: as many keys as fail in one short outage."""
    resync_seconds: float = 0.0
    """How often every key is reconciled though nothing changed; 0: never. A controller may say otherwise."""


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """Of one controller on one worker: a fleet of ten workers may do ten times as much within a window."""

    destructive_limit: int = 100
    """Destructive acts per window. A controller that wants more at once has usually misread the world."""
    window_seconds: float = 60.0
    """Long enough for a person to notice, short enough for an ordinary clean-up to go on by itself."""
    failures_to_open: int = 3
    """Failed live reads in a row. One may be a lost packet; three are a server that cannot be asked."""
    open_seconds: float = 10.0
    """Pause before the next probe: a server that restarts needs about as long."""


@dataclass(frozen=True, slots=True)
class GateSettings:
    enabled: bool = True
    """Feature gate VersionGate, as configured; whether it is on in a shard now is what `shards.worker_gates` says. Off:
    metrics and records stay, nothing is held back."""
    live_read_after_seconds: float = 2.0
    """How long a view may lag behind an own write or a watermark before one live read settles it."""
    live_reads_per_second: float = 5.0
    """Budget of live reads per controller and worker."""
    status_stale_window_seconds: float = 150.0
    """How old a view may be on which a status is still written while the breaker is open. A quiet view is confirmed
    every 60 s; a silent watch is found after 75 s, and the next one confirms within 60 s: older means trouble."""
    breaker: BreakerSettings = field(default_factory=BreakerSettings)


@dataclass(frozen=True, slots=True)
class ScopeSettings:
    namespaces: tuple[str, ...] = ()
    """Empty: all of them."""
    label_selector: str = ""
    field_selector: str = ""
    watch_each: bool = False
    """Whether several namespaces are watched one by one, rather than all of them with the others left out here."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    requests_per_second: float | None = None
    """Of one worker. None: no limit; API servers protect themselves by priority and fairness."""
    burst: int | None = None
    """Requests at once after a quiet time; None: what two seconds give."""
    fleet_requests_per_second: float | None = None
    """Of the whole fleet, shared by its workers (`fleet.rules.budget_share`). None: no limit."""

    @property
    def burst_requests(self) -> float:
        if self.burst is not None:
            return float(self.burst)
        return max(1.0, 2.0 * (self.requests_per_second or 0.0))


@dataclass(frozen=True, slots=True)
class ShardSettings:
    server_side_sharding: str = "auto"
    """auto: where it was proven that the server filters by shardSelector; on; off."""
    slot_labels: str = "on"
    """auto: where it was proven that all children carry their slot label; on: they do; off. A shard by itself has
    nobody who proves it, and makes all its children."""
    queue: QueueSettings = field(default_factory=QueueSettings)
    gate: GateSettings = field(default_factory=GateSettings)
    scope: ScopeSettings = field(default_factory=ScopeSettings)
    client: ClientSettings = field(default_factory=ClientSettings)
    canary: Canary = field(default_factory=Canary)

    @property
    def rollout(self) -> Rollout:
        """What is switched on, and where."""
        on = {
            Feature.VERSION_GATE: self.gate.enabled,
            Feature.SERVER_SIDE_SHARDING: self.server_side_sharding != "off",
            Feature.SLOT_LABELS: self.slot_labels != "off",
        }
        return Rollout(frozenset(feature for feature, switched in on.items() if switched), self.canary)
