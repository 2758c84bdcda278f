"""Who owns what, and for how long nobody did."""

from __future__ import annotations

from chaos.targets import ownership
from chaos.targets.running import RUNNING
from chaos.targets.target import Target


def owned_share(target: Target = RUNNING) -> float:
    """The part of all keys that have a living owner: 1.0 when none is left alone."""
    return ownership.owned_share(target.evidence.verdict(), target.pods.ends)


def living_workers(target: Target = RUNNING) -> int:
    """Worker processes."""
    return len(target.pods.members())


def longest_takeover_seconds(target: Target = RUNNING) -> float:
    """Over all workers that were ended, and all ranges that they held: until the range was claimed again; 0 before
    the first of them."""
    verdict, now = target.evidence.verdict(), target.now()
    return max(
        (max(ownership.takeover_seconds(verdict, end, now).values(), default=0.0) for end in target.pods.ends),
        default=0.0,
    )


def longest_unowned_seconds(target: Target = RUNNING) -> float:
    """The longest time for which a range had no owner since the fleet was settled first, whatever the cause, counted
    until now where it still has none. A new range that was never owned yet is no loss."""
    verdict, now = target.evidence.verdict(), target.now()
    gaps = (gap for gap in verdict.gaps if gap.began_at >= target.settled_at)
    return max(((now if gap.ended_at is None else gap.ended_at) - gap.began_at for gap in gaps), default=0.0)


def ranges(target: Target = RUNNING) -> int:
    """How many ranges have a living owner."""
    return len(ownership.owned_spans(target.evidence.verdict(), target.pods.ends))


def longest_takeover_leases(target: Target = RUNNING) -> float:
    """The same in leases of the fleet, for bounds that hold whatever its lease is."""
    return longest_takeover_seconds(target) / target.lease_seconds
