"""The HTTP transport against a small server on the loopback interface."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from shards.clock import boot_seconds
from shards.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    NotOwner,
    ServerTimeout,
    TooManyRequests,
    Unreachable,
)
from shards.transport.kube import KubeTransport, connect
from tests.unit.shards.transport.http_server import STREAM, Answer, Clock, Request, Server, answer, chunk, kubeconfig


@dataclass
class Rig:
    server: Server
    transport: KubeTransport


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with Server().running() as server:
        path = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{server.port}", user={"token": "secret"})
        transport = await connect(kubeconfig=path)
        yield Rig(server, transport)
        await transport.close()


class TestRequests:
    async def test_a_request_carries_who_asks_and_what_it_wants(self, rig: Rig) -> None:
        rig.server.answers = lambda _: answer(200, b'{"a":1}')
        found = await rig.transport.request(
            "PATCH",
            "/api/v1/namespaces/ns/configmaps/a",
            query=[("fieldManager", "a b&c"), ("labelSelector", "slot in (0a,0b)")],
            body=b'{"x":"\xc3\xa9"}',
            content_type="application/merge-patch+json",
            user_agent="fleet/0.1.0 m=pod-0",
        )
        assert found == b'{"a":1}'
        (request,) = rig.server.requests
        assert request.method == "PATCH"
        assert request.target == (
            "/api/v1/namespaces/ns/configmaps/a?fieldManager=a%20b%26c&labelSelector=slot%20in%20%280a%2C0b%29"
        )
        assert request.body == b'{"x":"\xc3\xa9"}'
        wanted = {
            "content-type": "application/merge-patch+json",
            "user-agent": "fleet/0.1.0 m=pod-0",
            "authorization": "Bearer secret",
            "accept": "application/json",
            "accept-encoding": "gzip",
        }
        assert {name: request.headers.get(name) for name in wanted} == wanted

    async def test_connections_are_used_again(self, rig: Rig) -> None:
        for _ in range(3):
            await rig.transport.request("GET", "/api")
        assert rig.server.connections == 1

    @pytest.mark.parametrize(
        ("status", "reason", "kind"),
        [
            (400, "BadRequest", ApiError),
            (403, "Forbidden", Forbidden),
            (404, "NotFound", NotFound),
            (409, "Conflict", Conflict),
            (409, "AlreadyExists", AlreadyExists),
            (410, "Expired", Expired),
            (422, "Invalid", Invalid),
            (429, "TooManyRequests", TooManyRequests),
            (500, "InternalError", ApiError),
            (504, "Timeout", ServerTimeout),
        ],
    )
    async def test_failure_answers_become_errors(
        self, rig: Rig, status: int, reason: str, kind: type[ApiError]
    ) -> None:
        body = f'{{"kind":"Status","code":{status},"reason":"{reason}","message":"because"}}'.encode()
        rig.server.answers = lambda _: answer(status, body, **{"Retry-After": "3"})
        with pytest.raises(kind, match="because") as caught:
            await rig.transport.request("GET", "/api")
        assert type(caught.value) is kind
        assert (caught.value.status, caught.value.reason, caught.value.retry_after_seconds) == (status, reason, 3.0)

    async def test_a_pause_that_is_no_number_is_none(self, rig: Rig) -> None:
        rig.server.answers = lambda _: answer(429, b"slow down", **{"Retry-After": "\u00b2"})
        with pytest.raises(TooManyRequests) as caught:
            await rig.transport.request("GET", "/api")
        assert caught.value.retry_after_seconds is None

    async def test_a_proxys_page_becomes_an_error_too(self, rig: Rig) -> None:
        rig.server.answers = lambda _: answer(502, b"<html>bad gateway</html>")
        with pytest.raises(ApiError, match="bad gateway"):
            await rig.transport.request("GET", "/api")

    async def test_redirects_are_not_followed(self, rig: Rig) -> None:
        rig.server.answers = lambda _: answer(302, b"", Location="http://127.0.0.1:9/elsewhere")
        with pytest.raises(ApiError, match="302"):
            await rig.transport.request("GET", "/api")

    async def test_a_truncated_answer_is_no_answer(self, rig: Rig) -> None:
        def cut(_: Request) -> bytes:
            asyncio.get_running_loop().call_soon(rig.server.writers[-1].close)
            return b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"

        rig.server.answers = cut
        with pytest.raises(Unreachable) as caught:
            await rig.transport.request("PATCH", "/api", body=b"{}")
        assert caught.value.maybe_applied


class TestUnreachable:
    async def test_nobody_listens(self, tmp_path: Path) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            path = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{unused.getsockname()[1]}")
            transport = await connect(kubeconfig=path)
            with pytest.raises(Unreachable) as caught:
                await transport.request("PUT", "/api", body=b"{}")
            assert not caught.value.maybe_applied
            await transport.close()

    async def test_a_transport_that_was_closed_sends_nothing(self, rig: Rig) -> None:
        await rig.transport.close()
        with pytest.raises(Unreachable, match="closed") as caught:
            await rig.transport.request("PUT", "/api", body=b"{}")
        assert not caught.value.maybe_applied
        with pytest.raises(Unreachable, match="closed"):
            await read_all(rig.transport)
        assert rig.server.requests == []

    async def test_a_write_that_gets_no_answer_in_time_may_have_been_applied(self, rig: Rig) -> None:
        rig.server.answers = lambda _: None
        with pytest.raises(Unreachable) as caught:
            await rig.transport.request("PUT", "/api", body=b"{}", timeout_seconds=0.05)
        assert caught.value.maybe_applied
        assert await rig.server.ends.get() == "reset"

    async def test_a_cancelled_request_resets_its_connection(self, rig: Rig) -> None:
        rig.server.answers = lambda _: None
        task = asyncio.create_task(rig.transport.request("PUT", "/api", body=b"{}"))
        await rig.server.arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await rig.server.ends.get() == "reset"

    async def test_what_a_cancelled_request_had_not_sent_is_never_sent(self, tmp_path: Path) -> None:
        loop = asyncio.get_running_loop()
        body = b"x" * 900_000
        with socket.socket() as listener:
            # A window this small leaves most of the body in the sender's buffers.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            listener.setblocking(False)
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            path = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{listener.getsockname()[1]}")
            transport = await connect(kubeconfig=path)
            task = asyncio.create_task(transport.request("PUT", "/api", body=body))
            accepted, _ = await loop.sock_accept(listener)
            with accepted:
                received = len(await loop.sock_recv(accepted, 1))
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await asyncio.sleep(0)
                end = ""
                try:
                    while data := await loop.sock_recv(accepted, 1 << 16):
                        received += len(data)
                except ConnectionResetError:
                    end = "reset"
            assert end == "reset"
            assert received < len(body) / 2
            await transport.close()

    @pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "POST"])
    async def test_a_write_is_never_sent_twice(self, rig: Rig, method: str) -> None:
        await rig.transport.request("GET", "/api")

        def drop(_: Request) -> Answer:
            rig.server.writers[-1].transport.abort()
            return None

        rig.server.answers = drop
        with pytest.raises(Unreachable) as caught:
            await rig.transport.request(method, "/api", body=b"{}")
        assert caught.value.maybe_applied
        assert [each.method for each in rig.server.requests] == ["GET", method]

    async def test_a_read_is_sent_again_when_a_kept_connection_turns_out_to_be_closed(self, rig: Rig) -> None:
        await rig.transport.request("GET", "/api")

        def drop_once(_: Request) -> Answer:
            if len(rig.server.requests) == 2:
                rig.server.writers[-1].transport.abort()
                return None
            return answer(200, b'{"again":true}')

        rig.server.answers = drop_once
        assert await rig.transport.request("GET", "/api") == b'{"again":true}'


class TestDeadline:
    @asynccontextmanager
    async def late_rig(self, tmp_path: Path) -> AsyncIterator[tuple[Rig, Clock]]:
        clock = Clock()
        async with Server().running() as server:
            path = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{server.port}")
            transport = await connect(kubeconfig=path, clock=clock)
            yield Rig(server, transport), clock
            await transport.close()

    async def test_nothing_is_sent_after_it(self, tmp_path: Path) -> None:
        async with self.late_rig(tmp_path) as (rig, clock):
            with pytest.raises(NotOwner):
                await rig.transport.request("PUT", "/api", body=b"{}", not_after=clock.now)
            assert rig.server.requests == []

    async def readings(self, rig: Rig, clock: Clock) -> int:
        """How often the clock is read for one write. The last two are made with the connection in hand."""
        before = clock.readings
        await rig.transport.request("PUT", "/api", body=b"{}", not_after=clock.now + 1)
        rig.server.requests.clear()
        return clock.readings - before

    async def test_it_is_looked_at_with_the_connection_in_hand(self, tmp_path: Path) -> None:
        async with self.late_rig(tmp_path) as (rig, clock):
            clock.late_at = clock.readings + 2 * await self.readings(rig, clock) - 1
            with pytest.raises(NotOwner):
                await rig.transport.request("PUT", "/api", body=b"{}", not_after=clock.now + 1)
            assert rig.server.requests == []
            await rig.transport.request("GET", "/api")
            assert rig.server.connections == 1, "a connection on which nothing was sent serves the next request"

    async def test_it_is_looked_at_again_before_a_body_is_written(self, tmp_path: Path) -> None:
        async with self.late_rig(tmp_path) as (rig, clock):
            clock.late_at = clock.readings + 2 * await self.readings(rig, clock)
            with pytest.raises(NotOwner):
                await rig.transport.request("PUT", "/api", body=b"{}", not_after=clock.now + 1)
            assert await rig.server.ends.get() == "reset"
            assert rig.server.requests == []

    async def test_an_answer_is_not_waited_for_beyond_it(self, rig: Rig) -> None:
        rig.server.answers = lambda _: None
        async with asyncio.timeout(5):
            with pytest.raises(Unreachable) as caught:
                await rig.transport.request("PUT", "/api", body=b"{}", not_after=boot_seconds() + 0.1)
        assert caught.value.maybe_applied
        assert await rig.server.ends.get() == "reset"

    async def test_one_that_passes_while_the_connection_is_made_is_told_as_such(self, tmp_path: Path) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            # Accepted by the kernel, and no TLS handshake ever comes.
            path = kubeconfig(tmp_path / "config", f"https://127.0.0.1:{listener.getsockname()[1]}")
            transport = await connect(kubeconfig=path)
            with pytest.raises(NotOwner):
                await transport.request("PUT", "/api", body=b"{}", not_after=boot_seconds() + 0.05)
            await transport.close()

    async def test_a_request_in_time_is_sent_and_the_connection_of_a_late_one_serves_the_next(
        self, tmp_path: Path
    ) -> None:
        async with self.late_rig(tmp_path) as (rig, clock):
            await rig.transport.request("PUT", "/api", body=b"{}", not_after=clock.now + 1)
            with pytest.raises(NotOwner):
                await rig.transport.request("PUT", "/api", body=b"{}", not_after=clock.now - 1)
            await rig.transport.request("PUT", "/api", body=b"{}", not_after=clock.now + 1)
            assert rig.server.connections == 1
            assert len(rig.server.requests) == 2


class TestSockets:
    @pytest.mark.parametrize("kind", ["request", "watch"])
    async def test_they_reset_on_close_and_do_not_keep_unacknowledged_data(
        self, rig: Rig, kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[socket.socket] = []
        connect_ = socket.socket.connect

        def spy(self: socket.socket, address: tuple[str, int]) -> None:
            seen.append(self)
            connect_(self, address)

        monkeypatch.setattr(socket.socket, "connect", spy)
        until = boot_seconds() + 4
        if kind == "request":
            await rig.transport.request("GET", "/api", not_after=until)
            expected = range(1, 4001)
        else:
            rig.server.answers = lambda _: STREAM + chunk(b"{}\n")
            async with rig.transport.stream("/api") as chunks:
                assert await anext(chunks) == b"{}\n"
                self.check(seen[0], range(20_000, 20_001))
            return
        self.check(seen[0], expected)

    def check(self, found: socket.socket, user_timeout: range) -> None:
        assert struct.unpack("ii", found.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)) == (1, 0)
        assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
        assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) in user_timeout


async def read_all(transport: KubeTransport, idle_seconds: float = 75.0) -> bytes:
    async with transport.stream("/api", idle_seconds=idle_seconds) as chunks:
        return b"".join([each async for each in chunks])


class TestStreams:
    async def test_chunks_come_as_they_are_cut(self, rig: Rig) -> None:
        rig.server.answers = lambda _: STREAM + chunk(b'{"a"') + chunk(b":1}\n") + b"0\r\n\r\n"
        async with rig.transport.stream("/api", query=[("watch", "true")], user_agent="fleet/0") as chunks:
            assert b"".join([each async for each in chunks]) == b'{"a":1}\n'
        assert rig.server.requests[0].target == "/api?watch=true"
        assert rig.server.requests[0].headers["user-agent"] == "fleet/0"

    async def test_a_failure_answer_is_raised_on_entering(self, rig: Rig) -> None:
        rig.server.answers = lambda _: answer(410, b'{"reason":"Expired","message":"too old"}')
        with pytest.raises(Expired, match="too old"):
            async with rig.transport.stream("/api"):
                pytest.fail("the stream must not open")

    @pytest.mark.parametrize("said", [None, STREAM + chunk(b"{}\n")], ids=["no answer", "after a chunk"])
    async def test_a_silent_server_is_given_up(self, rig: Rig, said: Answer) -> None:
        rig.server.answers = lambda _: said
        with pytest.raises(Unreachable, match="silent"):
            await read_all(rig.transport, idle_seconds=0.05)

    async def test_a_broken_connection_is_unreachable(self, rig: Rig) -> None:
        def cut(_: Request) -> bytes:
            asyncio.get_running_loop().call_soon(rig.server.writers[-1].close)
            return STREAM + chunk(b"{}\n")

        rig.server.answers = cut
        with pytest.raises(Unreachable):
            await read_all(rig.transport)

    async def test_leaving_resets_the_connection(self, rig: Rig) -> None:
        rig.server.answers = lambda _: STREAM + chunk(b"{}\n")
        async with rig.transport.stream("/api") as chunks:
            await anext(chunks)
        assert await rig.server.ends.get() == "reset"

    async def test_a_stream_is_not_silent_while_its_chunks_are_worked_on(self, rig: Rig) -> None:
        rig.server.answers = lambda _: STREAM + chunk(b"a\n")
        async with rig.transport.stream("/api", idle_seconds=0.1) as chunks:
            assert await anext(chunks) == b"a\n"
            began = asyncio.get_running_loop().time()
            while asyncio.get_running_loop().time() - began < 0.3:
                await asyncio.sleep(0)
            rig.server.writers[-1].write(chunk(b"b\n"))
            assert await anext(chunks) == b"b\n"
            with pytest.raises(Unreachable, match="silent"):
                await anext(chunks)

    async def test_a_chunk_now_and_then_is_enough_not_to_be_silent(self, rig: Rig) -> None:
        rig.server.answers = lambda _: STREAM + chunk(b"0\n")
        async with rig.transport.stream("/api", idle_seconds=0.2) as chunks:
            loop = asyncio.get_running_loop()
            for number in range(1, 6):
                loop.call_later(0.1 * number, rig.server.writers[-1].write, chunk(b"%d\n" % number))
            assert [await anext(chunks) for _ in range(6)] == [b"%d\n" % number for number in range(6)]

    async def test_one_that_has_ended_leaves_its_connection_to_the_next(self, rig: Rig) -> None:
        rig.server.answers = lambda request: (
            STREAM + chunk(b"a\n") + b"0\r\n\r\n" if request.target == "/first" else STREAM + chunk(b"b\n")
        )
        async with AsyncExitStack() as second_stack:
            async with rig.transport.stream("/first") as first:
                assert [each async for each in first] == [b"a\n"]
            second = await second_stack.enter_async_context(rig.transport.stream("/second"))
            assert await anext(second) == b"b\n"
            assert rig.server.connections == 1
            rig.server.writers[-1].write(chunk(b"c\n"))
            assert await anext(second) == b"c\n"

    async def test_leaving_one_that_has_ended_costs_no_other_one(self, rig: Rig) -> None:
        rig.server.answers = lambda request: (
            STREAM + chunk(b"a\n") + b"0\r\n\r\n" if request.target == "/first" else STREAM + chunk(b"b\n")
        )
        async with AsyncExitStack() as second_stack:
            async with rig.transport.stream("/first") as first:
                assert [each async for each in first] == [b"a\n"]
                second = await second_stack.enter_async_context(rig.transport.stream("/second"))
                assert await anext(second) == b"b\n"
            rig.server.writers[-1].write(chunk(b"c\n"))
            assert await anext(second) == b"c\n"

    async def test_any_number_of_watches_leaves_room_for_requests(self, rig: Rig) -> None:
        rig.server.answers = lambda request: STREAM if "watch" in request.target else answer()
        watches = [rig.transport.stream("/api", query=[("watch", "1")]) for _ in range(120)]
        for watch in watches:
            await watch.__aenter__()
        assert await rig.transport.request("GET", "/api") == b"{}"
        for watch in watches:
            await watch.__aexit__(None, None, None)
