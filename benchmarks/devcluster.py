"""The embedded API server, measured: writes, watch deliveries, long lists, memory, and an idle fleet on virtual time.

Rates are per second of CPU of the process that serves, so that they hold for one core whatever else the machine does.
Each measurement has a process of its own.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

import msgspec

from benchmarks.pipelined_client import pipelined
from benchmarks.table import Row, conclude
from fleet.devcluster.doors.http import serve
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from shards.testing.virtual_time import run_virtually
from tests.integration.idle_fleet import idle_fleet

COLLECTION = "/api/v1/namespaces/default/configmaps"
JSON, MERGE = "application/json", "application/merge-patch+json"
OBJECTS = 100_000
EVENTS = 6_250
WATCHERS = 8
HTTP_WRITES = 6_000
IN_PROCESS_WRITES = 20_000
IDLE_SECONDS = 600.0
PAGE = 500
MIB = 1024 * 1024

Found = TypeVar("Found")


def config_map(number: int, size_bytes: int) -> bytes:
    name = f"config-{number:06d}"
    body = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": {"app": "bench"}},
        "data": {"x": "y" * size_bytes},
    }
    return msgspec.json.encode(body)


def rss_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


async def write(server: ApiServer, method: str, path: str, body: bytes, content_type: str) -> None:
    headers = {"user-agent": "bench/1", "content-type": content_type}
    answer = await server.handle(method, path, (), body, headers)
    if answer.status not in (200, 201):
        raise AssertionError(f"{answer.status}: {answer.body.decode()}")


def in_process() -> list[Row]:
    """Half creates, half merge patches of small objects; the server alone, and with the recorder of `fleet dev`."""

    async def run(server: ApiServer) -> float:
        bodies = [config_map(number, 200) for number in range(IN_PROCESS_WRITES // 2)]
        began = time.process_time()
        for body in bodies:
            await write(server, "POST", COLLECTION, body, JSON)
        for number in range(len(bodies)):
            patch = b'{"data":{"x":"%d"}}' % number
            await write(server, "PATCH", f"{COLLECTION}/config-{number:06d}", patch, MERGE)
        return time.process_time() - began

    alone = asyncio.run(run(ApiServer()))
    recorded = asyncio.run(run(ApiServer(recorder=Recorder())))
    return [
        Row("writes, in process", round(IN_PROCESS_WRITES / alone), "1/s of CPU", 10_000, at_least=True),
        Row("the same with a recorder", round(IN_PROCESS_WRITES / recorded), "1/s of CPU"),
    ]


def over_http() -> list[Row]:
    """The same over HTTP on eight connections; the client runs in another process."""

    async def run() -> float:
        door = await serve(ApiServer(recorder=Recorder()))
        context = multiprocessing.get_context("spawn")
        client = context.Process(target=pipelined, args=(door.host, door.port, COLLECTION, HTTP_WRITES))
        began = time.process_time()
        client.start()
        await asyncio.to_thread(client.join)
        seconds = time.process_time() - began
        if client.exitcode != 0:
            raise AssertionError("the client failed")
        await door.close()
        return seconds

    seconds = asyncio.run(run())
    return [Row("writes, over HTTP", round(HTTP_WRITES / seconds), "1/s of CPU", 1_500, at_least=True)]


def deliveries() -> list[Row]:
    """6,250 patches, each of which eight watchers read."""

    async def watched(watchers: int) -> float:
        """Seconds for the patches and for reading what came of them."""
        server = ApiServer()
        for number in range(100):
            await write(server, "POST", COLLECTION, config_map(number, 800), JSON)
        query = (("watch", "true"), ("resourceVersion", str(server.storage.version)))
        opened = [await server.handle("GET", COLLECTION, query) for _ in range(watchers)]
        streams = [answer.stream for answer in opened if answer.stream is not None]
        began = time.process_time()
        for number in range(EVENTS):
            body = b'{"data":{"n":"%d"}}' % number
            await write(server, "PATCH", f"{COLLECTION}/config-{number % 100:06d}", body, MERGE)
        for stream in streams:
            lines = 0
            while lines < EVENTS:
                lines += (await stream.read()).count(b"\n")
        return time.process_time() - began

    together, alone = asyncio.run(watched(WATCHERS)), asyncio.run(watched(0))
    count, unit = EVENTS * WATCHERS, "1/s of CPU"
    return [
        Row("watch deliveries, 8 watchers", round(count / max(together - alone, 1e-9)), unit, 50_000, at_least=True),
        Row("the same with the writes that cause them", round(count / together), unit),
    ]


def long_lists() -> list[Row]:
    """100,000 objects of 1 KB: memory for each, one list, and all pages of 500."""

    async def run() -> list[Row]:
        server = ApiServer()
        before = rss_bytes()
        for number in range(OBJECTS):
            await write(server, "POST", COLLECTION, config_map(number, 700), JSON)
        gc.collect()
        held = rss_bytes() - before
        first = await server.handle("GET", f"{COLLECTION}/config-000000")
        began = time.process_time()
        whole = await server.handle("GET", COLLECTION)
        one = time.process_time() - began
        began = time.process_time()
        pages, token = 0, ""
        while True:
            query = [("limit", str(PAGE)), *([("continue", token)] if token else [])]
            answer = await server.handle("GET", COLLECTION, query)
            pages += 1
            token = msgspec.json.decode(answer.body, type=_Page).metadata.continue_
            if not token:
                break
        paged = time.process_time() - began
        return [
            Row("size of an object", len(first.body), "bytes"),
            Row("memory per object, history included", round(held / OBJECTS), "bytes"),
            Row("list of 100,000 objects", round(one, 2), "s of CPU", 3.0),
            Row("its size", round(len(whole.body) / MIB), "MiB"),
            Row(f"the same in {pages} pages, client's decoding included", round(paged, 2), "s of CPU", 3.0),
        ]

    return asyncio.run(run())


class _Metadata(msgspec.Struct, rename={"continue_": "continue"}):
    continue_: str = ""


class _Page(msgspec.Struct):
    metadata: _Metadata


def idle() -> list[Row]:
    """Four workers and sixteen shards, of which nothing is asked."""
    logging.disable(logging.WARNING)
    began = time.perf_counter()
    virtual = run_virtually(idle_fleet(IDLE_SECONDS))
    seconds = time.perf_counter() - began
    return [
        Row("ten minutes of an idle fleet, virtual time", round(seconds, 2), "s", 10.0),
        Row("speed of its time", round(virtual / seconds), "x"),
    ]


def apart(measure: Callable[[], Found]) -> Found:
    """Runs it in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure).result()


def main() -> int:
    os.environ.setdefault("PYTHONHASHSEED", "0")
    rows: list[Row] = []
    for measure in (in_process, over_http, deliveries, long_lists, idle):
        sys.stderr.write(f"{measure.__name__.replace('_', ' ')} ...\n")
        rows += apart(measure)
    return conclude(rows)


if __name__ == "__main__":
    sys.exit(main())
