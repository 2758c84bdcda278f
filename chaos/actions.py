"""What an experiment can do to a fleet. Each returns what it did, for the journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaos.oracle import owned_ranges
from chaos.target import Target, TargetFailed

_LOOK_SECONDS = 0.1
_NOTHING_LEFT = {"unowned": 0, "unsettled": 0}


def kill_worker(target: Target, worker: int | None = None) -> dict[str, Any]:
    """SIGKILL to one worker: the one of that slot, or the one that owns most ranges.

    The answer says how many objects were not settled right after it: 0 means that it died idle.
    Raises TargetFailed where it owns nothing.
    """
    owned = owned_ranges(target.verdict(), target.kills)
    members = target.members()
    child = _busiest(members, owned) if worker is None else f"worker-{worker}"
    ranges = owned.get(members.get(child, ""), 0)
    if not ranges:
        raise TargetFailed(f"{child or 'the fleet'} owns no range: its death would prove nothing")
    kill = target.kill(child)
    return {"child": kill.child, "pid": kill.pid, "ranges": ranges, "unsettled": target.unsettled()}


def add_objects(target: Target, count: int) -> dict[str, Any]:
    """Makes that many more primary objects, for the workers to be busy with. Does not wait for the fleet."""
    target.add_objects(count)
    return {"added": count}


def wait_until_settled(target: Target, timeout_seconds: float) -> dict[str, Any]:
    """Until every range has a living owner and the controller is done with every object, or the time is over: what is
    missing then is for the hypothesis to judge."""
    began = target.now()
    while (left := _left(target)) != _NOTHING_LEFT and target.now() - began < timeout_seconds:
        target.sleep(_LOOK_SECONDS)
    return {**left, "seconds": round(target.now() - began, 3)}


def _left(target: Target) -> dict[str, int]:
    """Ranges first: an object that was done while its range had no owner may be undone by the next one."""
    unowned = target.ranges - owned_ranges(target.verdict(), target.kills).total()
    return {"unowned": unowned, "unsettled": target.unsettled()}


def _busiest(members: Mapping[str, str], owned: Mapping[str, int]) -> str:
    return max(sorted(members), key=lambda child: owned.get(members[child], 0), default="")
