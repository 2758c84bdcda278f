"""What can be done to the processes of a fleet. Each answer says to whom it was done, for the journal.

`worker` is the name of a member, such as `a-0`; left out, it is the one that owns most keys.
"""

from __future__ import annotations

from typing import Any

from chaos.targets.ownership import owned_ranges, owned_share
from chaos.targets.running import RUNNING
from chaos.targets.target import Target, TargetFailed
from shards.errors import ShardError

SUPERVISOR = "supervisor"
_LOOK_SECONDS = 0.1


def kill_worker(worker: str = "", target: Target = RUNNING) -> dict[str, Any]:
    """SIGKILL to one worker. Raises TargetFailed where it owns nothing: its death would prove nothing."""
    member, pod, child = chosen(target, worker)
    ranges = _ranges(target, member)
    end = target.pods.kill(pod, child)
    return {"worker": member, "pid": end.pid, "ranges": ranges, "unsettled": target.people.unsettled()}


def pause_worker(worker: str = "", target: Target = RUNNING) -> dict[str, Any]:
    """SIGSTOP to one worker."""
    member, pod, child = chosen(target, worker)
    ranges = _ranges(target, member)
    target.pods.pause(pod, child)
    return {"worker": member, "ranges": ranges}


def pause_pod(pod: str = "", target: Target = RUNNING) -> dict[str, Any]:
    """SIGSTOP to everything of one pod, its supervisor first: what its machine does when it stands still. pod: left
    out, the one of the busiest worker. Raises TargetFailed where its workers own nothing."""
    name = pod or chosen(target, "")[1]
    ranges_of_pod(target, name)
    members = {member: child for member, (of, child) in target.pods.members().items() if of == name}
    paused: list[str] = []
    try:
        for child in (SUPERVISOR, "agent", *members.values()):
            target.pods.pause(name, child)
            paused.append(child)
    except ShardError:
        # Half of a machine does not stand still, and whoever asked for it does not know of the half that does.
        for child in paused:
            target.pods.resume(name, child)
        raise
    return {"pod": name, "workers": sorted(members)}


def resume_workers(target: Target = RUNNING) -> dict[str, Any]:
    """SIGCONT to everything that was paused and lives."""
    target.pods.resume_all()
    return {}


def pause_coordinator(target: Target = RUNNING) -> dict[str, Any]:
    """SIGSTOP to the agent that is in office."""
    pod = target.pods.coordinator()
    target.pods.pause(pod, "agent")
    return {"pod": pod}


def kill_pod(pod: str = "", target: Target = RUNNING) -> dict[str, Any]:
    """Everything of one pod at once, as when its node loses its power. pod: left out, the one of the busiest worker.
    Raises TargetFailed where its workers own nothing."""
    name = pod or chosen(target, "")[1]
    ranges = ranges_of_pod(target, name)
    target.pods.kill_pod(name)
    return {"pod": name, "ranges": ranges}


def kill_coordinator(target: Target = RUNNING) -> dict[str, Any]:
    """SIGKILL to the agent that is in office."""
    pod = target.pods.coordinator()
    end = target.pods.kill(pod, "agent")
    return {"pod": pod, "pid": end.pid}


def start_pods(names: list[str], target: Target = RUNNING) -> dict[str, Any]:
    """More pods, or those that have ended again."""
    for name in names:
        target.pods.start(name)
    return {"pods": target.pods.names()}


def stop_pods(names: list[str], target: Target = RUNNING) -> dict[str, Any]:
    """SIGTERM to one pod after the other; each is waited for."""
    for name in names:
        target.pods.stop(name)
    return {"pods": target.pods.names()}


def stop_busiest_pod(target: Target = RUNNING) -> dict[str, Any]:
    """SIGTERM to the pod of the busiest worker, which is waited for."""
    name = chosen(target, "")[1]
    target.pods.stop(name)
    return {"pod": name}


def roll_pods(revision: str, pause_seconds: float = 0.0, target: Target = RUNNING) -> dict[str, Any]:
    """One pod after the other is told to end, is waited for, and comes back with that revision."""
    names = target.pods.names()
    for name in names:
        target.pods.stop(name)
        target.pods.start(name, revision=revision)
        target.sleep(pause_seconds)
    return {"pods": names, "revision": revision}


def restart_pod(pod: str, target: Target = RUNNING) -> dict[str, Any]:
    """It ends as a kubelet ends it, where it runs, and comes back."""
    if pod in target.pods.names():
        target.pods.stop(pod)
    target.pods.start(pod)
    return {"pod": pod}


def start_killed_pods(target: Target = RUNNING) -> dict[str, Any]:
    """Those that were killed and are not back."""
    killed = {end.pod for end in target.pods.ends if end.child == SUPERVISOR} - set(target.pods.names())
    for name in sorted(killed):
        target.pods.come_back(name)
    return {"pods": sorted(killed)}


def wait_for_owners(count: int, timeout_seconds: float, target: Target = RUNNING) -> dict[str, Any]:
    """Until so many workers own ranges, and none is without an owner. Raises TargetFailed."""
    began = target.now()
    while target.now() < began + timeout_seconds:
        verdict = target.evidence.verdict()
        owners = owned_ranges(verdict, target.pods.ends)
        if len(owners) >= count and owned_share(verdict, target.pods.ends) == 1.0:
            return {"owners": len(owners), "seconds": round(target.now() - began, 3)}
        target.sleep(_LOOK_SECONDS)
    raise TargetFailed(f"after {timeout_seconds:g} s {len(owners)} workers own ranges, not {count}")


def chosen(target: Target, worker: str) -> tuple[str, str, str]:
    """Member, pod and child of a worker that lives. Raises TargetFailed."""
    members = target.pods.members()
    if not worker:
        owned = owned_ranges(target.evidence.verdict(), target.pods.ends)
        worker = max(sorted(members), key=lambda member: owned.get(member, 0), default="")
    if worker not in members:
        raise TargetFailed(f"there is no worker {worker!r}; there are {', '.join(sorted(members)) or 'none'}")
    return (worker, *members[worker])


def ranges_of_pod(target: Target, pod: str) -> int:
    """How many the workers of a pod own. Raises TargetFailed for none."""
    owned = owned_ranges(target.evidence.verdict(), target.pods.ends)
    ranges = sum(owned.get(member, 0) for member, (of, _) in target.pods.members().items() if of == pod)
    if not ranges:
        raise TargetFailed(f"no worker of the pod {pod} owns a range: what is done to it would prove nothing")
    return ranges


def _ranges(target: Target, member: str) -> int:
    """How many the member owns. Raises TargetFailed for none."""
    ranges = owned_ranges(target.evidence.verdict(), target.pods.ends).get(member, 0)
    if not ranges:
        raise TargetFailed(f"{member} owns no range: what is done to it would prove nothing")
    return ranges
