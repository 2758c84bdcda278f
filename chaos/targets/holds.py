"""What we have in our hands of an API server: its processes, and what it stores."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from chaos.targets.control import Control
from chaos.targets.target import TargetFailed
from fleet.dev.server import CONTEXT

SECOND = f"{CONTEXT}-2"
"""What `fleet serve --front-ends 2` calls its second one; the proxy calls the second API server of a control plane so
too."""
_NOBODY = "nobody at all"


class Hold(Protocol):
    """Methods raise TargetFailed where we have none."""

    def pids(self) -> tuple[int, ...]:
        """Of what answers requests."""
        ...

    def freeze_replica(self) -> str: ...

    def thaw(self) -> None: ...

    def compact(self) -> None: ...

    def back_up(self) -> None: ...

    def restore(self) -> None: ...


@dataclass(frozen=True)
class EmbeddedHold:
    """Of an embedded server, through its control endpoint."""

    control: Control
    pid: int

    def pids(self) -> tuple[int, ...]:
        return (self.pid,)

    def freeze_replica(self) -> str:
        self.control.stage(
            {"fault": "stale_replica", "replica": SECOND, "frozen": True, "match": {"user_agent": _NOBODY}}
        )
        return SECOND

    def thaw(self) -> None:
        """It ends with the fault."""

    def compact(self) -> None:
        """Watches break, as when a real API server begins anew: an open one has all of its history before it."""
        self.control.storage("compact")
        self.control.release(self.control.stage({"fault": "cut", "match": {"verbs": ["watch"]}}))

    def back_up(self) -> None:
        self.control.storage("back-up")

    def restore(self) -> None:
        self.control.storage("restore")


@dataclass
class PlaneHold:
    """Of a control plane for tests. plane: a `tests.cluster.plane.ControlPlane`, which packages do not have. control:
    of the recorder in front of it. relay: the process between a second API server and etcd, where there is one."""

    plane: Any
    backup: Path
    control: Control
    relay: int = 0
    _backed_up: bool = False

    def pids(self) -> tuple[int, ...]:
        return (self.plane.servers["kube-apiserver"].pid,)

    def freeze_replica(self) -> str:
        if not self.relay:
            raise TargetFailed("there is no second API server; write frontEnds: 2 and ownServer: true")
        os.kill(self.relay, signal.SIGSTOP)
        return SECOND

    def thaw(self) -> None:
        if self.relay:
            os.kill(self.relay, signal.SIGCONT)

    def compact(self) -> None:
        """Its API server begins anew: the history that it keeps in memory outlives a compaction otherwise."""
        self.plane.compact()
        self.plane.restart("kube-apiserver")

    def back_up(self) -> None:
        self.plane.back_up(self.backup)
        self._backed_up = True

    def restore(self) -> None:
        if not self._backed_up:
            raise TargetFailed("there is no backup to go back to")
        self.plane.restore(self.backup, meanwhile=lambda: self.control.storage("restored"))


class NoHold:
    """Of somebody else's server."""

    def pids(self) -> tuple[int, ...]:
        raise TargetFailed("the API server of this target is not ours to pause")

    def freeze_replica(self) -> str:
        raise TargetFailed("there is no second API server that would be ours to freeze")

    def thaw(self) -> None: ...

    def compact(self) -> None:
        raise TargetFailed("what the API server of this target stores is not ours to compact")

    def back_up(self) -> None:
        raise TargetFailed("what the API server of this target stores is not ours to back up")

    def restore(self) -> None:
        raise TargetFailed("what the API server of this target stores is not ours to put back")
