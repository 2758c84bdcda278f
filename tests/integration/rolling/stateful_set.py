"""Pods as a StatefulSet has them: names that come back, each start a pod of its own; and what their workers tell."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import yaml

from fleet.devcluster.evidence.verdict import Verdict
from fleet.devcluster.judging.judge import judge
from fleet.devcluster.recording.journal import Entry
from fleet.health.range_steps import Cause, Step
from shards.api.client import Client
from shards.errors import ApiError
from shards.journal import Note, decode_notes
from shards.objects import Resource
from shards.testing.server import EmbeddedServer
from shards.transport.kube import connect
from tests.cluster import audit
from tests.cluster.plane import GARBAGE_COLLECTION, ControlPlane
from tests.integration.pods import JOURNALS, WEBSITES_FILE, PodStart, fleet_config, notes
from tests.integration.waiting import eventually

CONTROLLERS = Path(__file__).with_name("controllers.py")
WEBSITES = Resource.parse("demo.shardfleet.dev/v1/websites")
CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")
LEASE_SECONDS = 4.0
OBJECTS = 60
CHANGES_PER_SECOND = 20.0
START_SECONDS = 60.0
"""For processes to be there, on a machine that does other work."""


class Server(Protocol):
    """Where the fleet's records and objects are.

    kubeconfig: how to reach it. on_wall_clock: its journal has times since 1970, and none of the boot clock.
    """

    kubeconfig: Path
    on_wall_clock: bool

    def journal(self) -> list[Entry]: ...


class OwnServer(EmbeddedServer):
    """The embedded one."""

    on_wall_clock = False


class RealServer:
    """A kube-apiserver of its own, with its audit log as the journal."""

    on_wall_clock = True

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.kubeconfig = plane.kubeconfig

    def journal(self) -> list[Entry]:
        return audit.read(self._plane.audit_log)


@contextlib.contextmanager
def served(kind: str, directory: Path, binary: Callable[[], Path]) -> Iterator[Server]:
    """kind: embedded or real. binary: of the real one."""
    if kind == "embedded":
        with OwnServer(directory) as server:
            yield server
    else:
        with ControlPlane(directory / "plane", binary=binary(), controllers=GARBAGE_COLLECTION) as plane:
            yield RealServer(plane)


@dataclass
class StartedPod(PodStart):
    """One start of a pod, with a UID and directories of its own."""

    @property
    def journals(self) -> Path:
        """Two of one name may live at the same time."""
        return self.directory / JOURNALS / str(self.start)

    def pids(self) -> list[int]:
        """Of its supervisor and its children."""
        assert self.process is not None
        return [self.process.pid, *(child.pid for child in self.children().values())]

    def signal_all(self, signum: int) -> None:
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signum)

    def kill_all(self) -> None:
        """What `kubectl delete --force` comes to: nobody is asked."""
        assert self.process is not None
        self.signal_all(signal.SIGKILL)
        self.process.wait()

    def kill_supervisor(self) -> list[int]:
        """The kernel ends its children. Returns their pids."""
        assert self.process is not None
        children = self.pids()[1:]
        self.process.kill()
        self.process.wait()
        return children

    def send(self, signum: int) -> None:
        assert self.process is not None
        self.process.send_signal(signum)

    def ended(self, within_seconds: float) -> int:
        """Its exit code."""
        assert self.process is not None
        return self.process.wait(within_seconds)


@dataclass
class StatefulSet:
    """pods: the last start of each name. Everything that is asked about ranges is what the workers noted themselves."""

    server: Server
    directory: Path
    rooms: Path
    client: Client
    config: Path
    pods: dict[str, StartedPod] = field(default_factory=dict)
    _all: list[StartedPod] = field(default_factory=list)
    ranges: int = 8

    def start(self, name: str, *, revision: str = "", environment: Mapping[str, str] | None = None) -> StartedPod:
        start = 1 + sum(each.name == name for each in self._all)
        pod = StartedPod(
            name,
            self.config,
            self.server.kubeconfig,
            self.directory,
            revision=revision,
            uid=f"uid-of-{name}-{start}",
            environment=dict(environment or {}),
            start=start,
            rooms=self.rooms,
        )
        pod.__enter__()
        self._all.append(pod)
        self.pods[name] = pod
        return pod

    def end(self) -> None:
        for pod in self._all:
            if pod.process is not None and pod.process.poll() is None:
                pod.signal_all(signal.SIGCONT)
                pod.kill_all()

    # -- the user's side ---------------------------------------------------------------------------------------------

    async def create(self, name: str) -> None:
        body = {
            "apiVersion": WEBSITES.api_version,
            "kind": "Website",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": 1, "html": "<h1>0</h1>"},
        }
        await self.client.create(WEBSITES, "default", body)

    async def change(self, name: str, text: str) -> None:
        await self.client.merge_patch(WEBSITES, "default", name, {"spec": {"html": f"<h1>{text}</h1>"}})

    @contextlib.asynccontextmanager
    async def busy(self) -> AsyncIterator[None]:
        """Objects change all the time, one after the other."""
        task = asyncio.create_task(self._change_all())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _change_all(self) -> None:
        count = 0
        while True:
            with contextlib.suppress(ApiError):
                await self.change(f"site-{count % OBJECTS}", str(count))
            count += 1
            await asyncio.sleep(1 / CHANGES_PER_SECOND)

    async def unsettled(self) -> list[str]:
        """Objects whose last change no reconcile has answered."""
        items = (await self.client.list(WEBSITES, "default"))["items"]
        return [
            item["metadata"]["name"]
            for item in items
            if (item.get("status") or {}).get("observedGeneration") != item["metadata"]["generation"]
        ]

    async def settle(self, within_seconds: float = START_SECONDS) -> None:
        deadline = time.monotonic() + within_seconds
        while left := await self.unsettled():
            assert time.monotonic() < deadline, f"not settled after {within_seconds:g} s: {left}"
            await asyncio.sleep(0.2)

    # -- what is known -----------------------------------------------------------------------------------------------

    def notes(self) -> list[Note]:
        """Of all workers, by the boot clock."""
        files = (self.directory / JOURNALS).rglob("*.jsonl")
        found = [note for file in files for note in decode_notes(file.read_bytes())]
        return sorted(found, key=lambda note: note.time)

    def steps(self, since: float = 0.0) -> list[Note]:
        return [note for note in self.notes() if note.what == "step" and note.time >= since]

    def owners(self) -> dict[str, str]:
        """Range -> pod whose worker reconciles it; whoever was killed still counts until another one has opened it."""
        owners: dict[str, str] = {}
        for note in self.steps():
            if note.cause == Step.OPEN:
                owners[note.range] = note.member.rpartition("-")[0]
            elif (
                note.cause in (Step.DRAINING, Step.DROPPED) and owners.get(note.range) == note.member.rpartition("-")[0]
            ):
                del owners[note.range]
        return owners

    async def owned_by(self, *pods: str, within_seconds: float = START_SECONDS) -> None:
        """Returns when every range is open on one of these pods, and each of them has one."""

        def spread() -> bool:
            owners = self.owners()
            return len(owners) == self.ranges and set(owners.values()) == set(pods)

        await eventually(spread, within_seconds=within_seconds, what=f"{pods} own all ranges; see {self.directory}")

    def moves(self, since: float) -> dict[str, int]:
        """How often each range was opened after a handover."""
        counts: defaultdict[str, int] = defaultdict(int)
        for note in self.steps(since):
            if note.cause == Step.OPEN and note.outcome == Cause.HANDOVER:
                counts[note.range] += 1
        return counts

    def unowned(self, since: float) -> dict[str, float]:
        """Seconds without a working owner of each range that moved, in all."""
        seconds: defaultdict[str, float] = defaultdict(float)
        began: dict[str, float] = {}
        for note in self.steps(since):
            if note.cause in (Step.DRAINING, Step.DROPPED):
                began.setdefault(note.range, note.time)
            elif note.cause == Step.OPEN and note.range in began:
                seconds[note.range] += note.time - began.pop(note.range)
        return seconds

    def causes(self, since: float) -> set[str]:
        """In which ways ranges came to their owners."""
        return {note.outcome for note in self.steps(since) if note.cause == Step.CLAIMED}

    def verdict(self) -> Verdict:
        return judge(self.server.journal(), notes(self.directory) if self.server.on_wall_clock else self.notes())

    def judged(self, *, twins: bool = False) -> Verdict:
        """Fails where a promise was broken. twins: two processes were called alike at the same time, so that what they
        noted cannot be told apart: only what the server saw is judged."""
        verdict = judge(self.server.journal()) if twins else self.verdict()
        assert verdict.clean, verdict.findings
        broken = [f"{each.id}: {found.what}" for each in verdict.broken_invariants for found in each.findings]
        assert broken == [], "\n".join(broken)
        return verdict


@contextlib.asynccontextmanager
async def stateful_set(
    server: Server,
    directory: Path,
    *,
    ranges: int = 8,
    objects: int = OBJECTS,
    controller: str = "websites",
    **changes: Any,
) -> AsyncIterator[StatefulSet]:
    """Without pods. Its objects are there; those that still run at the end are killed."""
    config = fleet_config(
        directory,
        **(
            {
                "controller": f"{CONTROLLERS}:{controller}",
                "shards": {"count": ranges},
                "workers": {"perPod": 1},
                "coordination": {"leaseSeconds": LEASE_SECONDS},
            }
            | changes
        ),
    )
    transport = await connect(kubeconfig=str(server.kubeconfig))
    # Unix sockets need a short path.
    with tempfile.TemporaryDirectory(prefix="pods-") as rooms:
        made = StatefulSet(
            server, directory, Path(rooms), Client(transport, user_agent="somebody"), config, ranges=ranges
        )
        try:
            crd = yaml.safe_load(WEBSITES_FILE.with_name("websites-crd.yaml").read_text())
            await made.client.create(CRDS, "", crd)
            async with asyncio.timeout(20):
                while not await _served(made.client):
                    await asyncio.sleep(0.1)
            for number in range(objects):
                await made.create(f"site-{number}")
            yield made
        finally:
            await asyncio.to_thread(made.end)
            await transport.close()


async def _served(client: Client) -> bool:
    try:
        await client.list(WEBSITES, "default", query=[("limit", "1")])
    except ApiError:
        return False
    return True


def is_running(pid: int) -> bool:
    """Zombies do not count: their parents have not looked yet, and they do nothing."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
