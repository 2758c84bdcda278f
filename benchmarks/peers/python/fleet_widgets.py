"""The controller of peer_fleet.py: a no-op that reads its object, and counts in a file of the worker's own."""

import mmap
import os
import pathlib

from shards import Context, Controller

COUNTS = pathlib.Path(os.environ["BENCH_COUNTS"])
WIDTH = 8

widgets = Controller("widgets", primary="bench.example.com/v1/widgets")
_counter = None
_count = 0


def _open():
    """One file a process, named by its pid: the workers are forked after this module was imported."""
    path = COUNTS / str(os.getpid())
    path.write_bytes(bytes(WIDTH))
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), WIDTH)


@widgets.reconcile
async def reconcile(ctx: Context) -> None:
    global _counter, _count
    ctx.store.get()
    if _counter is None:
        _counter = _open()
    _count += 1
    _counter[:] = _count.to_bytes(WIDTH, "little")
