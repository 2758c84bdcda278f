"""What a living worker may use, taken away from it. Only for pods that are processes of ours."""

from __future__ import annotations

from typing import Any

from chaos.actions.processes import chosen
from chaos.targets.own_pods import own_pods
from chaos.targets.running import RUNNING
from chaos.targets.target import Target


def limit_files(spare: int = 0, worker: str = "", target: Target = RUNNING) -> dict[str, Any]:
    """So many more files and connections may the worker open, and not one more. worker: left out, the busiest one."""
    member, pod, child = chosen(target, worker)
    return {"worker": member, "limit": own_pods(target).limit_files(pod, child, spare)}


def limit_memory(spare_mib: int = 0, worker: str = "", target: Target = RUNNING) -> dict[str, Any]:
    """So much more memory may the worker ask for; beyond it, it is told that there is none."""
    member, pod, child = chosen(target, worker)
    return {"worker": member, "limit_mib": own_pods(target).limit_memory(pod, child, spare_mib)}


def lift_limits(target: Target = RUNNING) -> dict[str, Any]:
    """As they were before, for whatever lives."""
    own_pods(target).lift_limits()
    return {}
