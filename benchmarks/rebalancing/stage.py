"""Where one row is played: a namespace of its own on a server, parcels in it, and a fleet of real processes as pods."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from benchmarks.rebalancing.bench import NotReached
from benchmarks.rebalancing.depot import Depot
from benchmarks.rebalancing.evidence import Notes, held_now
from benchmarks.rebalancing.servers import PREFIX, BenchServer
from fleet.backends.kubernetes_leases import KubernetesCoordination
from fleet.devcluster.recording.journal import Entry
from fleet.records.coordination import CoordinationUnavailable
from fleet.records.record import MemberRecord
from shards.api.useragent import UserAgent
from shards.journal import Note
from shards.transport.kube import KubeTransport, connect
from tests.integration.pods import FLEET, JOURNALS, PodStart

FLEET_NAME = "bench"
PARCELS_FILE = Path(__file__).with_name("parcels.py")
QUIET = (sys.executable, "-m", "benchmarks.rebalancing.quiet_pod", "run")
WHOLE = (FLEET, "run")

LOOK_SECONDS = 0.02
"""Between two looks at what workers have noted."""

_numbers = itertools.count(1)


@dataclass
class BenchPod(PodStart):
    """One start of a pod, which is killed with nothing left to say."""

    def kill_all(self) -> float:
        """What a node does that loses its power: supervisor, agent and workers end at once. Returns when (1970)."""
        at = time.time()
        self.power_off()
        return at

    def kill_worker(self, slot: int = 0) -> float:
        """The supervisor stays. Returns when (1970)."""
        self.kill(f"worker-{slot}")
        return time.time()


@dataclass
class Stage:
    """See `staged`. whole: the workers keep whole journals, for fleets with few parcels."""

    server: BenchServer
    namespace: str
    directory: Path
    rooms: Path
    transport: KubeTransport
    depot: Depot
    whole: bool = False
    config: Path = Path()
    pods: dict[str, BenchPod] = field(default_factory=dict)
    _starts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._notes = Notes(self.directory / JOURNALS)
        self.coordination = KubernetesCoordination(
            self.transport,
            fleet=FLEET_NAME,
            namespace=self.namespace,
            user_agent=lambda: str(UserAgent("bench/0", reason="bench")),
        )

    def configure(self, *, shards: int, per_pod: int, **changes: object) -> None:
        """The defaults, but moves at once where the planner wants any and no fixed port. changes: whole sections."""
        config = {
            "fleet": FLEET_NAME,
            "controller": f"{PARCELS_FILE}:parcels",
            "shards": {"count": shards},
            "workers": {"perPod": per_pod},
            "rebalance": {"churnPerRound": 1.0, "cooldownSeconds": 1.0},
            "scope": {"namespaces": [self.namespace]},
            "agent": {"metricsPort": 0, "address": "127.0.0.1"},
        } | changes
        self.config = self.directory / "fleet.yaml"
        self.config.write_text(yaml.safe_dump(config))

    def start(self, name: str, *, revision: str = "") -> BenchPod:
        """A pod of that name, again where there was one."""
        start = self._starts[name] = self._starts.get(name, 0) + 1
        pod = BenchPod(
            name,
            self.config,
            self.server.kubeconfig,
            self.directory,
            namespace=self.namespace,
            revision=revision,
            command=WHOLE if self.whole else QUIET,
            start=start,
            rooms=self.rooms,
        )
        self.pods[name] = pod
        pod.__enter__()
        return pod

    def end(self) -> None:
        """All pods, at once and without a farewell: what is measured has been."""
        for pod in self.pods.values():
            if pod.process is not None and pod.process.poll() is None:
                pod.kill_all()
        self.pods.clear()

    # -- what is known -----------------------------------------------------------------------------------------------

    def notes(self) -> list[Note]:
        """Of all workers so far, by time, since 1970."""
        return self._notes.read()

    def writes(self) -> list[Entry]:
        return self.server.writes(self.namespace)

    def logs(self) -> Iterable[tuple[Path, str]]:
        """What every start of every pod logged."""
        for file in sorted(self.directory.glob("*.log")):
            yield file, file.read_text(errors="replace")

    def holders(self) -> dict[str, str]:
        """Range -> the member whose gate for it is open, as the workers themselves noted."""
        return held_now(self.notes())

    async def until(self, condition: Callable[[], bool], *, within_seconds: float, what: str) -> None:
        """Raises NotReached."""
        deadline = time.monotonic() + within_seconds
        while not condition():
            if time.monotonic() > deadline:
                raise NotReached(f"{self.server.name}: not within {within_seconds:g} s: {what}; see {self.directory}")
            await asyncio.sleep(LOOK_SECONDS)

    async def until_even(self, members: Iterable[str], ranges: int, *, within_seconds: float = 90.0) -> None:
        """All ranges are open, and these members have them, as many each as the others or one more."""
        names = set(members)

        def even() -> bool:
            held = self.holders()
            counts = [sum(1 for owner in held.values() if owner == name) for name in names]
            return len(held) == ranges == sum(counts) and max(counts) - min(counts) <= 1

        await self.until(even, within_seconds=within_seconds, what=f"{ranges} ranges are spread over {sorted(names)}")

    async def until_spread(self, members: Iterable[str], ranges: int, *, within_seconds: float = 90.0) -> None:
        """All ranges are open, and each of these members has one at least: plans go by load, not by numbers."""
        names = set(members)

        def spread() -> bool:
            held = self.holders()
            return len(held) == ranges and names <= set(held.values())

        await self.until(spread, within_seconds=within_seconds, what=f"{sorted(names)} have a part of {ranges} ranges")

    async def until_joined(self, pod: str, above_epoch: int, *, within_seconds: float) -> None:
        """The member of a pod with one worker holds its Lease, under an epoch above that one. Raises NotReached."""
        deadline = time.monotonic() + within_seconds
        while time.monotonic() < deadline:
            found = await self.member_of(pod)
            if found is not None and found.holder is not None and found.epoch > above_epoch:
                return
            await asyncio.sleep(0.1)
        raise NotReached(f"{self.server.name}: not within {within_seconds:g} s: {pod} has joined; see {self.directory}")

    async def member_of(self, pod: str) -> MemberRecord | None:
        """None where it has none, or the server does not answer."""
        try:
            return await self.coordination.read_member(f"{pod}-0")
        except CoordinationUnavailable:
            return None

    async def coordinator_pod(self) -> str:
        """The pod whose agent is in office. Raises NotReached."""
        record = await self.coordination.read_coordinator()
        if record is None:
            raise NotReached("nobody is in office")
        for name, pod in self.pods.items():
            if record.holder.startswith(f"uid-of-{name}."):
                return pod.name
        raise NotReached(f"{record.holder} is none of {sorted(self.pods)}")


@contextlib.asynccontextmanager
async def staged(server: BenchServer, name: str, root: Path, *, whole: bool = False) -> AsyncIterator[Stage]:
    """A stage without pods or parcels. At its end the pods are ended.

    root: everything that is written stays in a directory below it.
    """
    number = next(_numbers)
    namespace = f"{PREFIX}{os.getpid()}-{number}-{name}"
    directory = root / f"{number}-{server.name}-{name}"
    directory.mkdir(parents=True)
    transport = await connect(kubeconfig=str(server.kubeconfig))
    try:
        depot = Depot(transport, namespace)
        await depot.open()
        # Unix sockets need a short path.
        with tempfile.TemporaryDirectory(prefix="bench-") as rooms:
            stage = Stage(server, namespace, directory, Path(rooms), transport, depot, whole=whole)
            try:
                yield stage
            finally:
                await asyncio.to_thread(stage.end)
                if server.shared:
                    await depot.clear()
    finally:
        await transport.close()
