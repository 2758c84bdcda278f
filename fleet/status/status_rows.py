"""What `fleet status` shows, as rows and as JSON."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class MemberState(StrEnum):
    ALIVE = "alive"
    LEAVING = "leaving"
    SILENT = "silent"
    """Has not renewed for longer than its lease, by its own timestamp, nor while we looked."""
    GONE = "gone"
    """Fenced, or left for good."""


class ShardState(StrEnum):
    OWNED = "owned"
    MOVING = "moving"
    """Owned, and its next owner prepares a standby."""
    DRAINING = "draining"
    """Owned, and its next owner is ready: the owner lets go."""
    FREE = "free"
    """Nobody may act; the target may claim it."""
    SILENT = "silent"
    """Its holder is silent and must be fenced first."""
    NEW = "new"
    """Its Lease was not made yet."""
    LOST = "lost"
    """Its Lease was deleted; it comes back when every member has noticed."""
    HELD = "held"
    """Its Lease was edited by hand: it names nobody, yet nobody released it."""
    RETIRING = "retiring"
    """Left the layout; its owner lets go for good."""


OWNED_STATES = frozenset({ShardState.OWNED, ShardState.MOVING, ShardState.DRAINING})


class _Row(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One object of `-o json`."""


class MemberRow(_Row, frozen=True):
    """renewed_seconds_ago: by the timestamp that the member wrote and the clock here; a hint, null where unreadable.

    budget_share: of the fleet's budget of requests, 0 to 1; null where none is shared. drained: ordered so, by its own
    name or its pod's.
    """

    name: str
    state: MemberState
    epoch: int
    shards: int
    targets: int
    objects: int
    queue_depth: int
    parked: int
    failing: int
    waiting: int
    reconciles_per_second: float
    revision: str
    pod: str
    pid: int
    follows_map: int
    renewed_seconds_ago: float | None
    budget_share: float | None = None
    drained: bool = False


class ShardRow(_Row, frozen=True):
    """owner: "" unless somebody may act. Loads are what the owner last reported."""

    range: str
    state: ShardState
    owner: str
    owner_epoch: int
    epoch: int
    target: str
    why: str
    objects: int
    queue_depth: int
    parked: int
    failing: int
    waiting: int
    reconciles_per_second: float
    paused: int = 0


class FailingRow(_Row, frozen=True):
    """A key that keeps failing. shard: its range. since: RFC 3339, by the member's clock. count: failures since.

    terminal: not tried again until the object changes. for_seconds: since then by the clock here; null if unreadable.
    """

    controller: str
    key: str
    shard: str
    member: str
    since: str
    count: int
    error: str
    terminal: bool
    for_seconds: float | None = None


class WaitingRow(_Row, frozen=True):
    """A key that waits for long and does not fail. times: told to wait so often in a row. The rest as for FailingRow.

    waits_for: `reconcile` (it runs), `not ready`, `requeue`, `view`, `breaker` or `server`.
    """

    controller: str
    key: str
    shard: str
    member: str
    since: str
    times: int
    waits_for: str
    why: str
    for_seconds: float | None = None


class QuarantineRow(_Row, frozen=True):
    """A key that was in flight when workers ended. quarantined: it is not reconciled any more; else a suspect.

    since, last: of its first and last death, RFC 3339. ended: how the last worker ended; words: its last ones.
    worker: its member. generation: of the object's spec then, 0 where unknown.
    """

    controller: str
    key: str
    uid: str
    quarantined: bool
    deaths: int
    since: str
    last: str
    ended: str
    words: str
    worker: str
    generation: int


class FilterRow(_Row, frozen=True):
    """Who keeps foreign objects out of so many views of a resource. filter: in force, `local` for the workers.

    best: the one that the API server could apply, "" where it could none. verdict: proven, refuted or unknown; why, as
    one member has it. foreign: objects that came although it excludes them, since the members began.
    probed_seconds_ago: of the member whose last answer is the oldest; null where one never got any.
    """

    resource: str
    filter: str
    views: int
    best: str
    verdict: str
    why: str
    foreign: int
    probed_seconds_ago: float | None


class OrderRow(_Row, frozen=True):
    """What somebody ordered. name: of a drained member or pod, "" for the whole fleet. since: RFC 3339."""

    name: str
    by: str
    why: str
    since: str


class FleetStatus(_Row, frozen=True):
    """Everything at one moment. unowned: ranges of the layout on which nobody may act.

    failing: keys that keep failing, the longest first; `failing_keys` says how many there are, of which members report
    some each. waiting, waiting_keys: the same of keys that wait for long. quarantine: keys that ended workers, and
    suspects of that; quarantine_trouble: why that cannot be read. paused_keys: how many objects are paused.
    coordinator: holder of the office, "" while nobody is known to hold it. coordinator_pod: its pod, "" where no member
    of that pod is known. frozen: null while shards may move. controls_trouble: why what is ordered cannot be read.
    controls_unknown: fields in it that this version does not know, and that change nothing. cuts_waiting: splits and
    merges that were asked for and are not done.
    config_refused: why the newest config is not followed, after its version.
    """

    fleet: str
    namespace: str
    map_version: int
    partition_by: str
    coordinator: str
    coordinator_pod: str
    coordinator_epoch: int
    members: tuple[MemberRow, ...]
    shards: tuple[ShardRow, ...]
    unowned: tuple[str, ...]
    failing_keys: int = 0
    failing: tuple[FailingRow, ...] = ()
    waiting_keys: int = 0
    waiting: tuple[WaitingRow, ...] = ()
    filters: tuple[FilterRow, ...] = ()
    frozen: OrderRow | None = None
    drained: tuple[OrderRow, ...] = ()
    controls_trouble: str = ""
    controls_unknown: tuple[str, ...] = ()
    cuts_waiting: tuple[str, ...] = ()
    config_refused: str = ""

    @property
    def complete(self) -> bool:
        """There is a layout, and each of its ranges has an owner."""
        return bool(self.shards) and not self.unowned

    paused_keys: int = 0
    quarantine: tuple[QuarantineRow, ...] = ()
    quarantine_trouble: str = ""

    @property
    def quarantined_keys(self) -> int:
        return sum(row.quarantined for row in self.quarantine)
