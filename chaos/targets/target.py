"""The fleet that is experimented on, as actions and probes see it. Targets keep what they cannot do as refusals.

`dev` and `real` are fleets of our own, started for the experiment: pods are groups of processes on this machine, and
a recorder with faults stands between them and the server (`chaos.targets.bed`). `kube` is somebody's fleet in a
cluster (`chaos.targets.kube`): what is done there goes through its API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fleet.devcluster.evidence.verdict import Verdict
from fleet.devcluster.recording.journal import Entry
from fleet.records.object_names import Names
from shards.errors import ShardError
from shards.journal import Note
from shards.objects import Object, Resource


class TargetFailed(ShardError):
    """The target did not start, ended by itself, or cannot be asked or harmed as wanted."""


@dataclass(frozen=True, slots=True)
class End:
    """A process that an action has ended. member: "" for one that is no worker. at: boot-clock seconds, right before
    the signal."""

    pod: str
    child: str
    member: str
    pid: int
    at: float


class Pods(Protocol):
    """The processes of the fleet. A pod has a supervisor, an agent and workers; `child` names the last two.

    Methods raise TargetFailed where there is no such process, and where the target has no hold of it.
    """

    @property
    def ends(self) -> Sequence[End]:
        """What actions have ended, in their order."""
        ...

    def names(self) -> list[str]:
        """Of the pods that run, sorted."""
        ...

    def members(self) -> Mapping[str, tuple[str, str]]:
        """Pod and child of each worker process that is alive, by name of its member."""
        ...

    def coordinator(self) -> str:
        """The pod whose agent is in office."""
        ...

    def start(self, pod: str, *, revision: str = "") -> None:
        """One more, or again one that has ended."""
        ...

    def come_back(self, pod: str) -> None:
        """One that was killed, as its StatefulSet makes it again. Returns once it runs."""
        ...

    def stop(self, pod: str) -> None:
        """SIGTERM, and waits as long as a kubelet would."""
        ...

    def kill_pod(self, pod: str) -> End:
        """What a node does that loses its power: all its processes end at once."""
        ...

    def kill(self, pod: str, child: str) -> End:
        """SIGKILL to exactly the process that bears the name now."""
        ...

    def pause(self, pod: str, child: str) -> None:
        """SIGSTOP."""
        ...

    def resume(self, pod: str, child: str) -> None:
        """SIGCONT; of a process that has ended meanwhile it says nothing."""
        ...

    def resume_all(self) -> None:
        """Everything that was paused and lives."""
        ...


class Server(Protocol):
    """The API server and the way to it. Raises TargetFailed where the target has no hold of them."""

    def inject(self, *faults: Mapping[str, Any]) -> list[int]:
        """Puts faults (docs/faults.md) in force; their numbers."""
        ...

    def release(self, numbers: Sequence[int]) -> None:
        """Ends those that are still in force."""
        ...

    def struck(self) -> dict[int, int]:
        """How often each fault that was ever in force has met something."""
        ...

    def heal(self) -> None:
        """Ends all faults, and lets a server go on that was paused."""
        ...

    def pause(self) -> None:
        """SIGSTOP to the API server."""
        ...

    def resume(self) -> None: ...

    def freeze_replica(self) -> str:
        """Another front end of it, which nobody uses so far, is told of nothing any more, until everything is healed.
        Its name, for the fault `stale_replica`."""
        ...

    def compact(self) -> None:
        """Its history goes: nothing can be watched, or listed, from what was before."""
        ...

    def back_up(self) -> None:
        """Keeps what it stores now."""
        ...

    def restore(self) -> None:
        """Goes back to what was kept, as after a restore from a backup: versions go back too, and watches end."""
        ...


class Api(Protocol):
    """The API, as people use it. Raises ApiError and Unreachable."""

    def get(self, resource: Resource, namespace: str, name: str) -> Object: ...

    def list(self, resource: Resource, namespace: str = "", *, labels: str = "") -> list[Object]: ...

    def create(self, resource: Resource, namespace: str, body: Object) -> Object: ...

    def patch(self, resource: Resource, namespace: str, name: str, patch: Object, *, subresource: str = "") -> Object:
        """A merge patch."""
        ...

    def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object: ...

    def delete(self, resource: Resource, namespace: str, name: str) -> None: ...


class People(Protocol):
    """Those who use the operator: they make primary objects and change them, and know when one is as it should be."""

    @property
    def resource(self) -> Resource: ...

    def add(self, count: int) -> None:
        """So many more objects."""
        ...

    def remove(self, count: int) -> list[str]:
        """So many of the oldest ones go. Their names; fewer where there are fewer."""
        ...

    def unsettled(self) -> int:
        """How many objects the controller is not done with, by their live state; those that should exist and do not
        count too."""
        ...

    def keep_changing(self, per_second: float) -> None:
        """One object after the other from now on, in the background; 0 ends it."""
        ...

    @property
    def changes(self) -> int:
        """How many were made."""
        ...


class Evidence(Protocol):
    """What was recorded. Times are boot-clock seconds."""

    def verdict(self) -> Verdict:
        """By the recorder alone, so far: cheap, and without what only the workers' own journals show."""
        ...

    def whole(self) -> Verdict:
        """The same, with the workers' journals beside it."""
        ...

    def entries(self) -> list[Entry]: ...

    def notes(self) -> list[Note]: ...

    def lines(self) -> Iterator[Entry | Note]:
        """Both, in order of time, one after the other: for recordings that are long."""
        ...


class Target(Protocol):
    """name: "dev", "real" or "kube". ranges: how many the fleet is configured to have. workers: how many pods and
    worker processes it has when nothing is wrong."""

    @property
    def name(self) -> str: ...

    @property
    def names(self) -> Names:
        """Of the fleet and its records."""
        ...

    @property
    def ranges(self) -> int: ...

    @property
    def lease_seconds(self) -> float: ...

    @property
    def pods(self) -> Pods: ...

    @property
    def server(self) -> Server: ...

    @property
    def api(self) -> Api: ...

    @property
    def people(self) -> People: ...

    @property
    def evidence(self) -> Evidence: ...

    @property
    def settled_at(self) -> float:
        """When everything was as it should be for the first time, on its clock: how it starts is another matter."""
        ...

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...
