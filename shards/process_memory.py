"""How the memory of a process that runs shards is looked after: by Python's collector and by the C library.

Measured in docs/benchmarks.md. For a whole process, so only for its entry point to call.
"""

from __future__ import annotations

import ctypes
import gc

COLLECT_AFTER = 50_000
"""New objects after which the garbage collector looks at them. With Python's own 700 it takes a tenth of the CPU of a
cold sync: it looks at objects of running reconciles again and again, which reference counts free anyway."""

LARGE_BYTES = 1024 * 1024
"""Blocks from here on are mapped one by one, and go back to the system when they are freed: pages of lists are larger.
Each costs page faults: with 128 KiB, what a page is read and inflated in would be mapped anew too, for a tenth more CPU
of a cold sync and 3 MiB less of 114."""

_M_MMAP_THRESHOLD = -3  # mallopt(3)


def look_after_memory() -> None:
    collect_rarely()
    return_large_blocks()


def collect_rarely() -> None:
    """Older generations keep Python's own rhythm, so that no cycle stays for good."""
    _, *older = gc.get_threshold()
    gc.set_threshold(COLLECT_AFTER, *older)


def return_large_blocks() -> None:
    """What pages of lists were read into does not stay with the process.

    glibc begins with this limit and raises it to what was freed (up to 32 MiB): from then on such blocks come from
    the heap, objects that are kept lie down between them, and the holes stay. Elsewhere, nothing is to be done.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_M_MMAP_THRESHOLD, LARGE_BYTES)
