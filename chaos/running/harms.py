"""What was done to the processes of a target, for the journal."""

from __future__ import annotations

from chaos.running.journal import Harm
from chaos.targets.own_pods import OwnPods
from chaos.targets.target import Pods


def harms_of(pods: Pods) -> list[Harm]:
    """In the order of their times."""
    found = [Harm(kind="killed", pod=end.pod, child=end.child, member=end.member, at=end.at) for end in pods.ends]
    if isinstance(pods, OwnPods):
        found += [
            Harm(kind="paused", pod=halt.pod, child=halt.child, member=halt.member, at=halt.at, until=halt.resumed_at)
            for halt in pods.halts
        ]
    return sorted(found, key=lambda harm: harm.at)
