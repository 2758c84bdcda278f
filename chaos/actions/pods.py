"""What becomes of whole pods."""

from __future__ import annotations

from typing import Any

from chaos.actions.processes import chosen, ranges_of_pod
from chaos.targets.running import RUNNING
from chaos.targets.target import Target


def lose_pod(pod: str = "", back_after_seconds: float = 0.0, target: Target = RUNNING) -> dict[str, Any]:
    """A pod ends at once, as with its node, and is made again after a while.

    pod: its name, or "coordinator" for the one whose agent is in office; left out, that of the busiest worker. Raises
    TargetFailed where its workers own nothing: its loss would prove nothing.
    """
    name = target.pods.coordinator() if pod == "coordinator" else pod or chosen(target, "")[1]
    ranges = ranges_of_pod(target, name)
    target.pods.kill_pod(name)
    if back_after_seconds:
        target.sleep(back_after_seconds)
    target.pods.come_back(name)
    return {"pod": name, "ranges": ranges}


def restart_pods(pause_seconds: float = 0.0, target: Target = RUNNING) -> dict[str, Any]:
    """One after the other, as a rolling update does: told to end, waited for, made again."""
    names = target.pods.names()
    for name in reversed(names):
        target.pods.stop(name)
        target.pods.come_back(name)
        target.sleep(pause_seconds)
    return {"pods": names}
