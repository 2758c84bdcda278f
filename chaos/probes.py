"""What an experiment can ask about a fleet. The answers come from the recorder and from the objects, never from the
fleet's own word."""

from __future__ import annotations

from chaos.oracle import owned_ranges as count_owned_ranges
from chaos.oracle import takeover_seconds
from chaos.target import Target


def owned_ranges(target: Target) -> int:
    """Ranges with a living owner."""
    return count_owned_ranges(target.verdict(), target.kills).total()


def living_workers(target: Target) -> int:
    """Worker processes."""
    return len(target.members())


def longest_takeover_seconds(target: Target) -> float:
    """Over all kills and ranges: from the kill until the range was claimed again; 0 before the first kill."""
    verdict, now = target.verdict(), target.now()
    return max((max(takeover_seconds(verdict, kill, now).values(), default=0.0) for kill in target.kills), default=0.0)


def unsettled_objects(target: Target) -> int:
    """Primary objects with which the controller is not done."""
    return target.unsettled()


def fleet_writes(target: Target) -> int:
    """Writes by the fleet to other than its own records; more than 0 shows that the recorder sees it."""
    return target.verdict().fleet_writes


def overlaps(target: Target) -> int:
    """Moments at which two lived that held one range, and writes by members that did not hold the key's range."""
    return target.verdict().overlap_violations


def writes_after_release(target: Target) -> int:
    """Writes by a member that had released the key's range."""
    return target.verdict().writes_after_release


def unattributed_writes(target: Target) -> int:
    """Writes by the fleet of which the recorder cannot say who made them."""
    return target.verdict().unattributed_writes


def duplicate_child_posts(target: Target) -> int:
    """Children that were posted although they existed."""
    return target.verdict().duplicate_child_posts


def duplicate_status_writes(target: Target) -> int:
    """Status writes that wrote what was there."""
    return target.verdict().duplicate_status_writes
