"""The figures that the invariants speak of as "bounded" and "in time"."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """Defaults follow the design's targets and the product's own defaults, with room for a loaded machine.

    live_read_seconds: longest time between the live read before a destructive act and the act (I5).
    destructive_limit, destructive_window_seconds, failed_reads: of the breaker (I6).
    lost_leases, lost_seconds: a dead owner's range is claimed again within so many leases plus seconds (I7, I24).
    wake_seconds: from a change to a reconcile that has seen it (I9).
    converge_seconds, quiet_seconds: after the last change, and how long nothing is written then (I10).
    view_age_seconds: of a view on a worker that calls itself ready (I18, I26).
    wait_seconds: of a key that could run (I19).
    longest_delay_seconds: of a retry, above what a server asks for (I20).
    requests_per_second, conflict_share: of one member (I21).
    moves: ranges that one map write may move beyond the fair share of those who joined (I22).
    growth_share, growth_mib, growth_count: how much a process may grow after its first pulses (I25).
    """

    live_read_seconds: float = 30.0
    destructive_limit: int = 100
    destructive_window_seconds: float = 60.0
    failed_reads: int = 3
    lost_leases: float = 1.5
    lost_seconds: float = 4.0
    wake_seconds: float = 60.0
    converge_seconds: float = 30.0
    quiet_seconds: float = 30.0
    view_age_seconds: float = 90.0
    wait_seconds: float = 60.0
    longest_delay_seconds: float = 330.0
    requests_per_second: int = 2000
    conflict_share: float = 0.5
    moves: int = 1
    growth_share: float = 0.5
    growth_mib: float = 64.0
    growth_count: float = 32.0
