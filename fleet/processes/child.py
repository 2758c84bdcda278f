"""One child of the supervisor: what it runs, how it starts its life, and the parent's record of it."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import signal
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from fleet.processes.exitcodes import EX_CONFIG, EX_OK, EX_ORPHANED, EX_SOFTWARE
from fleet.processes.flights import Death, DeathBook, Flights, shared_flights
from fleet.processes.heartbeat import Heartbeat, shared_heartbeats
from fleet.processes.prctl import set_parent_death_signal
from fleet.processes.restarts import RestartPolicy
from shards.errors import ConfigError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChildStart:
    """What one incarnation is told. count: 1 for the first.

    supervisor_id: pod UID and a nonce of this supervisor's start (R1).
    reaped_predecessor: the supervisor has reaped the previous incarnation and found its process group empty, so that
    the new one need not wait for the lease of the old one (R1).
    started_at: boot-clock seconds of the fork.
    deaths: of incarnations before this one, with what they had in flight, that nobody has counted yet.
    flights: where this one writes what it has in flight; None where nobody reads it.
    recycled: its predecessor left in order because memory was short.
    rest_until: boot-clock reading before which it may count deaths, and nothing else: it was started early for that.
    log_pipe: descriptor that `fleet.logs.logs` uses for this child; -1 where logs are not relayed.
    """

    name: str
    slot: int
    count: int
    supervisor_id: str
    reaped_predecessor: bool
    started_at: float
    log_pipe: int
    run_dir: Path
    heartbeat: Heartbeat
    deaths: tuple[Death, ...] = ()
    flights: Flights | None = None
    recycled: bool = False
    rest_until: float = 0.0


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """A child that the supervisor keeps alive.

    name: unique; names its socket and its lines in the log. slot: small number, stable over restarts.
    main: runs in the child and returns its exit code. A ConfigError raised by it ends the whole supervisor.
    restart: False for a child that has a natural end.
    agent: receives the logs of all others and is stopped last. At most one.
    """

    name: str
    slot: int
    main: Callable[[ChildStart], int]
    restart: bool = True
    agent: bool = False


@dataclass(slots=True)
class Child:
    """The parent's record.

    pid: 0 while it is not running. group: process group of the last incarnation while it is not known to be empty,
    else 0. restart_at: boot-clock reading; inf while it runs and when it has ended for good.
    stale_since: when it was first seen frozen; None while it is well. recycled_at: when it was asked to leave because
    memory was short; None long after it has come back. rest_until: see ChildStart.
    """

    spec: ChildSpec
    heartbeat: Heartbeat
    book: DeathBook
    restarts: RestartPolicy = field(default_factory=RestartPolicy)
    pid: int = 0
    count: int = 0
    group: int = 0
    started_at: float = 0.0
    ended_at: float = 0.0
    restart_at: float = math.inf
    stale_since: float | None = None
    recycled_at: float | None = None
    rest_until: float = 0.0

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def label(self) -> str:
        """Names this incarnation."""
        return f"{self.spec.name}#{self.count}"

    def starts_again(self, now: float, delay: float) -> bool:
        """Sets when. Whether it rests until then as a process: where deaths are to be counted that cannot wait, since
        others may be given its shards meanwhile. One that died while it rested waits outside."""
        rests = delay > 0.0 and bool(self.book.for_the_next()) and now >= self.rest_until
        self.restart_at = now if rests else now + delay
        self.rest_until = now + delay if rests else 0.0
        return rests

    def send(self, signum: int) -> None:
        """To the child alone; nothing when it is not running. Unreaped, its pid cannot be another process."""
        if self.pid:
            os.kill(self.pid, signum)

    def kill_group(self) -> None:
        """SIGKILL to everything in the child's process group.

        Call it before the leader is reaped: until then the number cannot belong to another group. The leader is sent
        the signal by pid as well, for the moment between fork and setsid.
        """
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)


def make_children(specs: Sequence[ChildSpec], away_seconds: float) -> list[Child]:
    """With the memory that they share with this process. away_seconds: of a worker that keeps dying."""
    memory = zip(specs, shared_heartbeats(len(specs)), shared_flights(len(specs)), strict=True)
    return [
        Child(spec, heartbeat, DeathBook(flights), RestartPolicy(0.0 if spec.agent else away_seconds))
        for spec, heartbeat, flights in memory
    ]


def group_is_empty(group: int) -> bool:
    """Whether no process, not even a zombie, is left in the process group."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def has_strangers(children: Collection[int]) -> bool:
    """Whether this process, a subreaper, has children other than these pids: descendants that left their group.

    False on a kernel without CONFIG_PROC_CHILDREN, where the process group is all that can be known.
    """
    try:
        text = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    except OSError:
        return False
    return any(int(pid) not in children for pid in text.split())


def begin_child(supervisor_pid: int, signal_mask: Iterable[int]) -> None:
    """The first instructions of a child: its own session, a death that follows its parent's, ordinary signals."""
    os.setsid()
    set_parent_death_signal(signal.SIGKILL)
    if os.getppid() != supervisor_pid:
        os._exit(EX_ORPHANED)
    signal.set_wakeup_fd(-1)
    for signum in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, signal_mask)


def live_child(spec: ChildSpec, start: ChildStart, logging_scope: AbstractContextManager[None]) -> NoReturn:
    """Runs the child's main and ends the process, without the parent's exit handlers."""
    code = EX_SOFTWARE
    try:
        with logging_scope:
            code = _exit_code(spec, start)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(code)


def _exit_code(spec: ChildSpec, start: ChildStart) -> int:
    try:
        return spec.main(start)
    except ConfigError as error:
        start.heartbeat.say(str(error))
        return EX_CONFIG
    except SystemExit as leave:
        if leave.code is None or isinstance(leave.code, int):
            return leave.code or EX_OK
        log.error("%s", leave.code)
        return EX_SOFTWARE
    except BaseException:
        # Whatever it was, it must reach the log before the process ends, and the parent must learn that it failed.
        log.exception("%s ended by an error", start.name)
        return EX_SOFTWARE
