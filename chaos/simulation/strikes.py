"""The vocabulary: everything that can go wrong in a simulated fleet, at either depth. Data, read from scenario files.

Processes are named as in the trace: workers `a`, `b`, ..., agents `agent-1`, ...; front ends of the server are
numbered from 0. `at` is in seconds since the start; all durations are in seconds. What strikes ends at
`Plan.chaos_seconds` at the latest, but for what is useless for good.

`a-twin` is the second process of a Twin of `a`: another process, on another node, that says it is `a`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Record = Literal["member", "shard", "coordinator", "map"]

SLOWEST, FASTEST = 0.95, 1.05
"""Rates of clocks under which every promise holds: a deadline at 0.85 of a lease on the slowest clock comes before the
end of the lease on the fastest, with five hundredths of a lease to spare."""

Seconds = Annotated[float, Meta(ge=0, le=3600)]
Times = Annotated[int, Meta(ge=1, le=1000)]


class Strike(msgspec.Struct, frozen=True, kw_only=True, tag_field="strike", forbid_unknown_fields=True):
    """What all of them have in common."""

    at: Seconds


# -- processes -----------------------------------------------------------------------------------------------------


class Crash(Strike, frozen=True, kw_only=True, tag="crash"):
    """SIGKILL. back_after: until the next is started under its name; None = its node is gone.

    after_write: it ends with the next write of it that the server accepts, before the answer arrives. reaped: its
    supervisor saw it die and starts the next; else somebody else does, who knows nothing of the last.
    """

    process: str
    back_after: Seconds | None = 0.1
    after_write: bool = False
    reaped: bool = True


class Pause(Strike, frozen=True, kw_only=True, tag="pause"):
    """SIGSTOP, and SIGCONT so many seconds later. What is on the wire travels on."""

    process: str
    seconds: Seconds


class Leave(Strike, frozen=True, kw_only=True, tag="leave"):
    """SIGTERM. back_after: seconds after its end until it is started again, None = never."""

    process: str
    back_after: Seconds | None = None


class Twin(Strike, frozen=True, kw_only=True, tag="twin"):
    """A pod is deleted by force: another process starts under its name while the first one runs. After so many seconds
    the second is killed."""

    process: str
    seconds: Seconds


class Storm(Strike, frozen=True, kw_only=True, tag="storm"):
    """So many workers that were not there join within a second, and leave so many seconds later."""

    workers: Annotated[int, Meta(ge=1, le=50)]
    seconds: Seconds


class ClockRate(Strike, frozen=True, kw_only=True, tag="clock-rate"):
    """The clock of a process runs at this rate for a while. Within `SLOWEST` and `FASTEST` nothing may break; beyond
    them, see docs/simulation.md."""

    process: str
    rate: Annotated[float, Meta(gt=0, le=100)]
    seconds: Seconds


# -- the way to the server -------------------------------------------------------------------------------------------


class Partition(Strike, frozen=True, kw_only=True, tag="partition"):
    """way: "to_server": requests do not arrive; "to_client": they are carried out, and nothing comes back."""

    process: str
    way: Literal["both", "to_server", "to_client"]
    seconds: Seconds


class Slow(Strike, frozen=True, kw_only=True, tag="slow"):
    """Each way of a request takes up to `latency_seconds` longer."""

    process: str
    latency_seconds: Seconds
    seconds: Seconds


class LostAnswers(Strike, frozen=True, kw_only=True, tag="lost-answers"):
    """The next writes are carried out; their sender sees a broken connection."""

    process: str
    times: Times = 1


class LostRequests(Strike, frozen=True, kw_only=True, tag="lost-requests"):
    """The next writes are not carried out; their sender sees a broken connection."""

    process: str
    times: Times = 1


class LateLanding(Strike, frozen=True, kw_only=True, tag="late-landing"):
    """The sender of the next writes sees a broken connection now; they are carried out `late_seconds` later."""

    process: str
    late_seconds: Seconds
    times: Times = 1


class BrownOut(Strike, frozen=True, kw_only=True, tag="brown-out"):
    """The server answers nobody."""

    seconds: Seconds


class Useless(Strike, frozen=True, kw_only=True, tag="useless"):
    """It renews, reads, and does nothing else: the server refuses what it writes into Leases of shards, its lists of
    objects, or both. seconds: None = for good, beyond the healing: what a fleet does about such a member (R13) is to
    be enough. At the protocol depth only."""

    process: str
    refused: Literal["shards", "objects", "both"] = "both"
    seconds: Seconds | None = None


# -- what is read ------------------------------------------------------------------------------------------------------


class StaleReplica(Strike, frozen=True, kw_only=True, tag="stale-replica"):
    """Watches, and reads that need not be current, are so much behind on one front end. None: nothing new arrives."""

    replica: Annotated[int, Meta(ge=0)]
    lag_seconds: Seconds | None
    seconds: Seconds


class SilentWatch(Strike, frozen=True, kw_only=True, tag="silent-watch"):
    """Open watches of the process say nothing; new ones as well."""

    process: str
    seconds: Seconds


class CutWatch(Strike, frozen=True, kw_only=True, tag="cut-watch"):
    """Open watches break. gone: what they knew is compacted away (410), they have to list."""

    process: str
    gone: bool = False


class DroppedEvents(Strike, frozen=True, kw_only=True, tag="dropped-events"):
    """The next events of watches do not arrive, later ones do (Kubernetes issue 123072)."""

    process: str
    times: Times = 1


class TruncatedList(Strike, frozen=True, kw_only=True, tag="truncated-list"):
    """The next lists end early as if they were complete."""

    process: str
    times: Times = 1


# -- hands -------------------------------------------------------------------------------------------------------------


class Delete(Strike, frozen=True, kw_only=True, tag="delete"):
    """index: which of those that are there, in order of names, modulo their number."""

    record: Record
    index: Annotated[int, Meta(ge=0)] = 0


class Steal(Strike, frozen=True, kw_only=True, tag="steal"):
    """Somebody writes another holder into a Lease. holder: "" empties it."""

    record: Literal["member", "shard", "coordinator"]
    index: Annotated[int, Meta(ge=0)] = 0
    holder: str = "somebody"


class Edit(Strike, frozen=True, kw_only=True, tag="edit"):
    """how: "touch" changes nothing that means anything; "lower-epoch", "retire", "activate" a Lease; "rollback" puts an
    earlier map back; "mangle" leaves something that cannot be read."""

    record: Record
    how: Literal["touch", "lower-epoch", "retire", "activate", "rollback", "mangle"]
    index: Annotated[int, Meta(ge=0)] = 0


class Restore(Strike, frozen=True, kw_only=True, tag="restore"):
    """The store goes back to what it was so many seconds ago."""

    back_seconds: Seconds


class Reshard(Strike, frozen=True, kw_only=True, tag="reshard"):
    """Somebody edits `shards.count` in the fleet's config."""

    shards: Annotated[int, Meta(ge=1, le=256)]


AnyStrike = (
    Crash
    | Pause
    | Leave
    | Storm
    | Twin
    | ClockRate
    | Partition
    | Slow
    | LostAnswers
    | LostRequests
    | LateLanding
    | BrownOut
    | Useless
    | StaleReplica
    | SilentWatch
    | CutWatch
    | DroppedEvents
    | TruncatedList
    | Delete
    | Steal
    | Edit
    | Restore
    | Reshard
)

ONLY_AT_PROTOCOL: tuple[type[Strike], ...] = (Useless,)
"""What the stack depth does not play."""
