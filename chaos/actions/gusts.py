"""What a storm is made of: faults that begin, and end after a while. Every choice comes from the storm's own source of
randomness, so that a seed repeats it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from chaos.actions import limits, moves, records, trouble
from chaos.actions.objects import made_again, own_resource
from chaos.actions.processes import pause_pod
from chaos.actions.server import inject
from chaos.targets.own_pods import own_pods
from chaos.targets.target import Target, TargetFailed

End = Callable[[], object]
Begin = Callable[[Target, Random], tuple[str, End]]
"""What was done, in words, and what ends it. Raises TargetFailed where it cannot be done (now)."""


@dataclass(frozen=True, slots=True)
class Gust:
    """seconds: how long it lasts, at least and at most."""

    name: str
    begin: Begin
    seconds: tuple[float, float] = (2.0, 12.0)


def _over() -> None:
    """It is over as soon as it has begun."""


# -- processes --------------------------------------------------------------------------------------------------------


def _worker(target: Target, rng: Random) -> tuple[str, str, str]:
    members = target.pods.members()
    if not members:
        raise TargetFailed("no worker is alive")
    member = rng.choice(sorted(members))
    return (member, *members[member])


def _pod(target: Target, rng: Random) -> str:
    names = target.pods.names()
    if len(names) < 2:
        raise TargetFailed("only one pod runs")
    return rng.choice(names)


def _kill_worker(target: Target, rng: Random) -> tuple[str, End]:
    member, pod, child = _worker(target, rng)
    target.pods.kill(pod, child)
    return member, _over


def _pause_worker(target: Target, rng: Random) -> tuple[str, End]:
    member, pod, child = _worker(target, rng)
    target.pods.pause(pod, child)
    return member, lambda: target.pods.resume(pod, child)


def _pause_pod(target: Target, rng: Random) -> tuple[str, End]:
    pod = _pod(target, rng)
    pause_pod(pod, target)
    halted = [each for each in own_pods(target).halts if each.pod == pod and each.resumed_at is None]

    def end() -> None:
        for each in halted:
            target.pods.resume(each.pod, each.child)

    return pod, end


def _kill_coordinator(target: Target, rng: Random) -> tuple[str, End]:
    pod = target.pods.coordinator()
    target.pods.kill(pod, "agent")
    return pod, _over


def _pause_coordinator(target: Target, rng: Random) -> tuple[str, End]:
    pod = target.pods.coordinator()
    target.pods.pause(pod, "agent")
    return pod, lambda: target.pods.resume(pod, "agent")


def _lose_pod(target: Target, rng: Random) -> tuple[str, End]:
    pod = _pod(target, rng)
    target.pods.kill_pod(pod)
    return pod, lambda: target.pods.start(pod)


def _restart_pod(target: Target, rng: Random) -> tuple[str, End]:
    pod = _pod(target, rng)
    target.pods.stop(pod)
    return pod, lambda: target.pods.start(pod)


def _scale(target: Target, rng: Random) -> tuple[str, End]:
    pod = rng.choice(["w-1", "w-11"])
    own_pods(target).start(pod)
    return pod, lambda: target.pods.stop(pod)


def _twin(target: Target, rng: Random) -> tuple[str, End]:
    pod = _pod(target, rng)
    twin = own_pods(target).start_twin(pod)
    return pod, lambda: target.pods.stop(twin)


def _clock(target: Target, rng: Random) -> tuple[str, End]:
    """Within the margin that leases are made for; at the end its machine has slept."""
    pods, pod, rate = own_pods(target), _pod(target, rng), round(rng.uniform(0.93, 1.07), 3)
    pods.stop(pod)
    pods.start_with_clock(pod, rate=rate)

    def end() -> None:
        pods.step_clock(pod, boot_seconds=2 * target.lease_seconds)
        pods.stop(pod)
        pods.start(pod)

    return f"{pod} at {rate:g}", end


def _files(target: Target, rng: Random) -> tuple[str, End]:
    member, _, _ = _worker(target, rng)
    limits.exhaust_files(member, target)
    return member, own_pods(target).lift_limits


# -- the server, and the way to it ------------------------------------------------------------------------------------


def _pause_server(target: Target, rng: Random) -> tuple[str, End]:
    target.server.pause()
    return "SIGSTOP", target.server.resume


def _fault(fault: Mapping[str, Any], *, one: bool = False) -> Begin:
    """one: strikes one worker, not all."""

    def begin(target: Target, rng: Random) -> tuple[str, End]:
        match = dict(fault.get("match", {}))
        what = "all"
        if one:
            what = match["member"] = _worker(target, rng)[0]
        number = inject({**fault, "match": match}, target)["number"]
        return what, lambda: target.server.release([number])

    return begin


_WRITES = {"verbs": ["create", "update", "patch", "delete"]}
_FAULTS: Mapping[str, Begin] = {
    "events come late": _fault({"fault": "delay_events", "seconds": 2.0}),
    "no event at all": _fault({"fault": "silence", "match": {"verbs": ["watch"]}}, one=True),
    "watches expire": _fault({"fault": "expire", "probability": 0.3}),
    "answers are cut": _fault({"fault": "cut", "fraction": 0.5, "probability": 0.2}),
    "one is not heard": _fault({"fault": "partition", "way": "to_server"}, one=True),
    "one hears nothing": _fault({"fault": "partition", "way": "to_client"}, one=True),
    "503": _fault({"fault": "refuse", "status": 503, "probability": 0.5}),
    "429": _fault({"fault": "refuse", "status": 429, "retry_after_seconds": 1, "probability": 0.5}),
    "answers are lost": _fault({"fault": "lost_ack", "probability": 0.3, "match": _WRITES}),
    "connections break": _fault({"fault": "reset", "probability": 0.3}),
    "answers come late": _fault({"fault": "delay_answers", "seconds": 1.0}),
}


# -- records, layout, objects -----------------------------------------------------------------------------------------


def _record(change: Callable[..., dict[str, Any]], kinds: tuple[str, ...]) -> Begin:
    def begin(target: Target, rng: Random) -> tuple[str, End]:
        done = change(rng.choice(kinds), target=target)
        return str(next(iter(done.values()))), _over

    return begin


def _spoil_map(target: Target, rng: Random) -> tuple[str, End]:
    return str(records.spoil_map(target)["edited"]), _over


def _reshard(target: Target, rng: Random) -> tuple[str, End]:
    count = rng.choice([6, 8, 12, 16])
    moves.reshard(count, target)
    return f"{count} ranges", _over


def _recreate(target: Target, rng: Random) -> tuple[str, End]:
    """Somebody deletes an object and makes it again, under the same name."""
    resource, namespace = own_resource(target), target.names.namespace
    there = target.api.list(resource, namespace)
    if not there:
        raise TargetFailed("there is no object")
    name = rng.choice(there)["metadata"]["name"]
    found = target.api.get(resource, namespace, name)
    target.api.delete(resource, namespace, name)
    made_again(target, found)
    return name, _over


def _trouble(kind: str, seconds: float) -> Begin:
    def begin(target: Target, rng: Random) -> tuple[str, End]:
        if target.people.resource.plural != "sites":
            raise TargetFailed("only sites can be trouble")
        trouble.remove_trouble(target)
        trouble.make_trouble(kind, 1, seconds, target)
        return kind, lambda: trouble.remove_trouble(target)

    return begin


_LEASES = ("shard", "member", "coordinator")
GUSTS: tuple[Gust, ...] = (
    Gust("kill a worker", _kill_worker),
    Gust("stop a worker in its tracks", _pause_worker),
    Gust("a pod stands still", _pause_pod),
    Gust("kill the coordinator", _kill_coordinator),
    Gust("stop the coordinator in its tracks", _pause_coordinator),
    Gust("lose a pod", _lose_pod),
    Gust("a pod restarts", _restart_pod, (1.0, 3.0)),
    Gust("one more pod", _scale, (6.0, 14.0)),
    Gust("a twin of a pod", _twin, (4.0, 10.0)),
    Gust("a pod with a wrong clock", _clock, (6.0, 12.0)),
    Gust("no more files", _files),
    Gust("the server stands still", _pause_server, (1.0, 6.0)),
    *(Gust(name, begin) for name, begin in _FAULTS.items()),
    Gust("a record is deleted", _record(records.delete_record, (*_LEASES, "map"))),
    Gust("a Lease is stolen", _record(records.steal_record, _LEASES)),
    Gust("a Lease is emptied", _record(records.empty_record, _LEASES)),
    Gust("an epoch is lowered", _record(records.lower_epoch, _LEASES)),
    Gust("the map is spoiled", _spoil_map),
    Gust("other ranges", _reshard),
    Gust("an object is made again", _recreate),
    Gust("an object that blocks", _trouble("blocking", 20.0), (4.0, 12.0)),
    Gust("an object that kills", _trouble("poison", 0.0), (4.0, 12.0)),
)
