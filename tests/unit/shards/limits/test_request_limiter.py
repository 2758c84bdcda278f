"""The limit of a worker's requests: rates, order, shares, and what it must never hold back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import chain
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from shards.api.request_meters import RequestMeters
from shards.limits.request_limiter import LimitedTransport, RequestLimiter
from shards.metrics import RequestMetrics
from shards.settings import ClientSettings

pytestmark = pytest.mark.looptime


def now() -> float:
    return asyncio.get_running_loop().time()


def limiter(**settings: float) -> RequestLimiter:
    return RequestLimiter(ClientSettings(**settings), now)  # type: ignore[arg-type]


async def times(limit: RequestLimiter, requests: int) -> list[float]:
    """When so many requests, asked for at once, were let through; seconds from now, two decimals."""
    began = now()

    async def one() -> float:
        await limit.take("GET")
        return round(now() - began, 2)

    return list(await asyncio.gather(*(one() for _ in range(requests))))


async def test_without_a_limit_nothing_waits() -> None:
    assert await times(limiter(), 1000) == [0.0] * 1000
    assert limiter().rate == 0.0


async def test_a_burst_goes_at_once_and_the_rest_at_the_rate_in_order() -> None:
    limit = limiter(requests_per_second=10.0, burst=3)
    assert await times(limit, 6) == [0.0, 0.0, 0.0, 0.1, 0.2, 0.3]
    await asyncio.sleep(60)
    assert await times(limit, 4) == [0.0, 0.0, 0.0, 0.1]


async def test_without_a_burst_it_is_what_two_seconds_give() -> None:
    assert (await times(limiter(requests_per_second=2.0), 5))[3:] == [0.0, 0.5]


async def test_the_fleet_s_budget_is_shared_by_its_members() -> None:
    """Over any time, all members together send at most what one alone may."""
    members = [limiter(fleet_requests_per_second=12.0) for _ in range(3)]
    for each in members:
        each.share(1 / 3)
    await asyncio.sleep(60)
    sent = sorted(chain.from_iterable(await asyncio.gather(*(times(each, 40) for each in members))))
    for begin in range(8):
        assert len([at for at in sent if begin < at <= begin + 1]) <= 12
    assert sent[-1] == pytest.approx((3 * 40 - 12) / 12, abs=0.3)


async def test_a_member_that_comes_or_goes_changes_the_part_of_those_who_wait() -> None:
    limit = limiter(fleet_requests_per_second=4.0)
    limit.share(0.25)
    assert limit.rate == 1.0
    waiting = asyncio.create_task(times(limit, 9))
    await asyncio.sleep(2.05)
    assert limit.waiting == 6
    limit.share(1)
    assert await waiting == [0.0, 1.0, 2.0, 2.29, 2.54, 2.79, 3.04, 3.29, 3.54]
    limit.share(0.5)
    assert limit.rate == 2.0


async def test_with_no_part_nothing_is_sent_and_nothing_saved_up() -> None:
    limit = limiter(fleet_requests_per_second=4.0)
    limit.share(0.0)
    assert limit.rate == 0.0
    waiting = asyncio.create_task(times(limit, 3))
    await asyncio.sleep(60)
    assert limit.waiting == 3
    limit.share(0.5)
    assert await waiting == [60.0, 60.5, 61.0]


async def test_a_part_that_shrinks_takes_what_was_saved_up_along() -> None:
    limit = limiter(fleet_requests_per_second=10.0)
    await asyncio.sleep(60)
    limit.share(0.2)
    assert await times(limit, 4) == [0.0, 0.0, 0.5, 1.0]


async def test_what_is_needed_is_what_was_sent_and_some_more() -> None:
    limit = limiter(fleet_requests_per_second=100.0)
    await asyncio.sleep(10)
    await times(limit, 40)
    assert limit.demand() == pytest.approx(1.25 * 4 / 100)
    await asyncio.sleep(1.0)
    await times(limit, 90)
    assert limit.demand() == pytest.approx(1.25 * 4 / 100)  # too soon to say anything new
    await asyncio.sleep(1.0)
    assert limit.demand() == pytest.approx(1.25 * 45 / 100)
    await asyncio.sleep(10)
    assert limit.demand() == pytest.approx(1.25 * 45 / 100 / 2)


async def test_who_had_to_wait_needs_twice_what_it_got_and_what_waits() -> None:
    limit = limiter(fleet_requests_per_second=100.0)
    limit.share(0.1)
    await asyncio.sleep(1.0)
    limit.demand()
    waiting = asyncio.create_task(times(limit, 60))
    await asyncio.sleep(4.05)
    assert limit.demand() == pytest.approx(2 * (50 / 5.05 + 10) / 100, abs=0.01)
    await waiting
    await asyncio.sleep(10.0)
    assert limit.demand() is not None


async def test_without_a_budget_nothing_of_it_is_needed() -> None:
    assert limiter(requests_per_second=5.0).demand() is None


async def test_limits_change_while_requests_wait() -> None:
    limit = limiter(requests_per_second=1.0, burst=1)
    waiting = asyncio.create_task(times(limit, 8))
    await asyncio.sleep(1.55)
    limit.change(ClientSettings(requests_per_second=10.0, burst=1))
    assert limit.rate == 10.0
    await asyncio.sleep(0.25)
    limit.change(ClientSettings())
    assert limit.rate == 0.0
    assert await waiting == [0.0, 1.0, 1.6, 1.7, 1.8, 1.8, 1.8, 1.8]


async def test_a_limit_that_comes_later_holds_from_then_on_for_the_part_that_the_worker_has() -> None:
    limit = limiter()
    limit.share(0.5)
    assert await times(limit, 100) == [0.0] * 100
    limit.change(ClientSettings(fleet_requests_per_second=4.0))
    assert limit.rate == 2.0
    assert await times(limit, 4) == [0.0, 0.0, 0.5, 1.0]
    limit.share(0.0)
    limit.change(ClientSettings(fleet_requests_per_second=8.0))
    assert limit.rate == 0.0


async def test_a_change_to_the_same_limits_gives_nothing_away() -> None:
    limit = limiter(requests_per_second=1.0, burst=3)
    await times(limit, 3)
    for _ in range(5):
        limit.change(ClientSettings(requests_per_second=1.0, burst=3))
    assert await times(limit, 2) == [1.0, 2.0]


async def test_both_limits_hold() -> None:
    limit = limiter(requests_per_second=2.0, burst=1, fleet_requests_per_second=100.0)
    assert await times(limit, 3) == [0.0, 0.5, 1.0]
    limit.share(0.01)
    assert limit.rate == 1.0
    assert (await times(limit, 3))[2] >= 2.0


async def test_who_is_cancelled_takes_nothing_and_stops_nobody() -> None:
    limit = limiter(requests_per_second=1.0, burst=1)
    await limit.take("GET")
    impatient = [asyncio.create_task(limit.take("GET")) for _ in range(50)]
    patient = asyncio.create_task(times(limit, 1))
    await asyncio.sleep(0.5)
    for task in impatient:
        task.cancel()
    assert await patient == [1.0]
    assert limit.waiting == 0


async def test_no_timer_is_left_when_nobody_waits() -> None:
    limit = limiter(requests_per_second=10.0, burst=1)
    await times(limit, 5)
    assert limit._timer is None
    assert not limit._waiting


async def test_waiting_is_measured() -> None:
    registry = CollectorRegistry()
    limit = RequestLimiter(
        ClientSettings(requests_per_second=1.0, burst=1), now, RequestMeters(RequestMetrics(registry), "https://k:6443")
    )
    await times(limit, 3)
    labels = {"verb": "GET", "host": "k:6443"}
    assert registry.get_sample_value("rest_client_rate_limiter_duration_seconds_count", labels) == 3
    assert registry.get_sample_value("rest_client_rate_limiter_duration_seconds_sum", labels) == pytest.approx(3.0)
    waiting = asyncio.create_task(limit.take("GET"))
    await asyncio.sleep(0)
    limit.measure()
    assert registry.get_sample_value("shardfleet_requests_waiting") == 1
    assert registry.get_sample_value("shardfleet_request_rate_limit") == 1.0
    await waiting


class Server:
    """Notes when it was asked."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        self.asked.append(round(now(), 2))
        return b"{}"

    @asynccontextmanager
    async def stream(self, path: str, **options: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        self.asked.append(round(now(), 2))
        yield _nothing()

    async def close(self) -> None: ...


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


async def test_a_limited_transport_waits_for_requests_and_for_watches() -> None:
    began, server = round(now(), 2), Server()
    transport = LimitedTransport(server, limiter(requests_per_second=1.0, burst=1))
    await transport.request("GET", "/a")
    async with transport.stream("/b"):
        pass
    await transport.request("POST", "/c", body=b"{}")
    assert [at - began for at in server.asked] == [0.0, 1.0, 2.0]
