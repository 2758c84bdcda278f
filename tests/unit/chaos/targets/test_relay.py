from __future__ import annotations

import asyncio
from pathlib import Path

from chaos.targets.relay import serve


async def test_bytes_go_both_ways_and_the_end_of_one_is_the_end_of_the_other(tmp_path: Path) -> None:
    ended = asyncio.Event()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(1000):
            writer.write(piece.upper())
        writer.close()
        ended.set()

    behind = await asyncio.start_server(echo, "127.0.0.1", 0)
    written = tmp_path / "port"
    relay = asyncio.create_task(serve("127.0.0.1", behind.sockets[0].getsockname()[1], written))
    async with asyncio.timeout(10):
        while not written.exists():
            await asyncio.sleep(0)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(written.read_text()))
        writer.write(b"hello")
        assert await reader.readexactly(5) == b"HELLO"
        writer.close()
        await ended.wait()
    relay.cancel()
    behind.close()
    await asyncio.wait((relay,))
