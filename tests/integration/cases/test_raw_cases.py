"""What servers said on the wire that others took amiss, byte by byte. The table is in docs/cases.md."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from itertools import pairwise

import pytest

import shards.watching.watch
from shards.transport.http_transport import KubeTransport
from tests.integration.rawserver import CHUNKED, Answer, End, Kind, Spoil, chunk
from tests.integration.test_raw_wire import SPOILT, Rig, _no_pauses, instead, rig, watches_only
from tests.integration.waiting import eventually

__all__ = ["_no_pauses", "rig"]

STATUS = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{%s},"status":"Failure","message":"%s","reason":"%s","code":%d%s}'
)
EXPIRED = STATUS % (b"", b"too old resource version: 1 (2)", b"Expired", 410, b"")
BROKEN = STATUS % (b"", b"etcdserver: no leader", b"InternalError", 500, b"")
BEHIND = b"Too large resource version: 999, current: 1"
CAUSES = b',"details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]}'
OLD_VERSION = b"100"
"""The oldest that the server knows; all of its versions have three digits."""


def status(code: int, body: bytes, *headers: bytes) -> Spoil:
    lines = (b"HTTP/1.1 %d X" % code, b"Content-Type: application/json", b"Content-Length: %d" % len(body), *headers)
    return instead(b"\r\n".join((*lines, b"", body)))


def error_event(body: bytes) -> Spoil:
    """In an answer that began well, and with an event behind it that must not count."""
    line = b'{"type":"ERROR","object":' + body + b"}\n"
    never = (
        b'{"type":"ADDED","object":{"metadata":{"name":"never","namespace":"ns","uid":"u","resourceVersion":"999"}}}\n'
    )
    return instead(CHUNKED + chunk(line + never) + b"0\r\n\r\n")


async def watching(rig: Rig) -> int:
    """Waits for a watch. Answers how many requests there were until now."""
    async with asyncio.timeout(5):
        while not rig.server.watched:
            await asyncio.sleep(0)
    return len(rig.server.asked)


def lists_since(rig: Rig, count: int) -> list[dict[str, str]]:
    """Queries of lists, without those that look at the server's version."""
    found = [query for query in rig.server.queries[count:] if "watch" not in query]
    return [query for query in found if query.get("limit") != "1"]


@watches_only
async def test_b25_a_deletion_with_an_old_version_does_not_lower_where_the_next_watch_begins(rig: Rig) -> None:
    def spoil(answer: Answer) -> Sequence[bytes | str]:
        """The deletion's own version becomes a past one of as many digits."""
        before, _, deleted = answer.body.partition(b'"DELETED"')
        assert deleted
        version = b'"resourceVersion":"%d"' % rig.server.truth.version
        deleted = deleted.replace(version, b'"resourceVersion":"%s"' % OLD_VERSION)
        return answer.head + before + b'"DELETED"' + deleted, End.FIN

    before = await watching(rig)
    for _ in range(3):
        rig.server.truth.put("short", "x")
        rig.server.truth.remove("short")
        rig.server.spoil["watch"] = spoil
        rig.server.end_watches()
        await rig.until(lambda: rig.server.spoil == {} and rig.held() == rig.server.truth.versions())
        await watching(rig)
    resumed = [int(query["resourceVersion"]) for query in rig.server.queries[before:] if "watch" in query]
    assert resumed == sorted(resumed)
    assert lists_since(rig, before) == []
    assert rig.told.wrong == []


@watches_only
@pytest.mark.parametrize("body", [EXPIRED, BROKEN], ids=["410", "500"])
async def test_b29_b30_b34_an_error_within_a_good_answer_ends_the_watch_and_what_is_behind_it_does_not_count(
    rig: Rig, body: bytes
) -> None:
    before = await watching(rig)
    await rig.watch_spoilt(error_event(body), 1)
    assert "never" not in rig.held()
    assert len(lists_since(rig, before)) == (1 if body == EXPIRED else 0)
    assert all(query.get("resourceVersion", "1").isdigit() for query in rig.server.queries)


@watches_only
async def test_b29_b30_a_410_instead_of_a_watch_is_followed_by_one_list(rig: Rig) -> None:
    before = await watching(rig)
    await rig.watch_spoilt(status(410, EXPIRED), 1)
    assert len(lists_since(rig, before)) == 1


@watches_only
@pytest.mark.parametrize("causes", [CAUSES, b""], ids=["with a cause", "in words only"])
@pytest.mark.parametrize("within", [False, True], ids=["a status", "an event"])
async def test_b31_a_server_that_is_behind_is_listed_within_two_tries(rig: Rig, causes: bytes, within: bool) -> None:
    body = STATUS % (b"", BEHIND, b"Timeout", 504, causes)
    before = await watching(rig)
    await rig.watch_spoilt(error_event(body) if within else status(504, body), 1)
    kinds = rig.server.asked[before:]
    assert kinds[:2] == ["watch", "list"]
    assert len(lists_since(rig, before)) == 1


@watches_only
async def test_b35_b36_a_watch_that_says_nothing_is_given_up_and_nothing_is_missed(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a head and without one, and in the middle of an event. 75 s are a fifth of a second here."""
    monkeypatch.setitem(KubeTransport.stream.__wrapped__.__kwdefaults__, "idle_seconds", 0.2)  # type: ignore[attr-defined]
    before = await watching(rig)
    heads: Sequence[Spoil] = (
        lambda answer: (answer.head,),
        lambda _: (b"",),
        lambda answer: (answer.whole[:-40],),
        lambda answer: (answer.head + b"20\r\n{",),
    )
    for round, spoil in enumerate(heads):
        await rig.watch_spoilt(spoil, round)
    assert lists_since(rig, before) == []


@watches_only
async def test_b40_a_watch_that_ends_at_once_is_not_asked_for_in_a_loop(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards.watching.watch, "BACKOFF_SECONDS", (0.1, 30.0))
    before = await watching(rig)
    began = time.monotonic()
    rig.server.end_watches()
    while time.monotonic() < began + 2:
        rig.server.spoil["watch"] = instead(CHUNKED + b"0\r\n\r\n")
        await asyncio.sleep(0.001)
    rig.server.spoil.clear()
    assert 3 <= len(rig.server.asked) - before <= 8


@pytest.mark.parametrize("rig", [False], ids=["pages"], indirect=True)
async def test_b46_a_rest_that_is_offered_from_another_snapshot_is_not_taken(rig: Rig) -> None:
    """On the third of five pages: 410 with a token for an inconsistent rest."""
    server = rig.server
    for number in range(8):
        server.truth.put(f"more-{number}")
    await rig.until(lambda: rig.held() == server.truth.versions())
    server.page = 2
    body = STATUS % (b'"continue":"6"', b"The provided continue parameter is too old", b"Expired", 410, b"")
    server.spared["list"] = 2
    server.spoil["list"] = status(410, body)
    before, told = len(server.asked), len(rig.told.known)
    await rig.informer.relist()
    tokens = [query.get("continue", "") for query in lists_since(rig, before)]
    assert tokens == ["", "2", "4", "", "2", "4", "6", "8"]
    assert len(rig.told.known) == told
    rig.check()


@watches_only
async def test_b53_a_refused_watch_waits_as_it_is_told_and_costs_no_list(rig: Rig) -> None:
    before, times = await watching(rig), []

    def refuse(_: Answer) -> Sequence[bytes | str]:
        times.append(time.monotonic())
        if len(times) < 3:
            rig.server.spoil["watch"] = refuse
        return status(429, b'{"kind":"Status","code":429}', b"Retry-After: 1")(_)

    await rig.watch_spoilt(refuse, 1)
    assert len(times) == 3
    assert all(later - earlier >= 1 for earlier, later in pairwise(times))
    assert lists_since(rig, before) == []


@pytest.mark.parametrize("kind", ["list", "watch"])
async def test_b42_no_way_in_which_an_answer_ends_leaves_a_connection_or_a_file_behind(rig: Rig, kind: Kind) -> None:
    async def all_of_them() -> int:
        for round, spoil in enumerate(SPOILT.values()):
            await (rig.list_spoilt if kind == "list" else rig.watch_spoilt)(spoil, round)
        await watching(rig)
        await eventually(lambda: rig.server.connections <= 2, within_seconds=5, what="a watch, and one that is kept")
        return len(os.listdir("/proc/self/fd"))

    before = await all_of_them()
    for _ in range(3):
        assert await all_of_them() <= before + 2
