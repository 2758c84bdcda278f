from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from chaos.targets.kube import KubeEvidence, listed
from chaos.targets.target import TargetFailed
from chaos.targets.watched_records import WatchedRecords
from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.faults.match import Match
from fleet.devcluster.faults.words import Cut, ExpireWatch
from fleet.devcluster.recording.journal import GAP, Entry
from fleet.devcluster.server import ApiServer
from fleet.records.lease import Times
from fleet.records.lease_records import lease_from_member
from fleet.records.object_names import LEASES, Names
from fleet.records.record import Incarnation, MemberRecord
from shards.api.client import Client
from shards.errors import ApiError
from shards.testing.virtual_time import loop_seconds

pytestmark = pytest.mark.looptime

NAMES = Names("web", "default")
TIMES = Times("2026-12-01T00:00:00.000000Z", "2026-12-01T00:00:00.000000Z")


def lease(name: str, epoch: int, renewals: int = 0) -> dict[str, object]:
    record = MemberRecord(name, Incarnation("uid-of-a.1", 1), epoch, 8.0, renewals=renewals)
    return lease_from_member(NAMES, record, replaces="", times=TIMES)


@asynccontextmanager
async def followed(server: ApiServer) -> AsyncIterator[list[Entry]]:
    heard: list[Entry] = []
    transport = InProcessTransport(server, clock=loop_seconds)
    records = WatchedRecords(transport, NAMES, heard.append, loop_seconds)
    following = asyncio.create_task(records.follow())
    await records.synced.wait()
    try:
        yield heard
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def fleet_and_hand(server: ApiServer) -> tuple[Client, Client]:
    transport = InProcessTransport(server, clock=loop_seconds)
    return Client(transport, user_agent="fleet/0.1 m=a-0 e=1"), Client(transport, user_agent="kubectl/v1")


def new_server() -> ApiServer:
    return ApiServer(rng=random.Random(1), wall_seconds=lambda: 1.0e9)


async def test_what_is_there_and_what_happens_is_told_with_who_wrote_it() -> None:
    server = new_server()
    fleet, hand = fleet_and_hand(server)
    await fleet.create(LEASES, "default", lease("a-0", 1))
    async with followed(server) as heard:
        await fleet.create(LEASES, "default", lease("b-0", 4))
        await hand.merge_patch(LEASES, "default", NAMES.member("b-0"), {"metadata": {"annotations": {"x": "y"}}})
        await hand.delete(LEASES, "default", NAMES.member("a-0"))
        await asyncio.sleep(1.0)
    assert [(each.seq, each.verb, each.name, each.removed) for each in heard] == [
        (1, "create", "web-member-a-0", False),
        (2, "create", "web-member-b-0", False),
        (3, "update", "web-member-b-0", False),
        (4, "delete", "web-member-a-0", True),
    ]
    assert [each.user_agent for each in heard] == ["fleet/0 m=a-0 e=1", "fleet/0 m=b-0 e=4", "kubectl/0", ""]
    assert [each.succeeded and each.decoded() is not None for each in heard] == [True] * 4


async def test_a_watch_that_breaks_goes_on_where_it_was() -> None:
    server = new_server()
    fleet, _ = fleet_and_hand(server)
    async with followed(server) as heard:
        server.faults.inject(Cut(match=Match(verbs=("watch",)), times=2))
        await fleet.create(LEASES, "default", lease("a-0", 1))
        await asyncio.sleep(5.0)
        await fleet.create(LEASES, "default", lease("b-0", 1))
        await asyncio.sleep(5.0)
    assert [each.name for each in heard] == ["web-member-a-0", "web-member-b-0"]


async def test_what_a_lost_watch_may_have_missed_is_a_gap_in_the_journal() -> None:
    server = new_server()
    fleet, _ = fleet_and_hand(server)
    await fleet.create(LEASES, "default", lease("a-0", 1))
    async with followed(server) as heard:
        server.faults.inject(ExpireWatch(match=Match(verbs=("watch",), resource=str(LEASES)), times=1))
        await fleet.create(LEASES, "default", lease("b-0", 1))
        await asyncio.sleep(5.0)
    assert [(each.verb, each.name) for each in heard] == [
        ("create", "web-member-a-0"),
        (GAP, ""),
        ("create", "web-member-b-0"),
    ]


class Guarded:
    """A server that lets nobody watch, or that says what nobody understands. allowed: verbs."""

    def __init__(self, *allowed: str, line: bytes = b"") -> None:
        self._allowed = allowed
        self._line = line

    async def request(self, method: str, path: str, **_: object) -> bytes:
        if "list" not in self._allowed:
            raise ApiError(403, "Forbidden", "leases is forbidden")
        return b'{"metadata": {"resourceVersion": "5"}, "items": []}'

    @asynccontextmanager
    async def stream(self, path: str, **_: object) -> AsyncIterator[AsyncIterator[bytes]]:
        if "watch" not in self._allowed:
            raise ApiError(403, "Forbidden", "no watch for you")

        async def chunks() -> AsyncIterator[bytes]:
            yield self._line
            await asyncio.sleep(1e6)

        yield chunks()


@asynccontextmanager
async def watched(transport: Guarded) -> AsyncIterator[WatchedRecords]:
    records = WatchedRecords(transport, NAMES, lambda entry: None, loop_seconds)  # type: ignore[arg-type]
    following = asyncio.create_task(records.follow())
    try:
        yield records
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_records_that_may_not_be_watched_are_not_taken_for_records_that_never_change() -> None:
    async with watched(Guarded("list")) as records:
        await listed(records, 30.0)
        await asyncio.sleep(4.0)
        assert not records.trouble(5.0)
        await asyncio.sleep(2.0)
        assert "cannot be followed" in records.trouble(5.0)
        evidence = KubeEvidence(lambda: records.trouble(5.0))
        with pytest.raises(TargetFailed, match=r"cannot be followed: .*403"):
            evidence.verdict()


async def test_a_watch_that_runs_is_no_trouble() -> None:
    async with watched(Guarded("list", "watch")) as records:
        await asyncio.sleep(60.0)
        assert not records.trouble()


async def test_a_line_that_is_no_event_does_not_end_the_following_in_silence() -> None:
    async with watched(Guarded("list", "watch", line=b"{}\n")) as records:
        await asyncio.sleep(0.1)
        assert "cannot be followed: ValidationError" in records.trouble()


async def test_records_that_may_not_be_listed_are_a_sentence_and_no_traceback() -> None:
    async with watched(Guarded()) as records:
        with pytest.raises(TargetFailed, match=r"the fleet's records cannot be read within 30 s: .*403"):
            await listed(records, 30.0)
