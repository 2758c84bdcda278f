"""CPU of this process for one small request: our transport against plain aiohttp.

Both send the same headers to the same server on the loopback interface, over HTTP, one request after the other. Rounds
alternate between the two, so that what else the machine does meets both; the ratio is the median over the rounds.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import aiohttp
import msgspec
import uvloop

from benchmarks.small_server import small_server
from benchmarks.table import Row, conclude
from shards.api.client import JSON, MERGE_PATCH
from shards.clock import boot_seconds
from shards.transport.kube import KubeTransport, connect

ROUNDS = 25
REQUESTS = 400
RATIO_TARGET = 0.85

PATH = "/api/v1/namespaces/default/configmaps/small"
PATCH = b'{"metadata":{"uid":"1","resourceVersion":"12345"},"data":{"a":"%s"}}' % (b"y" * 120)
TOKEN = "secret"
USER_AGENT = "fleet/0.1.0 m=pod-0 e=12 s=0000000000000000-0fffffffffffffff k=default/small u=1 c=12345 r=event"

Send = Callable[[], Awaitable[object]]


def ours(transport: KubeTransport) -> dict[str, Send]:
    async def get() -> bytes:
        return await transport.request("GET", PATH, user_agent=USER_AGENT)

    async def patch() -> bytes:
        # As a reconcile sends it: with a deadline.
        return await transport.request(
            "PATCH",
            PATH,
            body=PATCH,
            content_type=MERGE_PATCH,
            user_agent=USER_AGENT,
            timeout_seconds=5.0,
            not_after=boot_seconds() + 6.0,
        )

    return {"GET": get, "PATCH": patch}


def plain(session: aiohttp.ClientSession, url: str) -> dict[str, Send]:
    headers = {"Accept": JSON, "User-Agent": USER_AGENT, "Authorization": f"Bearer {TOKEN}"}

    async def get() -> bytes:
        async with session.get(url, headers=headers) as response:
            return await response.read()

    async def patch() -> bytes:
        async with session.patch(url, data=PATCH, headers={**headers, "Content-Type": MERGE_PATCH}) as response:
            return await response.read()

    return {"GET": get, "PATCH": patch}


async def microseconds(send: Send, requests: int) -> float:
    """CPU per request."""
    gc.collect()
    before = time.process_time()
    for _ in range(requests):
        await send()
    return (time.process_time() - before) / requests * 1e6


async def compare(transport: KubeTransport) -> list[Row]:
    rows = []
    async with aiohttp.ClientSession() as session:
        one, other = ours(transport), plain(session, f"{transport.host}{PATH}")
        for verb in ("GET", "PATCH"):
            pair = one[verb], other[verb]
            for send in pair:
                await microseconds(send, REQUESTS)
            found: list[tuple[float, float]] = []
            for number in range(ROUNDS):
                # Whoever comes second finds warmer caches: they take turns.
                first, second = pair if number % 2 else pair[::-1]
                measured = await microseconds(first, REQUESTS), await microseconds(second, REQUESTS)
                found.append(measured if number % 2 else measured[::-1])
            rows += [
                Row(f"{verb}, transport", round(median(mine for mine, _ in found), 1), "µs CPU"),
                Row(f"{verb}, plain aiohttp", round(median(theirs for _, theirs in found), 1), "µs CPU"),
                Row(f"{verb}, ratio", round(median(mine / theirs for mine, theirs in found), 3), "", RATIO_TARGET),
            ]
    return rows


async def connected(kubeconfig: Path) -> list[Row]:
    transport = await connect(kubeconfig=str(kubeconfig))
    try:
        return await compare(transport)
    finally:
        await transport.close()


def write_kubeconfig(path: Path, url: str) -> None:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "clusters": [{"name": "local", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": {"token": TOKEN}}],
        "contexts": [{"name": "main", "context": {"cluster": "local", "user": "me"}}],
    }
    path.write_bytes(msgspec.json.encode(content))  # JSON is YAML


def main() -> int:
    with small_server() as url, tempfile.TemporaryDirectory() as directory:
        kubeconfig = Path(directory) / "kubeconfig"
        write_kubeconfig(kubeconfig, url)
        return conclude(uvloop.run(connected(kubeconfig)))


if __name__ == "__main__":
    sys.exit(main())
