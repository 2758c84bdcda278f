"""The pods of a fleet of our own: groups of processes on this machine."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chaos.targets.false_clock import Steps, command_with
from chaos.targets.own_pods import Halt
from chaos.targets.pod import RUN, PodStart
from chaos.targets.target import End, TargetFailed
from shards.clock import Clock

SUPERVISOR, AGENT, WORKER = "supervisor", "agent", "worker-"
TWIN = "-twin"
_MIB = 2**20


@dataclass
class LocalPods:
    """What `chaos.targets.own_pods.OwnPods` asks. config, kubeconfig, namespace: of the fleet. directory: for logs and
    journals. rooms: a short path, for sockets. in_office: the holder that the coordinator's record names.

    command: that runs a pod. environment: beside what the downward API gives.
    """

    config: Path
    kubeconfig: Path
    namespace: str
    directory: Path
    rooms: Path
    clock: Clock
    in_office: Callable[[], str]
    command: Sequence[str] = RUN
    environment: dict[str, str] = field(default_factory=dict)
    ended: list[End] = field(default_factory=list)
    _pods: dict[str, PodStart] = field(default_factory=dict)
    _starts: dict[str, int] = field(default_factory=dict)
    _halts: list[Halt] = field(default_factory=list)
    _limited: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """Limits as they were, by pid and resource."""

    @property
    def ends(self) -> Sequence[End]:
        return tuple(self.ended)

    @property
    def halts(self) -> Sequence[Halt]:
        return tuple(self._halts)

    def names(self) -> list[str]:
        return sorted(name for name, pod in self._pods.items() if pod.runs)

    def members(self) -> Mapping[str, tuple[str, str]]:
        found: dict[str, tuple[str, str]] = {}
        for pod in self.names():
            for child in sorted(self._pods[pod].children()):
                if child.startswith(WORKER):
                    # A twin comes behind the pod whose name it bears.
                    found.setdefault(self._member(pod, child), (pod, child))
        return found

    def coordinator(self) -> str:
        holder = self.in_office()
        for name in self.names():
            if holder.startswith(f"uid-of-{name}."):
                return name
        raise TargetFailed(f"{holder or 'nobody'} is in office, which is none of the pods {', '.join(self.names())}")

    def start(self, pod: str, *, revision: str = "") -> None:
        self._start(pod, revision=revision)

    def start_twin(self, pod: str) -> str:
        self._running(pod)
        self._start(f"{pod}{TWIN}", uid=f"uid-of-{pod}{TWIN}")
        return f"{pod}{TWIN}"

    def twins(self) -> Sequence[tuple[str, str]]:
        return [(name.removesuffix(TWIN), name) for name in self.names() if name.endswith(TWIN)]

    def start_with_clock(self, pod: str, *, rate: float = 1.0) -> None:
        self._start(pod, clock_rate=rate)

    def step_clock(self, pod: str, *, boot_seconds: float = 0.0, wall_seconds: float = 0.0) -> None:
        file = self._clock_file(self._running(pod))
        if not file.exists():
            raise TargetFailed(f"the pod {pod} has the clock of this machine: start it with one of its own")
        Steps(file).add(boot=boot_seconds, wall=wall_seconds)

    def _start(self, pod: str, *, revision: str = "", uid: str = "", clock_rate: float | None = None) -> None:
        if pod in self.names():
            raise TargetFailed(f"the pod {pod} runs already")
        name = pod.removesuffix(TWIN)
        start = self._starts[name] = self._starts.get(name, 0) + 1
        begun = PodStart(
            name,
            self.config,
            self.kubeconfig,
            self.directory,
            namespace=self.namespace,
            revision=revision,
            uid=uid,
            environment=dict(self.environment),
            command=self.command,
            start=start,
            rooms=self.rooms,
        )
        if clock_rate is not None:
            begun.command = command_with(clock_rate, self._clock_file(begun), self.command)
            Steps(self._clock_file(begun))
        self._pods[pod] = begun
        begun.__enter__()

    def _clock_file(self, pod: PodStart) -> Path:
        return self.rooms / f"{pod.name}.{pod.start}.clock"

    def come_back(self, pod: str) -> None:
        self.start(pod)

    def stop(self, pod: str) -> None:
        self._running(pod).__exit__(None, None, None)

    def kill_pod(self, pod: str) -> End:
        running = self._running(pod)
        assert running.process is not None
        end = End(pod, SUPERVISOR, "", running.process.pid, self.clock())
        dying = [End(pod, at[1], member, 0, end.at) for member, at in self.members().items() if at[0] == pod]
        running.power_off()
        self.ended += [end, *dying]
        return end

    def kill(self, pod: str, child: str) -> End:
        end = End(pod, child, self._member(pod, child), self._pid(pod, child), self.clock())
        self._signal(pod, child, end.pid, signal.SIGKILL)
        self.ended.append(end)
        return end

    def pause(self, pod: str, child: str) -> None:
        pid = self._pid(pod, child)
        halt = Halt(pod, child, self._member(pod, child), pid, self.clock())
        self._signal(pod, child, pid, signal.SIGSTOP)
        self._halts.append(halt)

    def resume(self, pod: str, child: str) -> None:
        for halt in self._halts:
            if (halt.pod, halt.child, halt.resumed_at) == (pod, child, None):
                halt.resumed_at = self.clock()
                with contextlib.suppress(TargetFailed):
                    self._signal(pod, child, halt.pid, signal.SIGCONT)
                    halt.went_on_at = halt.resumed_at

    def resume_all(self) -> None:
        """Everything that was paused and lives."""
        for halt in self.halts:
            self.resume(halt.pod, halt.child)

    def limit_files(self, pod: str, child: str, limit: int) -> None:
        self._limit(self._pid(pod, child), resource.RLIMIT_NOFILE, limit)

    def limit_memory(self, pod: str, child: str, spare_mib: int) -> int:
        pid = self._pid(pod, child)
        try:
            pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[0])
        except (OSError, IndexError) as error:
            raise TargetFailed(f"{child} of {pod} ended by itself") from error
        limit = pages * resource.getpagesize() + spare_mib * _MIB
        self._limit(pid, resource.RLIMIT_AS, limit)
        return limit // _MIB

    def lift_limits(self) -> None:
        for (pid, which), before in self._limited.items():
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, which, before)
        self._limited.clear()

    def _limit(self, pid: int, which: int, limit: int) -> None:
        """The soft one: it can be raised again."""
        try:
            before = resource.prlimit(pid, which)
            self._limited.setdefault((pid, which), before)
            resource.prlimit(pid, which, (limit, before[1]))
        except ProcessLookupError as error:
            raise TargetFailed(f"the process {pid} ended by itself") from error

    def close(self) -> None:
        """Ends all of them at once, without a farewell."""
        for pod in self._pods.values():
            if pod.runs:
                pod.power_off()

    def trouble(self) -> str:
        """What has ended by itself, with its last words; "" where nothing has."""
        for name, pod in self._pods.items():
            killed = any(end.pod == name for end in self.ended)
            if not pod.runs and not killed and pod.process is not None and pod.process.returncode:
                lines = pod.log.read_text(errors="replace").strip().splitlines()
                return f"the pod {name} ended with {pod.process.returncode}: {lines[-1] if lines else 'no word'}"
        return ""

    def _running(self, pod: str) -> PodStart:
        found = self._pods.get(pod)
        if found is None or not found.runs:
            raise TargetFailed(f"no pod {pod} runs; there are {', '.join(self.names()) or 'none'}")
        return found

    def _member(self, pod: str, child: str) -> str:
        return f"{pod.removesuffix(TWIN)}-{child.removeprefix(WORKER)}" if child.startswith(WORKER) else ""

    def _pid(self, pod: str, child: str) -> int:
        running = self._running(pod)
        if child == SUPERVISOR:
            assert running.process is not None
            return running.process.pid
        record = running.children().get(child)
        if record is None:
            raise TargetFailed(f"the pod {pod} has no child {child} that is alive")
        return record.pid

    def _signal(self, pod: str, child: str, pid: int, signum: signal.Signals) -> None:
        """To exactly that process. Raises TargetFailed."""
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError as error:
            raise TargetFailed(f"{child} of {pod} ended by itself") from error
        try:
            # The descriptor names one process for good. That it is the one that was meant, the list says once more:
            # the supervisor takes a dead child off it before the number can be another's.
            if self._pid(pod, child) != pid:
                raise TargetFailed(f"{child} of {pod} was replaced meanwhile")
            signal.pidfd_send_signal(process, signum)
        except ProcessLookupError as error:
            raise TargetFailed(f"{child} of {pod} ended by itself") from error
        finally:
            os.close(process)
