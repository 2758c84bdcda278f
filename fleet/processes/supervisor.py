"""The parent of a pod's processes: forks them, reaps them, starts them again, passes signals on, ends last.

It has one thread, no event loop and no client, so that a fork from it is always safe and a restarted child is warm.
Signals are blocked and taken one by one (sigtimedwait), so that no handler ever interrupts anything.

Promises to the fleet: a child that is killed is running again at once; no child survives this process
(PR_SET_PDEATHSIG); a child is told `reaped_predecessor` only when the previous incarnation was reaped, its process
group was seen empty and no descendant of it has come to this process (R1). What it cannot see: a descendant that left
the group and whose parent lives. Sessions of `setsid` daemons started by a reconcile end up here once orphaned.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import math
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NoReturn

from fleet.logs.logrelay import LogRelay
from fleet.logs.logs import LogSettings, agent_logging, worker_logging
from fleet.processes.child import (
    Child,
    ChildSpec,
    ChildStart,
    begin_child,
    group_is_empty,
    has_strangers,
    live_child,
    make_children,
)
from fleet.processes.children import ChildRecord, prepare, write_children
from fleet.processes.exitcodes import EX_CONFIG, EX_OK, EX_RECYCLED, EX_SOFTWARE, describe, exit_code_of
from fleet.processes.frozen import kill_frozen
from fleet.processes.prctl import set_child_subreaper
from fleet.processes.recycling import Recycler, RecycleSettings
from fleet.processes.shutdown import Shutdown
from shards.clock import Clock, boot_seconds

__all__ = ["ChildSpec", "ChildStart", "Supervisor"]

_SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LOOK_SECONDS = 0.25
"""How often children are looked at when no signal arrives."""
_CLEARING_SECONDS = 1.0
"""How long the next incarnation waits for the process group of the last one to become empty."""
_CLEARING_LOOK_SECONDS = 0.01


class Supervisor:
    """Runs `children` until they have ended for good or a signal says stop.

    SIGTERM or SIGINT: SIGTERM to all workers at once, `grace_seconds` for them to drain, then the agent, then SIGKILL
    to the groups that remain; a second one kills at once. SIGHUP is ignored.
    """

    def __init__(
        self,
        children: Sequence[ChildSpec],
        *,
        supervisor_id: str,
        run_dir: Path,
        grace_seconds: float,
        away_seconds: float = 0.0,
        recycling: RecycleSettings | None = None,
        logs: LogSettings | None = None,
        log: logging.Logger | None = None,
        clock: Clock = boot_seconds,
    ) -> None:
        """supervisor_id: pod UID and a nonce of this start. away_seconds: of a worker that keeps dying, see
        RestartPolicy. recycling: None: nobody is. logs: None leaves the logging of children as inherited."""
        if len({spec.name for spec in children}) != len(children) or sum(spec.agent for spec in children) > 1:
            raise ValueError("children need unique names, and at most one of them is the agent")
        self._children = make_children(children, away_seconds)
        self._id = supervisor_id
        self._run_dir = run_dir
        self._logs = logs
        self._relay = LogRelay()
        self._log = log or logging.getLogger(__name__)
        self._clock = clock
        self._shutdown = Shutdown(self._children, grace_seconds=grace_seconds, log=self._log, clock=clock)
        self._recycler = Recycler(self._children, recycling, grace_seconds=grace_seconds, log=self._log, clock=clock)
        self._mask: set[int] = set()
        self._code: int | None = None  # the first reason to end with something else than EX_OK

    def run(self) -> int:
        """Returns the exit code: EX_OK after a clean end, else the first child's reason (128 + n for signal n).

        Raises ConfigError when the run directory cannot be made. Afterwards no child is left.
        """
        prepare(self._run_dir)
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        set_child_subreaper(True)
        try:
            for child in self._children:
                self._start(child)
            while self._running() or self._waiting():
                self._step()
        finally:
            self._kill_all()
            self._relay.close()
            set_child_subreaper(False)
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        return EX_OK if self._code is None else self._code

    def _running(self) -> list[Child]:
        return [each for each in self._children if each.pid]

    def _waiting(self) -> list[Child]:
        return [each for each in self._children if each.restart_at < math.inf]

    def _step(self) -> None:
        """Waits for a signal or the next thing that is due, then looks at everything once."""
        now = self._clock()
        due = [max(each.restart_at - now, _CLEARING_LOOK_SECONDS * bool(each.group)) for each in self._waiting()]
        wait = min([_LOOK_SECONDS, *due])
        arrived = signal.sigtimedwait(_SIGNALS, max(wait, 0.0))
        self._reap()
        if arrived is not None and arrived.si_signo in (signal.SIGTERM, signal.SIGINT):
            self._told_to_stop(arrived.si_signo)
        self._shutdown.advance()
        kill_frozen(self._running(), self._clock(), self._log)
        if not self._shutdown.begun:
            self._recycler.look()
        self._start_due()

    # Starting

    def _start(self, child: Child) -> None:
        """Forks the next incarnation. A fork that the kernel refuses counts as an end of the child."""
        child.count += 1
        child.restart_at = math.inf
        child.heartbeat.clear()
        child.stale_since = None
        child.started_at = self._clock()
        start = ChildStart(
            name=child.name,
            slot=child.spec.slot,
            count=child.count,
            supervisor_id=self._id,
            reaped_predecessor=child.count > 1
            and not child.group
            and not has_strangers([each.pid for each in self._running()]),
            started_at=child.started_at,
            log_pipe=self._log_pipe(child),
            run_dir=self._run_dir,
            heartbeat=child.heartbeat,
            deaths=child.book.for_the_next(),
            flights=child.book.flights,
            recycled=child.recycled_at is not None,
        )
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # what is buffered would be written twice
        gc.freeze()  # the objects of the parent stay out of the collector of every child, and their pages shared
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            self._log.error("%s cannot be forked: %s", child.name, error.strerror)
            self._relay.after_fork()
            self._ended(child, exit_code=error.errno or 1)
            return
        if pid == 0:
            self._become(child.spec, start, parent)
        self._relay.after_fork()
        child.pid = pid
        self._log.info("started %s (pid %d, incarnation %d)", child.name, pid, child.count)
        self._publish()

    def _log_pipe(self, child: Child) -> int:
        if self._logs is None:
            return -1
        return self._relay.socket_for_agent() if child.spec.agent else self._relay.pipe_for(child.label)

    def _become(self, spec: ChildSpec, start: ChildStart, parent: int) -> NoReturn:
        try:
            begin_child(parent, self._mask)
            self._relay.in_child()
            live_child(spec, start, self._logging_scope(spec, start))
        finally:
            os._exit(EX_SOFTWARE)  # whatever failed above, the child must never return into the parent's code

    def _logging_scope(self, spec: ChildSpec, start: ChildStart) -> AbstractContextManager[None]:
        if self._logs is None:
            return contextlib.nullcontext()
        scope = agent_logging if spec.agent else worker_logging
        return scope(start.log_pipe, start.name, self._logs)

    def _start_due(self) -> None:
        now = self._clock()
        for child in self._waiting():
            if child.group and group_is_empty(child.group):
                child.group = 0
            cleared = not child.group or now >= child.ended_at + _CLEARING_SECONDS
            if cleared and now >= child.restart_at:
                self._start(child)

    def _publish(self) -> None:
        records = {each.name: ChildRecord(each.pid, each.count) for each in self._running()}
        try:
            write_children(self._run_dir, records)
        except OSError as error:
            self._log.warning("the list of children cannot be written: %s", error.strerror)

    # Ending

    def _reap(self) -> None:
        """Every dead child, and orphans that the kernel handed to this process."""
        with contextlib.suppress(ChildProcessError):
            while dead := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                child = next((each for each in self._children if each.pid == dead.si_pid), None)
                if child is not None:
                    child.kill_group()
                _, status = os.waitpid(dead.si_pid, 0)
                if child is not None:
                    self._ended(child, os.waitstatus_to_exitcode(status))

    def _ended(self, child: Child, exit_code: int) -> None:
        now = self._clock()
        uptime = now - child.started_at
        child.group, child.pid, child.ended_at = child.pid or child.group, 0, now
        child.book.died(f"{self._id}.{child.label}", describe(exit_code), child.heartbeat.words, time.time())
        if child.group and group_is_empty(child.group):
            child.group = 0
        if child.spec.agent:
            self._relay.agent_ended()
        else:
            self._relay.worker_ended(child.label)
        if exit_code == EX_CONFIG:
            self._refused(child)
        elif self._shutdown.begun:
            self._ended_while_stopping(child, exit_code)
        elif child.spec.restart:
            delay = 0.0 if self._recycler.ended(child, exit_code) else child.restarts.delay_seconds(uptime)
            child.restart_at = now + delay
            self._log.warning(
                "%s ended after %.1f s (%s), starts again in %.1f s", child.name, uptime, describe(exit_code), delay
            )
        elif exit_code:
            self._fail(exit_code_of(exit_code))
        self._publish()

    def _ended_while_stopping(self, child: Child, exit_code: int) -> None:
        # Death by our own SIGTERM is a child that had not begun to listen: it held nothing.
        if exit_code not in (EX_OK, EX_RECYCLED, -signal.SIGTERM):
            self._log.warning("%s ended with %s", child.name, describe(exit_code))
            self._fail(exit_code_of(exit_code))

    def _refused(self, child: Child) -> None:
        """A wrong setting: every other start would fail likewise. The first child's sentence is enough."""
        if self._code != EX_CONFIG:
            self._log.error("%s", child.heartbeat.words or f"{child.name} refused its configuration")
        self._code = EX_CONFIG
        self._shutdown.begin()

    def _fail(self, code: int) -> None:
        if self._code is None:
            self._code = code

    def _told_to_stop(self, signum: int) -> None:
        if not self._shutdown.begun:
            self._log.info("%s: stopping", signal.Signals(signum).name)
            self._shutdown.begin()
        else:
            self._log.warning("second %s: killing what is left", signal.Signals(signum).name)
            self._fail(128 + signum)
            self._shutdown.kill()

    def _kill_all(self) -> None:
        """On the way out, after an error too: nothing is left behind."""
        for child in self._running():
            child.kill_group()
            os.waitpid(child.pid, 0)
            child.pid = 0
        self._publish()
