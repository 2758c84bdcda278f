"""What can be wrong with the clocks of a pod's machine. Only for pods that are processes of ours."""

from __future__ import annotations

from typing import Any

from chaos.actions.strikes import strike
from chaos.targets.own_pods import own_pods
from chaos.targets.ownership import owned_ranges
from chaos.targets.running import RUNNING
from chaos.targets.target import Target, TargetFailed


def restart_with_clock(pod: str, rate: float = 1.0, target: Target = RUNNING) -> dict[str, Any]:
    """The pod comes back on a machine with a clock of its own, which runs at that rate. See
    `chaos.targets.false_clock`."""
    pods = own_pods(target)
    if pod in pods.names():
        pods.stop(pod)
    pods.start_with_clock(pod, rate=rate)
    return {"pod": pod, "rate": rate, "strikes": [strike(f"{pod} with a clock of its own, rate {rate:g}", target)]}


def step_clock(
    pod: str, boot_seconds: float = 0.0, wall_seconds: float = 0.0, target: Target = RUNNING
) -> dict[str, Any]:
    """Sets the clock of a pod that was restarted with one. pod: its name, or "coordinator" for the one in office.

    wall_seconds: the time of day, forward or back. boot_seconds: the time since the machine began, which only goes
    forward: what processes see of a machine that slept. Raises TargetFailed where the pod's workers own nothing: nobody
    would notice.
    """
    pods = own_pods(target)
    name = pods.coordinator() if pod == "coordinator" else pod
    owned = owned_ranges(target.evidence.verdict(), pods.ends)
    ranges = sum(owned.get(member, 0) for member, (of, _) in pods.members().items() if of == name)
    if not ranges:
        raise TargetFailed(f"no worker of the pod {name} owns a range: nobody would notice what its clock says")
    pods.step_clock(name, boot_seconds=boot_seconds, wall_seconds=wall_seconds)
    struck = strike(f"clock of {name} set: boot {boot_seconds:+g} s, wall {wall_seconds:+g} s", target)
    return {"pod": name, "ranges": ranges, "strikes": [struck]}
