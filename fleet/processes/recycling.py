"""Workers whose memory nears its limit leave in order and are started again, before the kernel kills one of them.

The kernel kills without a warning, and the keys that were in flight are under suspicion then. A worker that is asked to
leave hands its shards over first. One at a time, and not the same one again soon: where memory is too small for what
the workers hold, that would be a crash loop of another kind. Where none of them was of help, the next is ever longer in
coming.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fleet.processes.cgroup_memory import CgroupMemory, cgroup_memory
from fleet.processes.child import Child
from fleet.processes.exitcodes import EX_RECYCLED
from shards.clock import Clock

RECYCLE_SIGNAL = signal.SIGUSR1
"""Asks a worker to leave as SIGTERM does, and says that it will be started again."""

LOOK_SECONDS = 1.0
INTERVAL_SECONDS = 300.0
"""A worker is not recycled before it has lived that long."""

SETTLED_SECONDS = 30.0
"""Nor is another worker of the pod before the last one has been back for so long: its shards have come back, or what
they need is seen where they are now."""

LONGEST_REST_SECONDS = 3600.0
"""Until the next one where none has helped, at most; it begins with INTERVAL_SECONDS and doubles."""

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class RecycleSettings:
    """share: of the limit, from which on a worker is recycled; 1: none is. worker_mib: a limit of its own for each
    worker; 0: the cgroup's alone counts."""

    share: float = 0.85
    worker_mib: int = 0


def resident_bytes(pid: int) -> int:
    """Memory of the process that is in RAM now; 0 when it has gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
    except (OSError, IndexError):
        return 0


class Recycler:
    """Looks at the memory of the workers now and then, and asks at most one of them to leave.

    Invariant: at most one child has `recycled_at`, from the moment that it is asked until it has settled again.
    """

    def __init__(
        self,
        children: Sequence[Child],
        settings: RecycleSettings | None,
        *,
        grace_seconds: float,
        log: logging.Logger,
        clock: Clock,
        cgroup: CgroupMemory | None = None,
        resident: Callable[[int], int] = resident_bytes,
    ) -> None:
        """settings: None: nobody is recycled. grace_seconds: for a worker to leave; after that it is killed."""
        self._workers = [child for child in children if not child.spec.agent]
        self._settings = settings
        self._grace_seconds = grace_seconds
        self._log = log
        self._clock = clock
        self._cgroup = cgroup if cgroup is not None else cgroup_memory()
        self._resident = resident
        self._look_at = float("-inf")
        self._said = False
        self._futile = 0
        """Recyclings in a row after which memory was as short as before."""
        self._rest_until = float("-inf")

    def look(self) -> None:
        """To be called often; it looks every LOOK_SECONDS."""
        now = self._clock()
        if self._settings is None or now < self._look_at:
            return
        self._look_at = now + LOOK_SECONDS
        going = next((each for each in self._workers if each.recycled_at is not None), None)
        if going is not None:
            self._attend(going, now)
            return
        worst = self._worst(self._settings)
        if worst is None:
            self._said = False
            return
        child, why = worst
        if now < self._rest_until:
            return
        if now - child.started_at >= INTERVAL_SECONDS:
            self._log.warning("%s: %s leaves in order and is started again", why, child.name)
            child.recycled_at = now
            child.send(RECYCLE_SIGNAL)
        elif not self._said:
            self._said = True
            self._log.error(
                "%s, but %s has not lived for %g s: it is not recycled; memory is too small for what it holds",
                why,
                child.name,
                INTERVAL_SECONDS,
            )

    def ended(self, child: Child, exit_code: int) -> bool:
        """Whether that end of the child is what it was asked for, so that it is started again at once."""
        return child.recycled_at is not None and exit_code == EX_RECYCLED

    def _attend(self, child: Child, now: float) -> None:
        assert child.recycled_at is not None, "only of one that was asked"
        if child.started_at >= child.recycled_at:
            if child.pid and now - child.started_at >= SETTLED_SECONDS:
                child.recycled_at = None
                self._settled(now)
        elif child.pid and now - child.recycled_at >= self._grace_seconds:
            self._log.error("%s did not leave within %g s: killed", child.name, self._grace_seconds)
            child.kill_group()

    def _settled(self, now: float) -> None:
        """A worker has come back, and whatever it gives memory back by has been given."""
        worst = self._worst(self._settings) if self._settings is not None else None
        if worst is None:
            self._futile = 0
            return
        self._futile += 1
        rounds = self._futile - len(self._workers)
        if rounds < 0:  # another of them may be the one that leaks
            return
        rest = min(INTERVAL_SECONDS * 2.0 ** min(rounds, 10), LONGEST_REST_SECONDS)
        self._rest_until = now + rest
        self._log.error(
            "%s, though workers were started again for it: none is within %g s; memory is too small for what they hold",
            worst[1],
            rest,
        )

    def _worst(self, settings: RecycleSettings) -> tuple[Child, str] | None:
        """The worker that has to go, and why. Of a limit that all share, the largest of them."""
        sizes = [(self._resident(each.pid), each) for each in self._workers if each.pid]
        if not sizes:
            return None
        size, child = max(sizes, key=lambda pair: pair[0])
        if settings.worker_mib and settings.share < 1 and size >= settings.share * settings.worker_mib * _MIB:
            return child, f"{child.name} uses {size // _MIB} of {settings.worker_mib} MiB (workers.memoryLimitMiB)"
        use = self._cgroup.use()
        if use is None or settings.share >= 1 or use.share < settings.share:
            return None
        return child, f"the pod uses {use.used // _MIB} of {use.limit // _MIB} MiB of memory"
