"""What other people's processes gathered over time: descriptors, helpers, memory. The table is in docs/cases.md."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import fleet.processes.restarts
from fleet.logs.logs import LogSettings, log_to_stderr
from fleet.processes.supervisor import ChildSpec, ChildStart, Supervisor
from shards.api.client import Client
from shards.objects import Resource
from shards.transport.credentials import Access
from shards.transport.http_transport import KubeTransport
from tests.integration.pods import ROOT
from tests.integration.rawserver import sized
from tests.unit.fleet.processes.processes import Forked, gone, until

CONFIGMAPS = Resource("", "v1", "configmaps")
REQUESTS = int(os.environ.get("REQUESTS", "4000"))
"""Of one client. The case counts a million of them, which takes minutes: REQUESTS=1000000."""
WARM = 500
BLOCKS_A_REQUEST = 0.1
"""What the allocator's blocks in use may grow by."""
BODY = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","uid":"u"},"data":{"t":"%s"}}'
ANSWER = sized(BODY % (b"x" * 2000)) + BODY % (b"x" * 2000)


@asynccontextmanager
async def answering() -> AsyncIterator[int]:
    """A server that gives every request the same answer, and keeps nothing. Its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def gets(client: Client, count: int, *, at_once: int = 8) -> None:
    async def some() -> None:
        for _ in range(count // at_once):
            await client.get(CONFIGMAPS, "ns", "a")

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(some())


@asynccontextmanager
async def a_client() -> AsyncIterator[Client]:
    async with answering() as port:
        access = Access(f"http://127.0.0.1:{port}", "ns", "", float("inf"), None, None, None)
        transport = KubeTransport(access, lambda: access, time.monotonic)
        try:
            yield Client(transport, user_agent="case")
        finally:
            await transport.close()


def living_blocks() -> int:
    gc.collect()
    return sys.getallocatedblocks()


@pytest.mark.timeout(3600)
async def test_b97_requests_leave_no_memory_behind() -> None:
    async with a_client() as client:
        await gets(client, WARM)
        before, files = living_blocks(), len(os.listdir("/proc/self/fd"))
        await gets(client, REQUESTS)
        assert living_blocks() - before < BLOCKS_A_REQUEST * REQUESTS
        assert len(os.listdir("/proc/self/fd")) <= files


async def test_b97_the_oracle_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    """One reference to something that is made for every request is seen."""
    kept: list[object] = []
    get = Client.get

    async def keeping(self: Client, *args: object, **options: object) -> object:
        found = await get(self, *args, **options)  # type: ignore[arg-type]
        kept.append(object())
        return found

    monkeypatch.setattr(Client, "get", keeping)
    with pytest.raises(AssertionError):
        await test_b97_requests_leave_no_memory_behind()


OBJECTS = 100_000


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("every", "most"),
    [
        pytest.param(10, 1.3, id="a tenth has changed"),
        # Readers see the old list until the new one is whole: what has changed is there twice.
        pytest.param(1, 1.75, id="all have changed"),
    ],
)
def test_b49_a_list_after_a_lost_history_is_no_burst_of_memory(every: int, most: float) -> None:
    command = [sys.executable, "-m", "tests.integration.cases.relist_memory", str(OBJECTS), str(every)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    steady, peak = map(float, done.stdout.split())
    assert steady > 40.0, "the objects are not in it"
    assert peak <= most * steady


RESTARTS = 120
WORKERS = 3


def _leaves_a_helper(start: ChildStart) -> int:
    """A worker that fails at once. Its helper hears no SIGTERM and would live for long."""
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)
        os._exit(0)
    os.write(2, f"[{start.name}#{start.count}]\n".encode())
    return 1


def _supervised(run_dir: Path) -> int:
    # Without pauses: a hundred restarts would take a quarter of an hour.
    fleet.processes.restarts.FIRST_DELAY_SECONDS = 0.0
    log_to_stderr(LogSettings())
    children = [ChildSpec(f"worker-{number}", slot=number, main=_leaves_a_helper) for number in range(WORKERS)]
    return Supervisor(children, supervisor_id="pod-uid/nonce", run_dir=run_dir, grace_seconds=2.0).run()


def descendants(pid: int) -> set[int]:
    """All processes below one, zombies too."""
    try:
        children = [int(child) for task in _tasks(pid) for child in (task / "children").read_text().split()]
    except OSError:
        return set()  # it has ended meanwhile
    return {*children}.union(*map(descendants, children))


def _tasks(pid: int) -> list[Path]:
    return list(Path(f"/proc/{pid}/task").iterdir())


def test_b99_b100_workers_that_fail_all_the_time_and_leave_helpers_behind_never_make_more_processes(
    tmp_path: Path,
) -> None:
    with Forked(lambda: _supervised(tmp_path)) as pod:
        most = 0
        seen: set[int] = set()

        def looked(output: str) -> bool:
            nonlocal most
            found = descendants(pod.pid)
            most = max(most, len(found))
            seen.update(found)
            return output.count("[worker-") >= RESTARTS

        pod.output_until(looked)
        assert most <= 2 * WORKERS
        pod.send(signal.SIGTERM)
        pod.exit_code()
    until(lambda: all(gone(pid) for pid in seen), "what the workers left has ended with the pod")
