"""What a process does about its memory before it runs shards."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from shards.process_memory import COLLECT_AFTER, collect_rarely


@pytest.fixture
def thresholds() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)


def test_garbage_is_looked_for_less_often_and_no_generation_is_left_out(thresholds: tuple[int, int, int]) -> None:
    collect_rarely()
    young, *older = gc.get_threshold()

    assert young == COLLECT_AFTER > thresholds[0]
    assert older == [*thresholds[1:]]


PAGES = """
import platform
from pathlib import Path
from shards.process_memory import return_large_blocks

def resident_mib():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024

{call}
bytearray(24 << 20)  # as the first long list does: glibc takes this for the size of a common block
page = bytearray(16 << 20)
kept = [bytes(4096) for _ in range(100)]  # objects of the page, which come to lie behind it
before = resident_mib()
del page
print(platform.libc_ver()[0], before - resident_mib() > 12)
"""


@pytest.mark.parametrize(("call", "returned"), [("return_large_blocks()", True), ("", False)])
def test_a_page_that_was_read_goes_back_to_the_system_although_its_objects_stay(call: str, returned: bool) -> None:
    told = subprocess.run(
        [sys.executable, "-c", PAGES.format(call=call)], check=True, capture_output=True, text=True
    ).stdout.split()
    assert told == ["glibc", str(returned)]
