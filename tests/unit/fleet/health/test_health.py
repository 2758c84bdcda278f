"""How a child is asked how it is."""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from fleet.health.health import HealthServer, Unanswered, ask_metrics, ask_status, unready_reason


def _status() -> Mapping[str, object]:
    return {"ready": True, "shards": ["0-7f"]}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[HealthServer]:
    server = HealthServer(tmp_path, "worker-0", incarnation=3, status=_status, metrics=lambda: b"[]")
    await server.start()
    yield server
    await server.close()


@pytest.mark.usefixtures("server")
async def test_status_and_metrics_are_answered(tmp_path: Path) -> None:
    answer = await ask_metrics(tmp_path, "worker-0")

    assert await ask_status(tmp_path, "worker-0") == {"ready": True, "shards": ["0-7f"]}
    assert (answer.incarnation, bytes(answer.families)) == (3, b"[]")


@pytest.mark.usefixtures("server")
async def test_an_unknown_request_is_answered_with_what_is_known(tmp_path: Path) -> None:
    reader, writer = await asyncio.open_unix_connection(tmp_path / "worker-0.sock")
    writer.write(b"reboot\n")

    assert await reader.read() == b'{"error":"unknown request \'reboot\'; known: status, metrics"}\n'
    writer.close()


async def test_a_socket_file_that_a_dead_predecessor_left_is_replaced(tmp_path: Path) -> None:
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(tmp_path / "worker-0.sock"))
    stale.close()
    with pytest.raises(Unanswered, match="worker-0 is not there"):
        await ask_status(tmp_path, "worker-0")

    server = HealthServer(tmp_path, "worker-0", incarnation=2, status=_status, metrics=lambda: b"[]")
    await server.start()

    assert (await ask_status(tmp_path, "worker-0"))["ready"] is True
    await server.close()
    assert not (tmp_path / "worker-0.sock").exists()


async def test_a_child_without_a_socket_is_silent(tmp_path: Path) -> None:
    with pytest.raises(Unanswered, match="worker-9 is not there"):
        await ask_metrics(tmp_path, "worker-9")


async def test_a_child_that_never_answers_is_given_up(tmp_path: Path) -> None:
    frozen = socket.socket(socket.AF_UNIX)
    frozen.bind(str(tmp_path / "worker-0.sock"))
    frozen.listen()

    with pytest.raises(Unanswered, match=r"did not answer within 0\.05 s"):
        await ask_status(tmp_path, "worker-0", timeout_seconds=0.05)
    frozen.close()


async def test_a_status_that_fails_is_reported_and_the_socket_goes_on(tmp_path: Path) -> None:
    def broken() -> Mapping[str, object]:
        raise RuntimeError("no view yet")

    server = HealthServer(tmp_path, "worker-0", incarnation=1, status=broken, metrics=lambda: b"[]")
    await server.start()

    with pytest.raises(Unanswered, match="RuntimeError: no view yet"):
        await ask_status(tmp_path, "worker-0")
    assert (await ask_metrics(tmp_path, "worker-0")).incarnation == 1
    await server.close()


@pytest.mark.parametrize(
    ("held_until", "confirmed_at", "view_age", "reason"),
    [
        (105.0, 99.0, 89.0, ""),
        (math.inf, 99.0, 0.0, "the member Lease is not held"),
        (97.5, 99.0, 0.0, "the member Lease ran out 2.5 s ago"),
        (105.0, 91.0, 0.0, "the view of map and shard Leases is not confirmed"),
        (105.0, 99.0, 91.4, "a view of objects was last known to be current 91 s ago"),
    ],
)
def test_ready_is_a_held_member_with_views_that_are_current(
    held_until: float, confirmed_at: float, view_age: float, reason: str
) -> None:
    found = unready_reason(
        100.0, held_until=held_until, view_confirmed_at=confirmed_at, lease_seconds=8.0, view_age=view_age
    )
    assert found == reason
