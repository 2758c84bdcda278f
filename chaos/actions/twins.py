"""Two pods under one name: what there is after a pod was deleted by force on a node that nobody reaches."""

from __future__ import annotations

from typing import Any

from chaos.actions.processes import chosen
from chaos.targets.own_pods import own_pods
from chaos.targets.running import RUNNING
from chaos.targets.target import Target, TargetFailed


def start_twin(pod: str = "", target: Target = RUNNING) -> dict[str, Any]:
    """pod: left out, that of the busiest worker. Only for pods that are processes of ours."""
    name = pod or chosen(target, "")[1]
    return {"pod": name, "twin": own_pods(target).start_twin(name)}


def kill_first(target: Target = RUNNING) -> dict[str, Any]:
    """All processes at once of the pod that a twin was started for. Raises TargetFailed where there is none."""
    pods = own_pods(target)
    twins = pods.twins()
    if not twins:
        raise TargetFailed("no pod has a twin")
    name, _ = twins[0]
    pods.kill_pod(name)
    return {"pod": name}


def stop_twins(target: Target = RUNNING) -> dict[str, Any]:
    """SIGTERM to those that were started last."""
    pods = own_pods(target)
    twins = [twin for _, twin in pods.twins()]
    for twin in twins:
        pods.stop(twin)
    return {"pods": twins}
