"""The informer against a server that breaks its answers at every byte. After each, the view equals the server.

In between, nothing was told that was not so: no deletion but of objects that were deleted, nothing twice.
"""

from __future__ import annotations

import asyncio
import gzip
import random
import re
import time
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress

import pytest

import shards.watching.watch
from shards.informers.informer import Informer
from shards.keyrange import WHOLE, PartitionKey
from shards.objects import Resource
from shards.settings import ScopeSettings
from shards.transport.credentials import Access
from shards.transport.http_transport import KubeTransport
from shards.watching.source import FilterMode, Source
from tests.integration.rawserver import CHUNKED, Answer, End, Kind, RawServer, Spoil, chunk, sized
from tests.integration.waiting import eventually
from tests.unit.shards.informers.test_informer_walk import Told

CONFIGMAPS = Resource("", "v1", "configmaps")
TEXT = '日本語 🦊 \\u0000 " é'


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of failures in a row; how long to wait after one is tested elsewhere."""
    monkeypatch.setattr(shards.watching.watch, "BACKOFF_SECONDS", (0.0001, 0.001))
    monkeypatch.setattr(shards.watching.watch, "SPREAD_SECONDS", 0.0)


class Rig:
    """An informer of everything, over real sockets. wrong: what it told that did not fit."""

    def __init__(self, server: RawServer, *, streams: bool) -> None:
        self.server = server
        self.streams = streams
        self.told = Told()
        self._moved = asyncio.Event()
        access = Access(server.url, "ns", "", float("inf"), None, None, None)
        self.transport = KubeTransport(access, lambda: access, time.monotonic)
        source = Source(CONFIGMAPS, WHOLE, PartitionKey.UID, ScopeSettings(), FilterMode.LOCAL, "primary")
        self.informer = Informer(
            self.transport,
            source,
            handler=self.told,
            on_progress=self.moved,
            clock=time.monotonic,
            rng=random.Random(1),
            namespace="ns",
            streams=streams,
        )

    @property
    def lists(self) -> Kind:
        """What a list is to the server."""
        return "watch" if self.streams else "list"

    def moved(self) -> None:
        self._moved.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Looks whenever the view has moved."""
        async with asyncio.timeout(5):
            while not condition():
                self._moved.clear()
                await self._moved.wait()

    def held(self) -> dict[str, str]:
        return {meta.name: meta.resource_version for meta in self.informer.store.metas()}

    def change(self, round: int) -> None:
        """Objects that come, go and change, so that a view that stood still would show it."""
        truth = self.server.truth
        truth.put("stays", TEXT)
        truth.put(f"came-{round}", TEXT)
        if f"came-{round - 1}" in truth.objects:
            truth.remove(f"came-{round - 1}")

    async def list_spoilt(self, spoil: Spoil, round: int) -> None:
        """A list is asked for, and its first answer is spoilt."""
        server = self.server
        self.change(round)
        server.spoil[self.lists] = spoil
        wanted, version = server.truth.versions(), str(server.truth.version)
        async with asyncio.timeout(5):
            assert await self.informer.relist() == version
        assert self.held() == wanted
        self.check()

    async def watch_spoilt(self, spoil: Spoil, round: int) -> None:
        """The next watch brings changes, and is spoilt."""
        server = self.server
        async with asyncio.timeout(5):
            while not server.watched:
                await asyncio.sleep(0)
        self.change(round)
        server.spoil["watch"] = spoil
        server.end_watches()
        wanted, version = server.truth.versions(), str(server.truth.version)

        await self.until(lambda: self.informer.store.resource_version == version)
        assert self.held() == wanted
        self.check()

    def check(self) -> None:
        """Also that every failure was one that the transport or the decoder names, not one that surprised us."""
        assert self.told.wrong == []
        assert {name.name: each.resource_version for name, each in self.told.known.items()} == self.held()
        assert self.server.spoil == {}


@pytest.fixture(params=[False, True], ids=["pages", "streams"])
async def rig(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Rig]:
    async with RawServer().running() as server:
        for number in range(2):
            server.truth.put(f"o{number}", TEXT)
        made = Rig(server, streams=request.param)
        running = asyncio.create_task(made.informer.run())
        try:
            async with asyncio.timeout(5):
                await made.informer.synced.wait()
            yield made
            assert made.server.spoilt > 0
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
            await made.transport.close()
        assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
        await eventually(lambda: server.connections == 0, within_seconds=5, what="no connection is left")


def cut(at: int, end: str) -> Spoil:
    return lambda answer: (answer.whole[:at], end)


def cut_cleanly(at: int) -> Spoil:
    """A proxy that passes a part on and says that this was all."""
    return lambda answer: (
        (CHUNKED + chunk(_unchunked(answer)[:at]) + b"0\r\n\r\n",) if at else (CHUNKED + b"0\r\n\r\n",)
    )


def sliced(at: int) -> Spoil:
    return lambda answer: (answer.whole[:at], answer.whole[at:])


def _unchunked(answer: Answer) -> bytes:
    if not answer.open:
        return answer.body
    rest, found = answer.body, b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        found, rest = found + rest[:length], rest[length + 2 :]
    return found


def lengths(rig: Rig) -> tuple[int, int]:
    """About as long as a list and a watch of one change are, on the wire and unpacked."""
    answer = rig.server._answer({"watch": ["1"], "sendInitialEvents": ["true"]} if rig.streams else {})
    return len(answer.whole) + 8, len(_unchunked(answer))


@pytest.mark.parametrize("end", [End.FIN, End.RST])
async def test_a_list_cut_at_every_byte(rig: Rig, end: str) -> None:
    for round, at in enumerate(range(lengths(rig)[0])):
        await rig.list_spoilt(cut(at, end), round)


async def test_a_list_that_ends_too_soon_and_says_that_it_is_whole(rig: Rig) -> None:
    for round, at in enumerate(range(lengths(rig)[1] - 1)):
        await rig.list_spoilt(cut_cleanly(at), round)


async def test_a_list_in_two_pieces_at_every_byte(rig: Rig) -> None:
    for round, at in enumerate(range(lengths(rig)[0])):
        await rig.list_spoilt(sliced(at), round)


WATCH_BYTES = 900
"""At least as long as a watch's answer with three changes."""

watches_only = pytest.mark.parametrize("rig", [False], ids=["watch"], indirect=True)


@watches_only
@pytest.mark.parametrize("end", [End.FIN, End.RST])
async def test_a_watch_cut_at_every_byte(rig: Rig, end: str) -> None:
    for round, at in enumerate(range(WATCH_BYTES)):
        await rig.watch_spoilt(cut(at, end), round)


@watches_only
async def test_a_watch_that_ends_within_an_event_as_if_it_were_over(rig: Rig) -> None:
    for round, at in enumerate(range(WATCH_BYTES)):
        await rig.watch_spoilt(cut_cleanly(at), round)


@watches_only
async def test_a_watch_in_two_pieces_at_every_byte(rig: Rig) -> None:
    for round, at in enumerate(range(WATCH_BYTES)):
        await rig.watch_spoilt(sliced(at), round)


def instead(*steps: bytes | str) -> Spoil:
    return lambda _: steps


def with_body(change: Callable[[bytes], bytes], *headers: bytes) -> Spoil:
    """Another body under a head that fits it."""

    def spoil(answer: Answer) -> Sequence[bytes | str]:
        body = change(_unchunked(answer))
        return (sized(body, *headers) + body,)

    return spoil


def with_head(change: Callable[[bytes], bytes], end: str = End.FIN) -> Spoil:
    """The body as it is under another head."""

    def spoil(answer: Answer) -> Sequence[bytes | str]:
        body = _unchunked(answer)
        return change(sized(body)) + body, end

    return spoil


def length(of: Callable[[int], bytes]) -> Spoil:
    """Content-Length as that says of the true one."""

    def spoil(answer: Answer) -> Sequence[bytes | str]:
        body = _unchunked(answer)
        return b"HTTP/1.1 200 OK\r\n" + of(len(body)) + b"\r\n\r\n" + body, End.FIN

    return spoil


def chunked(of: Callable[[bytes], bytes]) -> Spoil:
    return lambda answer: (CHUNKED + of(_unchunked(answer)), End.FIN)


GZIP = b"Content-Encoding: gzip"
DEEP = b"[" * 100_000

SPOILT: dict[str, Spoil] = {
    "nothing": instead(End.FIN),
    "a reset": instead(End.RST),
    "slow bytes": lambda answer: [answer.whole[at : at + 1] for at in range(len(answer.whole))],
    "garbage": instead(bytes(random.Random(3).randbytes(3000)), End.FIN),
    "TLS": instead(b"\x15\x03\x01\x00\x02\x02\x46", End.FIN),
    "another protocol": instead(b"HTTP/9.9 200 OK\r\n\r\n", End.FIN),
    "no status": instead(b"HTTP/1.1 \r\n\r\n", End.FIN),
    "an endless head": instead(b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"a" * 200_000, End.FIN),
    "a hundred thousand headers": instead(b"HTTP/1.1 200 OK\r\n" + b"X-A: a\r\n" * 100_000, End.FIN),
    "a NUL in the head": with_head(lambda head: head.replace(b"200 OK", b"200 O\0K")),
    "a length that is too long": length(lambda size: b"Content-Length: %d" % (size + 10)),
    "a length that is too short": length(lambda size: b"Content-Length: %d" % (size - 10)),
    "a length of nothing": length(lambda size: b"Content-Length: 0"),
    "a negative length": length(lambda size: b"Content-Length: -5"),
    "a length that is no number": length(lambda size: b"Content-Length: many"),
    "two lengths": length(lambda size: b"Content-Length: %d\r\nContent-Length: %d" % (size, size - 1)),
    "length and chunks": length(lambda size: b"Content-Length: %d\r\nTransfer-Encoding: chunked" % size),
    "no length at all": length(lambda size: b"X: y"),
    "no final chunk": chunked(chunk),
    "a final chunk twice": chunked(lambda body: chunk(body) + b"0\r\n\r\n0\r\n\r\n"),
    "garbage behind the end": chunked(lambda body: chunk(body) + b"0\r\n\r\ngarbage"),
    "a chunk that is too long": chunked(lambda body: b"%x\r\n" % (len(body) + 7) + body + b"\r\n0\r\n\r\n"),
    "a chunk that is too short": chunked(lambda body: b"%x\r\n" % (len(body) - 7) + body + b"\r\n0\r\n\r\n"),
    "a chunk of no size": chunked(lambda body: b"zz\r\n" + body),
    "a chunk of a huge size": chunked(lambda body: b"f" * 30 + b"\r\n" + body),
    "a chunk of a negative size": chunked(lambda body: b"-5\r\n" + body),
    "chunks with extensions": chunked(lambda body: b"%x;a=b\r\n" % len(body) + body + b"\r\n0\r\n\r\n"),
    "trailers": chunked(lambda body: chunk(body) + b"0\r\nX-T: a\r\n\r\n"),
    "100 and 103 before": lambda answer: (
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n",
        answer.whole,
    ),
    "only 100": instead(b"HTTP/1.1 100 Continue\r\n\r\n", End.FIN),
    "switching protocols": instead(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", End.FIN),
    "204": instead(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "206": with_head(lambda head: head.replace(b"200 OK", b"206 Partial Content"), End.FIN),
    "304": instead(b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    "302": instead(b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"),
    "599": instead(b"HTTP/1.1 599 What\r\nContent-Length: 0\r\n\r\n"),
    "good gzip": with_body(gzip.compress, GZIP),
    "gzip that is none": with_body(lambda body: body, GZIP),
    "gzip with garbage behind": with_body(lambda body: gzip.compress(body) + b"garbage", GZIP),
    "gzip with a wrong sum": with_body(lambda body: gzip.compress(body)[:-8] + b"\0" * 8, GZIP),
    "deflate that is gzip": with_body(gzip.compress, b"Content-Encoding: deflate"),
    "zlib as deflate": with_body(zlib.compress, b"Content-Encoding: deflate"),
    "an encoding that nobody asked for": with_body(lambda body: body, b"Content-Encoding: br"),
    "an encoding that nobody knows": with_body(lambda body: body, b"Content-Encoding: rot13"),
    "an empty body": with_body(lambda _: b""),
    "white space": with_body(lambda _: b" \n\n "),
    "null": with_body(lambda _: b"null"),
    "a number": with_body(lambda _: b"7"),
    "a string": with_body(lambda _: b'"x"'),
    "an array": with_body(lambda _: b"[]"),
    "an empty object": with_body(lambda _: b"{}"),
    "a page of a hotel's network": with_body(lambda _: b"<html>Please log in</html>"),
    "a Status": with_body(lambda _: b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":500}'),
    "no version": with_body(lambda body: body.replace(b'"resourceVersion"', b'"resourceversion"')),
    "versions of another kind": with_body(lambda body: body.replace(b'"resourceVersion":"', b'"resourceVersion":"x')),
    "versions that are numbers": with_body(lambda body: _bare_versions(body)),
    "no UIDs": with_body(lambda body: body.replace(b'"uid"', b'"Uid"')),
    "a byte order mark": with_body(lambda body: b"\xef\xbb\xbf" + body),
    "UTF-16": with_body(lambda body: body.decode().encode("utf-16")),
    "NUL bytes": with_body(lambda body: body.replace(b"{", b"{\0", 1)),
    "no UTF-8 in a name": with_body(lambda body: body.replace(b'"o1"', b'"o\xff1"')),
    "NaN": with_body(lambda body: body.replace(b'"metadata"', b'"a":NaN,"metadata"', 1)),
    "depth": with_body(lambda body: DEEP),
    "depth within an object": with_body(lambda body: body.replace(b'"data":', b'"deep":' + DEEP + b',"data":', 1)),
    "a megabyte of spaces": with_body(lambda body: b" " * (1 << 20) + b"!"),
}


def _bare_versions(body: bytes) -> bytes:
    return re.sub(rb'"resourceVersion":"([0-9]+)"', rb'"resourceVersion":\1', body)


@pytest.mark.parametrize("kind", ["list", "watch"])
async def test_an_answer_that_is_none(rig: Rig, kind: Kind) -> None:
    """Every spoilt answer, and then a whole one."""
    for round, (name, spoil) in enumerate(SPOILT.items()):
        try:
            if kind == "list":
                await rig.list_spoilt(spoil, round)
            else:
                await rig.watch_spoilt(spoil, round)
        except (AssertionError, TimeoutError) as error:
            raise AssertionError(f"{name}: {error!r}; {rig.informer.trouble}") from error


@pytest.mark.parametrize("kind", ["list", "watch"])
async def test_gzip_cut_at_every_byte(rig: Rig, kind: Kind) -> None:
    size = len(gzip.compress(_unchunked(rig.server._answer({})))) + 40
    for round, at in enumerate(range(size)):
        spoil = with_body(lambda body, at=at: gzip.compress(body)[:at], GZIP)  # type: ignore[misc]
        await (rig.list_spoilt if kind == "list" else rig.watch_spoilt)(spoil, round)


async def test_the_oracle_fires(rig: Rig) -> None:
    """A list that lacks its end and is valid all the same is believed: nobody can tell."""
    with pytest.raises(AssertionError):
        await rig.list_spoilt(with_body(lambda body: body.replace(b'"o1"', b'"o4"')), 1)
