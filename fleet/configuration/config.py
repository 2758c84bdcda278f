"""The configuration of a fleet: one YAML file, the same on disk and in the ConfigMap.

Every field carries a docstring with its meaning, unit, default and the reason for the default; docs/configuration.md
repeats them for readers. Names in the file are camelCase. `fleet.configuration.config_file` reads and validates the
file.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

from fleet.configuration.gate_config import GateConfig
from fleet.configuration.rollout_config import CanaryConfig, FeatureGates, canary_of
from fleet.configuration.section import Section
from fleet.rules.membership import ACTING_SHARE
from fleet.rules.plan_settings import PlanSettings
from shards.keyrange import PartitionKey
from shards.settings import ClientSettings, QueueSettings, ScopeSettings, ShardSettings


class ShardsConfig(Section, frozen=True):
    """`shards`: how the key space is cut."""

    count: int = 16
    """Number of shards, 1 to 4096. Default 16: enough for eight workers with two shards each, and cheap when idle.
    More shards move less work at a time; each costs a Lease, and in each worker a watch per resource. A running fleet
    follows it in the ConfigMap."""
    partition_by: PartitionKey = PartitionKey.UID
    """Which part of a primary object decides its shard: uid, namespace or name. Default uid: spreads evenly, and an
    API server with ShardedListAndWatch filters by it. namespace keeps a tenant's objects together; name survives
    delete-and-recreate. A running fleet follows it in the ConfigMap: every shard changes hands then."""
    auto_split: bool = False
    """Whether `count` is only a floor: shards that are too hot to be moved are split, up to four times `count` in all,
    and cold neighbours are merged again. Default false: a number that changes by itself surprises."""


class WorkersConfig(Section, frozen=True):
    """`workers`: the processes in one pod."""

    per_pod: int = 2
    """Worker processes per pod, 1 to 64. Default 2: one event loop keeps one core busy, and two survive the death of
    one without a cold start. Set it to the pod's CPU limit."""
    drain_seconds: float = 5.0
    """Seconds that running reconciles of a shard are given to end before they are cancelled, above 0. Default 5: many
    times an ordinary reconcile; the shard has no owner meanwhile."""
    leave_seconds: float = 10.0
    """Seconds that a leaving worker waits for others to prepare for its shards before it lets go regardless, 0 or
    more. Default 10: together with drainSeconds and 5 seconds of slack it stays below the 30 seconds of Kubernetes'
    terminationGracePeriodSeconds, which must be larger than the sum."""

    weight: float = 1.0
    """How much of the load each worker of this pod should carry, as a multiple of what a worker of weight 1 carries,
    0.01 to 100. Default 1: all alike. The environment variable FLEET_WEIGHT goes before it, for pods that are larger
    or smaller than the others."""
    memory_limit_mib: int = msgspec.field(default=0, name="memoryLimitMiB")
    """Memory in MiB that one worker may use, 0 or at least 128. Default 0: only the limit of the pod's container
    counts, which its processes share. A worker that nears it is recycled (see recycleAtShare)."""
    recycle_at_share: float = 0.85
    """Part of either limit, above 0 up to 1, from which on the largest worker of the pod hands its shards over, ends,
    and is started again. Default 0.85: handing over takes seconds, in which more may be needed. 1 leaves it to the
    kernel, which kills a process without a warning."""

    @property
    def grace_seconds(self) -> float:
        """How long the supervisor waits for its workers before it kills them."""
        return self.leave_seconds + self.drain_seconds + 5.0


class CoordinationConfig(Section, frozen=True):
    """`coordination`: who is alive and who owns what."""

    backend: Literal["kubernetes"] = "kubernetes"
    """Where Leases and map live. Only kubernetes so far."""
    lease_seconds: float = 8.0
    """Seconds after which a silent worker's shards may be taken, 2 to 600. Default 8: a dead node's keys are owned
    again within 12 seconds, and an API server that pauses for 5 seconds takes nobody's shards away."""
    renew_seconds: float | None = None
    """Seconds between renewals of a worker's Lease. Default leaseSeconds / 4: three renewals may fail in a row. Twice
    this must be below the deadline (leaseSeconds x 0.85)."""
    candidates: int = 3
    """Agents that stand by for the coordinator's office, 1 to 16. Default 3: two may die at once; each one more
    watches every member Lease."""

    @property
    def renew_every_seconds(self) -> float:
        """`renew_seconds` with its default filled in."""
        return self.lease_seconds / 4 if self.renew_seconds is None else self.renew_seconds

    @property
    def deadline_seconds(self) -> float:
        """How long a worker may act after the send time of its last acknowledged renewal."""
        return self.lease_seconds * ACTING_SHARE

    @property
    def request_seconds(self) -> float:
        """Timeout of a request for a record: two of them fit between a renewal and its deadline."""
        return min(5.0, self.lease_seconds * 0.35)


class RebalanceConfig(Section, frozen=True):
    """`rebalance`: how eagerly shards are moved."""

    churn_per_round: float = 0.1
    """Largest part of all shards that are on their way by choice at once, above 0 up to 1. Default 0.1: a join moves
    a few shards at a time. Shards without an owner are placed at once, whatever this says."""
    cooldown_seconds: float = 30.0
    """Seconds between two rounds that move shards by choice, 0 or more. Default 30: loads are measured over a
    minute, and a move must show in them before the next."""
    tolerance: float = 0.05
    """Part of its fair share by which a worker may carry more or less without a move, 0.01 to 1. Default 0.05: closer
    than loads are known, and a worker that carries a twentieth more is none that suffers."""
    restart_grace_seconds: float = 0.0
    """Seconds for which a fenced worker's shards wait for its return before others take them, 0 or more. Default 0: a
    worker is fenced only after it was silent for a whole lease, many times as long as a restart by its supervisor
    takes; during a grace its keys have no owner. Raise it where moving a shard costs more than waiting."""


class QueueConfig(Section, frozen=True):
    """`queue`: keys on their way to a reconcile."""

    max_concurrent_reconciles: int = 8
    """Reconciles at the same time per worker, over all its shards, 1 to 1024. Default 8: reconciles wait for the API
    server most of the time, and 8 keep one core busy."""
    base_delay_seconds: float = 0.005
    """First retry delay of a failed key in seconds, above 0; doubles with each failure. Default 0.005: client-go's."""
    max_delay_seconds: float = 300.0
    """Longest retry delay of a failed key in seconds, at least baseDelaySeconds. Default 300: client-go's 1000 is
    taken for a hang."""
    reconcile_timeout_seconds: float = 60.0
    """Seconds after which a reconcile is cancelled and retried, above 0; a controller may say otherwise. Default 60: as
    long as the API server itself gives a request."""
    retries_per_second: float = 100.0
    """Retries of failing keys per controller and worker, all keys together, above 0. Default 100: client-go's 10 let
    10,000 keys that failed together wait for a quarter of an hour. No wait exceeds maxDelaySeconds."""
    retry_burst: int = 1000
    """Retries at once after a quiet time, at least 1. Default 1000: as many keys as fail in one short outage."""
    resync_seconds: float = 0.0
    """Seconds after which every key is reconciled again though nothing changed, give or take a tenth; a controller may
    say otherwise. Default 0: never, because changes are not lost here."""


class ScopeConfig(Section, frozen=True):
    """`scope`: which primary objects the fleet looks after."""

    namespaces: tuple[str, ...] = ()
    """The namespaces to watch, in a list. Default empty: all of them. One is asked for as such; of several, all
    namespaces are watched at once and the others left out in the worker, unless watchEach."""
    watch_each: bool = False
    """Whether several namespaces are watched one by one: for accounts that have their permissions in each of them, and
    not in all. Default false: one watch is cheaper than many."""
    label_selector: str = ""
    """Label selector for primaries, as kubectl writes it. Default empty: all of them."""
    field_selector: str = ""
    """Field selector for primaries, as kubectl writes it. Default empty: all of them."""


class ClientConfig(Section, frozen=True):
    """`client`: how much a worker may ask of the API server. Leases and map are never held back, nor counted.

    Running workers follow this section when the file changes."""

    requests_per_second: float | None = None
    """Requests of one worker per second, above 0; a page of a list and the opening of a watch count as one. Default: no
    limit, since API servers share themselves out by priority and fairness, and a limit here delays what nobody else
    waits for. Set one for a server that cannot."""
    burst: int | None = None
    """Requests that a worker may send at once after a quiet time, at least 1. Default requestsPerSecond x 2. Only
    together with requestsPerSecond."""
    fleet_requests_per_second: float | None = None
    """Requests of the whole fleet per second, above 0, shared by its workers as each of them needs; a share allows one
    second's worth at once. Default: no limit. With requestsPerSecond, both hold."""

    def settings(self) -> ClientSettings:
        return ClientSettings(self.requests_per_second, self.burst, self.fleet_requests_per_second)


class AgentConfig(Section, frozen=True):
    """`agent`: the pod's HTTP endpoint for metrics and health."""

    address: str = "0.0.0.0"
    """Address to listen on. Default 0.0.0.0: kubelet and Prometheus come from outside the pod."""
    metrics_port: int = 9090
    """Port of /metrics, /healthz and /readyz, up to 65535. Default 9090. 0 takes any free port (for tests), -1 opens
    none."""


class LogConfig(Section, frozen=True):
    """`log`: what all processes write to the pod's standard error. Running processes follow the level."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severity that is written. Default info: transitions of shards, not every reconcile."""
    format: Literal["text", "json"] = "text"
    """text for people, json (one object a line) for collectors. Default text."""


class FleetConfig(Section, frozen=True):
    """The whole file."""

    fleet: str
    """Name of the fleet: a DNS label of at most 52 characters, since a StatefulSet of that name must leave room for
    its revision label. Part of every Lease's name. No default: two fleets with one name would share shards."""
    controller: str = ""
    """The controller to run, as module:object or path/file.py:object. Exactly one of controller and controllers."""
    controllers: tuple[str, ...] = ()
    """Several controllers over one hash space, each as module:object or path/file.py:object."""
    shards: ShardsConfig = ShardsConfig()
    workers: WorkersConfig = WorkersConfig()
    coordination: CoordinationConfig = CoordinationConfig()
    rebalance: RebalanceConfig = RebalanceConfig()
    gate: GateConfig = GateConfig()
    queue: QueueConfig = QueueConfig()
    scope: ScopeConfig = ScopeConfig()
    feature_gates: FeatureGates = FeatureGates()
    canary: CanaryConfig = CanaryConfig()
    client: ClientConfig = ClientConfig()
    agent: AgentConfig = AgentConfig()
    log: LogConfig = LogConfig()

    @property
    def references(self) -> tuple[str, ...]:
        """All controllers, as they are named in the file."""
        return (self.controller, *self.controllers) if self.controller else self.controllers

    @property
    def digest(self) -> str:
        """16 hex digits over all fields with their defaults filled in: equal for configs that mean the same."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:16]

    @property
    def away_seconds(self) -> float:
        """How long a worker stays away that keeps dying: until others have been given its shards, and claimed them."""
        return 2 * self.coordination.lease_seconds + self.rebalance.restart_grace_seconds + 2.0

    def plan_settings(self) -> PlanSettings:
        """The part that plans are made by."""
        return PlanSettings(
            churn_per_round=self.rebalance.churn_per_round,
            cooldown_seconds=self.rebalance.cooldown_seconds,
            tolerance=self.rebalance.tolerance,
            restart_grace_seconds=self.rebalance.restart_grace_seconds,
            auto_split=self.shards.auto_split,
        )

    def shard_settings(self) -> ShardSettings:
        """The part that a shard needs."""
        queue, scope = self.queue, self.scope
        return ShardSettings(
            server_side_sharding=self.feature_gates.server_side_sharding,
            slot_labels=self.feature_gates.slot_labels,
            queue=QueueSettings(
                max_concurrent_reconciles=queue.max_concurrent_reconciles,
                base_delay_seconds=queue.base_delay_seconds,
                max_delay_seconds=queue.max_delay_seconds,
                reconcile_timeout_seconds=queue.reconcile_timeout_seconds,
                retries_per_second=queue.retries_per_second,
                retry_burst=queue.retry_burst,
                resync_seconds=queue.resync_seconds,
            ),
            gate=self.gate.settings(enabled=self.feature_gates.version_gate),
            scope=ScopeSettings(
                namespaces=scope.namespaces,
                label_selector=scope.label_selector,
                field_selector=scope.field_selector,
                watch_each=scope.watch_each,
            ),
            client=self.client.settings(),
            canary=canary_of(self.canary),
        )
