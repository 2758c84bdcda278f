"""What can be done to pods only because they are processes of ours on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from chaos.targets.target import Pods, Target, TargetFailed


@dataclass(slots=True)
class Halt:
    """A process that was stopped in its tracks. member: "" for one that is no worker. Times are boot-clock seconds, of
    right before the signal; resumed_at: None while it stands. went_on_at: None as long, and for one that had ended."""

    pod: str
    child: str
    member: str
    pid: int
    at: float
    resumed_at: float | None = None
    went_on_at: float | None = None


@runtime_checkable
class OwnPods(Pods, Protocol):
    """Methods raise TargetFailed."""

    @property
    def config(self) -> Path:
        """The file that the pods were started with."""
        ...

    @property
    def halts(self) -> Sequence[Halt]:
        """What was paused, in order."""
        ...

    def start_twin(self, pod: str) -> str:
        """Another pod under the name of one that runs, as there is after one was deleted by force on a node that
        nobody reaches. Returns the name that it has here."""
        ...

    def twins(self) -> Sequence[tuple[str, str]]:
        """Of each twin that runs, the name that it bears, and that which it has here."""
        ...

    def start_with_clock(self, pod: str, *, rate: float = 1.0) -> None:
        """Like `start`, with a clock of its own (`chaos.targets.false_clock`)."""
        ...

    def step_clock(self, pod: str, *, boot_seconds: float = 0.0, wall_seconds: float = 0.0) -> None:
        """Sets that clock."""
        ...

    def limit_files(self, pod: str, child: str, limit: int) -> None:
        """No new descriptor of the living process may have that number, or a higher one."""
        ...

    def limit_memory(self, pod: str, child: str, spare_mib: int) -> int:
        """So much more address space. Returns the limit in MiB."""
        ...

    def lift_limits(self) -> None:
        """Of whatever lives."""
        ...


def own_pods(target: Target) -> OwnPods:
    """Raises TargetFailed where the fleet is somebody else's."""
    pods = target.pods
    if not isinstance(pods, OwnPods):
        raise TargetFailed(f"the pods of the target {target.name} are not processes of ours: this cannot be done there")
    return pods
