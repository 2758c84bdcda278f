"""The pods of a fleet of our own: groups of processes on this machine."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chaos.targets.pod import RUN, PodStart
from chaos.targets.target import End, TargetFailed
from shards.clock import Clock

SUPERVISOR, AGENT, WORKER = "supervisor", "agent", "worker-"


@dataclass
class LocalPods:
    """What `chaos.targets.target.Pods` asks. config, kubeconfig, namespace: of the fleet. directory: for logs and
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
    _paused: set[int] = field(default_factory=set)

    @property
    def ends(self) -> Sequence[End]:
        return tuple(self.ended)

    def names(self) -> list[str]:
        return sorted(name for name, pod in self._pods.items() if pod.runs)

    def members(self) -> Mapping[str, tuple[str, str]]:
        return {
            f"{pod}-{child.removeprefix(WORKER)}": (pod, child)
            for pod in self.names()
            for child in sorted(self._pods[pod].children())
            if child.startswith(WORKER)
        }

    def coordinator(self) -> str:
        holder = self.in_office()
        for name in self.names():
            if holder.startswith(f"uid-of-{name}."):
                return name
        raise TargetFailed(f"{holder or 'nobody'} is in office, which is none of the pods {', '.join(self.names())}")

    def start(self, pod: str, *, revision: str = "") -> None:
        if pod in self.names():
            raise TargetFailed(f"the pod {pod} runs already")
        start = self._starts[pod] = self._starts.get(pod, 0) + 1
        begun = PodStart(
            pod,
            self.config,
            self.kubeconfig,
            self.directory,
            namespace=self.namespace,
            revision=revision,
            environment=dict(self.environment),
            command=self.command,
            start=start,
            rooms=self.rooms,
        )
        self._pods[pod] = begun
        begun.__enter__()

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
        self._signal(pod, child, pid, signal.SIGSTOP)
        self._paused.add(pid)

    def resume(self, pod: str, child: str) -> None:
        with contextlib.suppress(TargetFailed):
            pid = self._pid(pod, child)
            self._signal(pod, child, pid, signal.SIGCONT)
            self._paused.discard(pid)

    def resume_all(self) -> None:
        """Everything that was paused and lives."""
        for pod in self.names():
            for child, record in self._pods[pod].children().items():
                if record.pid in self._paused:
                    self.resume(pod, child)

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
        return f"{pod}-{child.removeprefix(WORKER)}" if child.startswith(WORKER) else ""

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
