"""The row of a pod: what `kubectl get pods` shows. Pure. Source: printPod of the real server's printers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleet.devcluster.printing.durations import Ages, seconds_of
from fleet.devcluster.printing.phrases import NONE, condition_status, created, name_of
from shards.objects import Object

Cells = list[Any]
Container = Mapping[str, Any]


@dataclass(slots=True)
class _Tally:
    """Restarts of containers, and when the last of them was (an RFC 3339 timestamp, "" for never)."""

    restarts: int = 0
    last: str = ""

    def add(self, container: Container) -> None:
        self.restarts += container.get("restartCount") or 0
        terminated = (container.get("lastState") or {}).get("terminated") or {}
        finished = terminated.get("finishedAt") or ""
        if finished and (not self.last or (seconds_of(self.last) or 0) < (seconds_of(finished) or 0)):
            self.last = finished

    def text(self, ages: Ages) -> str:
        if self.restarts and self.last:
            return f"{self.restarts} ({ages.since(self.last)} ago)"
        return str(self.restarts)


@dataclass(slots=True)
class _State:
    """What is found out about a pod container by container."""

    reason: str
    ready: int = 0
    initialising: bool = False


def pod(obj: Object, ages: Ages) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    state = _State(status.get("reason") or status.get("phase") or "")
    for condition in status.get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            state.reason = "SchedulingGated"
    sidecars = {each["name"] for each in spec.get("initContainers") or [] if each.get("restartPolicy") == "Always"}
    every, staying = _Tally(), _Tally()
    _look_at_init_containers(spec, status, sidecars, state, every, staying)
    tally = every
    if not state.initialising or condition_status(obj, "Initialized") == "True":
        tally = staying
        _look_at_containers(obj, status, state, tally)
    total = len(spec.get("containers") or []) + len(sidecars)
    return [
        name_of(obj),
        f"{state.ready}/{total}",
        _reason(obj, status, state),
        tally.text(ages),
        ages.since(created(obj)),
        *_wide(obj, spec, status),
    ]


def _reason(obj: Object, status: Mapping[str, Any], state: _State) -> str:
    if not obj["metadata"].get("deletionTimestamp"):
        return state.reason
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return state.reason if status.get("phase") in ("Succeeded", "Failed") else "Terminating"


def _wide(obj: Object, spec: Mapping[str, Any], status: Mapping[str, Any]) -> Cells:
    addresses = status.get("podIPs") or [{}]
    gates = spec.get("readinessGates") or []
    open_gates = sum(condition_status(obj, each["conditionType"]) == "True" for each in gates)
    return [
        addresses[0].get("ip") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        f"{open_gates}/{len(gates)}" if gates else NONE,
    ]


def _look_at_init_containers(
    spec: Mapping[str, Any],
    status: Mapping[str, Any],
    sidecars: set[str],
    state: _State,
    every: _Tally,
    staying: _Tally,
) -> None:
    for index, container in enumerate(status.get("initContainerStatuses") or []):
        every.add(container)
        sidecar = container.get("name") in sidecars
        if sidecar:
            staying.add(container)
        current = container.get("state") or {}
        terminated, waiting = current.get("terminated"), (current.get("waiting") or {}).get("reason")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if sidecar and container.get("started"):
            state.ready += bool(container.get("ready"))
            continue
        if terminated is not None:
            state.reason = f"Init:{_ended(terminated)}"
        elif waiting and waiting != "PodInitializing":
            state.reason = f"Init:{waiting}"
        else:
            state.reason = f"Init:{index}/{len(spec.get('initContainers') or [])}"
        state.initialising = True
        return


def _look_at_containers(obj: Object, status: Mapping[str, Any], state: _State, tally: _Tally) -> None:
    running, failure = False, ""
    for container in reversed(status.get("containerStatuses") or []):
        tally.add(container)
        current = container.get("state") or {}
        terminated, waiting = current.get("terminated"), (current.get("waiting") or {}).get("reason")
        if waiting:
            state.reason = waiting
        elif terminated is not None:
            state.reason = _ended(terminated)
            failure = state.reason if terminated.get("exitCode") else failure
        elif container.get("ready") and current.get("running") is not None:
            running = True
            state.ready += 1
    if state.reason != "Completed":
        return
    if running and condition_status(obj, "Ready") == "True":
        state.reason = "Running"
    elif failure:
        state.reason = failure
    elif running:
        state.reason = "NotReady"


def _ended(terminated: Mapping[str, Any]) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def pod_conditions(obj: Object) -> list[dict[str, str]]:
    """Conditions of the row: a pod that has ended is marked, so that clients may leave it out."""
    phase = (obj.get("status") or {}).get("phase")
    told = {
        "Succeeded": "The pod has completed successfully.",
        "Failed": "The pod failed.",
    }
    if phase not in told:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": told[phase]}]
