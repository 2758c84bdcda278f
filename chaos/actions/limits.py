"""What a living worker may use, taken away from it. Only for pods that are processes of ours."""

from __future__ import annotations

from typing import Any

from chaos.actions.processes import chosen
from chaos.actions.strikes import strike
from chaos.targets.own_pods import own_pods
from chaos.targets.running import RUNNING
from chaos.targets.target import Target
from shards.errors import ShardError

NO_MORE_FILES = 3
"""The limit is a number that no descriptor may reach; the first three are those of every process."""
_CUT_SECONDS = 1.0


def exhaust_files(worker: str = "", target: Target = RUNNING) -> dict[str, Any]:
    """The worker can open no file and no connection any more, and loses those connections that it has. worker: left
    out, the busiest one."""
    member, pod, child = chosen(target, worker)
    own_pods(target).limit_files(pod, child, NO_MORE_FILES)
    try:
        target.server.inject(
            {"fault": "cut", "after_bytes": 0, "match": {"member": member}, "until_seconds": _CUT_SECONDS},
        )
    except ShardError:
        own_pods(target).lift_limits()
        raise
    return {"worker": member, "strikes": [strike(f"no descriptors for {member}", target)]}


def limit_memory(spare_mib: int = 0, worker: str = "", target: Target = RUNNING) -> dict[str, Any]:
    """So much more memory may the worker ask for; beyond it, it is told that there is none."""
    member, pod, child = chosen(target, worker)
    limit_mib = own_pods(target).limit_memory(pod, child, spare_mib)
    return {"worker": member, "limit_mib": limit_mib, "strikes": [strike(f"no memory for {member}", target)]}


def lift_limits(target: Target = RUNNING) -> dict[str, Any]:
    """As they were before, for whatever lives."""
    own_pods(target).lift_limits()
    return {}
