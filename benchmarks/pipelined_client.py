"""An HTTP client that costs next to nothing: requests made beforehand, several under way on each connection."""

from __future__ import annotations

import asyncio

import msgspec

CONNECTIONS = 8
UNDER_WAY = 4


def pipelined(host: str, port: int, collection: str, writes: int) -> None:
    """Creates `writes / 2` ConfigMaps and patches each once. Raises AssertionError for an answer that is no success."""
    asyncio.run(_run(host, port, collection, writes))


async def _run(host: str, port: int, collection: str, writes: int) -> None:
    each = writes // 2 // CONNECTIONS
    work = []
    for connection in range(CONNECTIONS):
        names = [f"c-{connection}-{number}" for number in range(each)]
        requests = [_create(collection, name) for name in names] + [_patch(collection, name) for name in names]
        work.append(_connection(host, port, requests))
    await asyncio.gather(*work)


async def _connection(host: str, port: int, requests: list[bytes]) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    for at in range(0, len(requests), UNDER_WAY):
        chunk = requests[at : at + UNDER_WAY]
        writer.write(b"".join(chunk))
        for _ in chunk:
            head = await reader.readuntil(b"\r\n\r\n")
            status = int(head[9:12])
            if status not in (200, 201):
                raise AssertionError(head.decode())
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.partition(b":")[2]))
    writer.close()


def _create(collection: str, name: str) -> bytes:
    body = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": {"app": "bench"}},
        "data": {"x": "y" * 200},
    }
    return _request("POST", collection, msgspec.json.encode(body), "application/json")


def _patch(collection: str, name: str) -> bytes:
    return _request("PATCH", f"{collection}/{name}", b'{"data":{"z":"1"}}', "application/merge-patch+json")


def _request(method: str, path: str, body: bytes, content_type: str) -> bytes:
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench/1\r\nAccept: application/json\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
