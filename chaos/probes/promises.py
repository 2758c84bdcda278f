"""Which promises were kept, by the recording. See docs/invariants.md."""

from __future__ import annotations

from chaos.targets.running import RUNNING
from chaos.targets.target import Target

NONE = "none"


def broken_invariants(target: Target = RUNNING, without: list[str] | None = None) -> str:
    """Those of I1 to I27 that the recording and the workers' journals refute, each with what was found first; "none".

    without: ids that the experiment takes away: its file has to say why.
    """
    found = [each for each in target.evidence.whole().broken_invariants if each.id not in (without or ())]
    return "; ".join(f"{each.id} {each.findings[0].what if each.findings else ''}" for each in found) or NONE


def double_acts(target: Target = RUNNING) -> int:
    """Overlaps of ownership, writes by who did not hold the key, and children and statuses written twice."""
    verdict = target.evidence.verdict()
    return (
        verdict.overlap_violations
        + verdict.writes_after_release
        + verdict.duplicate_child_posts
        + verdict.duplicate_status_writes
    )


def unattributed_writes(target: Target = RUNNING) -> int:
    """Writes by the fleet of which the recorder cannot say who made them."""
    return target.evidence.verdict().unattributed_writes


def fleet_writes(target: Target = RUNNING) -> int:
    """Writes by the fleet to other than its own records; more than 0 shows that the recorder sees it."""
    return target.evidence.verdict().fleet_writes
