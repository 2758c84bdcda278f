"""The controller of peer_takeover.py: a no-op that reads its object, and writes down when it ran for which key."""

import os
import pathlib
import time

from shards import Context, Controller, Request

DIRECTORY = pathlib.Path(os.environ["BENCH_COUNTS"])

widgets = Controller("widgets", primary="bench.example.com/v1/widgets")
_file = None


@widgets.reconcile
async def reconcile(ctx: Context, request: Request) -> None:
    global _file
    at = time.time_ns()
    ctx.store.get()
    if _file is None:
        _file = os.open(DIRECTORY / str(os.getpid()), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.write(_file, f"{at} {request.namespace}/{request.name}\n".encode())
