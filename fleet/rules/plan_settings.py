"""What bounds a plan: how much moves at once, how often, and what is not worth a move."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """churn_per_round: part of all ranges that may be on their way by choice at once (at least one range may)."""

    churn_per_round: float = 0.1
    cooldown_seconds: float = 30.0
    tolerance: float = 0.05
    """Part of its fair share by which a member may carry more or less without a move by choice."""
    debounce_seconds: float = 1.0
    """A membership that changed less than this ago is not planned on: members tend to come and go together."""
    restart_grace_seconds: float = 0.0
    """How long the ranges of a fenced member wait for its return before others are given them."""
    standby_deadline_seconds: float = 60.0
    """A target whose standby is not synced by then loses the range again (R13)."""
    auto_split: bool = False
    """Whether hot ranges are split and cold neighbours merged; then `shards.count` is the least number of ranges."""
