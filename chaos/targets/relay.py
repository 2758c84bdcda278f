"""Carries bytes between those who connect to it and one other place, on loopback, as a process of its own: stopped
with SIGSTOP it is a way that is cut without either end being told.

    python -m chaos.targets.relay --to HOST:PORT --write-port FILE
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from fleet.processes.prctl import set_parent_death_signal

_PIECE_BYTES = 1 << 16


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(_PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
    writer.close()


async def serve(host: str, port: int, written: Path) -> None:
    """Until cancelled. written: the file for the port where it listens."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            other_reader, other_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_carry(reader, other_writer), _carry(other_reader, writer))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    new = written.with_suffix(".new")
    new.write_text(str(server.sockets[0].getsockname()[1]), encoding="utf-8")
    os.replace(new, written)
    async with server:
        await server.serve_forever()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m chaos.targets.relay", description=__doc__)
    parser.add_argument("--to", required=True)
    parser.add_argument("--write-port", required=True, type=Path)
    asked = parser.parse_args(arguments)
    set_parent_death_signal(signal.SIGKILL)  # SIGTERM would wait until a stopped one goes on
    host, _, port = asked.to.rpartition(":")
    asyncio.run(serve(host, int(port), asked.write_port))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
