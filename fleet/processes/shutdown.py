"""The end of a pod's processes, in its order: workers all at once, then the agent, then whoever is left by force."""

from __future__ import annotations

import logging
import math
import signal
from collections.abc import Sequence

from fleet.processes.child import Child
from shards.clock import Clock

AGENT_GRACE_SECONDS = 3.0
"""The agent has nothing to drain; it writes the last lines of the workers and closes its sockets."""


class Shutdown:
    """Nothing until `begin`; from then on `advance` does what is due.

    Invariants: `_workers_by` is set once the pod is ending, inf once its workers were killed; `_agent_by` is set once
    the workers are gone and the agent has been told to stop.
    """

    def __init__(self, children: Sequence[Child], *, grace_seconds: float, log: logging.Logger, clock: Clock) -> None:
        """grace_seconds: for the workers to drain."""
        self._children = children
        self._grace_seconds = grace_seconds
        self._log = log
        self._clock = clock
        self._workers_by: float | None = None
        self._agent_by: float | None = None
        self._killing = False

    @property
    def begun(self) -> bool:
        return self._workers_by is not None

    def begin(self) -> None:
        """SIGTERM to the workers; nobody is started again. Nothing the second time."""
        if self._workers_by is not None:
            return
        self._workers_by = self._clock() + self._grace_seconds
        for child in self._children:
            child.restart_at = math.inf
        for child in self._running(workers_only=True):
            child.send(signal.SIGTERM)

    def advance(self) -> None:
        """Workers first, all at once; the agent when they are gone, because it writes their last lines."""
        if self._workers_by is None or self._killing:
            return
        now = self._clock()
        if self._agent_by is None:
            if not self._running(workers_only=True):
                self._agent_by = now + AGENT_GRACE_SECONDS
                for child in self._running():
                    child.send(signal.SIGTERM)
            elif now >= self._workers_by:
                for child in self._running(workers_only=True):
                    self._log.error("%s did not end within %g s: killed", child.name, self._grace_seconds)
                    child.kill_group()
                self._workers_by = math.inf
        elif now >= self._agent_by:
            self.kill()

    def kill(self) -> None:
        """SIGKILL to everything that runs."""
        self._killing = True
        for child in self._running():
            child.kill_group()

    def _running(self, *, workers_only: bool = False) -> list[Child]:
        return [each for each in self._children if each.pid and not (workers_only and each.spec.agent)]
